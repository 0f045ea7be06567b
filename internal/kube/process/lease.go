// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// LeaseName is the name of the lease.
	LeaseName = "podset-operator"
	// leaseCallTimeout limits one call, so that a call that hangs does not cost the lease, which must be renewed within 10 s.
	leaseCallTimeout = 5 * time.Second
)

// LeaseLock is the lease. Its holder is the pod that the process runs in, or the process. It remembers whether the last request for the
// lease failed: without the lease, a manager serves nothing, so it must not be Ready.
type LeaseLock struct {
	resourcelock.LeaseLock
	failure  atomic.Pointer[error]
	reported bool // whether the log explains the missing permission; only the leader election reads and writes it
	// onlyProcess is open while this is the only manager of the pod, or nil if it is not.
	onlyProcess net.Listener
}

// Get requests the lease as resourcelock.LeaseLock does, and remembers whether that failed.
func (l *LeaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	l.observe(ctx, client.IgnoreNotFound(err)) // The first manager creates the lease.
	return record, raw, err
}

// Create creates the lease as resourcelock.LeaseLock does, and remembers whether that failed.
func (l *LeaseLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.LeaseLock.Create(ctx, record)
	l.observe(ctx, err)
	return err
}

// Update updates the lease as resourcelock.LeaseLock does, and remembers whether that failed.
func (l *LeaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.LeaseLock.Update(ctx, record)
	l.observe(ctx, err)
	return err
}

// observe remembers the result of a request. The leader election logs each error, but not what it means, so observe logs that once.
func (l *LeaseLock) observe(ctx context.Context, err error) {
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		l.failure.Store(nil) // On a conflict, another replica was faster.
		return
	}
	l.failure.Store(&err)
	if apierrors.IsForbidden(err) && !l.reported {
		l.reported = true
		log.FromContext(ctx).Info("This manager serves nothing and is not Ready until it has permission to use its lease", "lease", l.Describe())
	}
}

// usable returns an error if the last request for the lease failed.
func (l *LeaseLock) usable() error {
	if l == nil {
		return nil
	}
	if err := l.failure.Load(); err != nil {
		return fmt.Errorf("the lease %s cannot be used: %w", l.Describe(), *err)
	}
	return nil
}

// PodLock returns a lock that makes the pod the holder of the lease, so that a restarted container continues at once. By default,
// each process is its own holder. A leader can neither renew nor release its lease while the API server is unavailable, so the
// next process in the same pod would wait 15 s until the lease of its predecessor expires. A process that is not the only manager of its
// pod is its own holder. If namespace is empty, the lease is in that of the pod. The lock is nil without leader election and outside of a
// pod.
func PodLock(ctx context.Context, config *rest.Config, leaderElect bool, namespace string) (*LeaseLock, error) {
	pod := os.Getenv("POD_UID")
	namespace = cmp.Or(namespace, os.Getenv("POD_NAMESPACE"))
	if !leaderElect || pod == "" || namespace == "" {
		return nil, nil
	}
	identity, onlyProcess, err := holder(ctx, pod)
	if err != nil {
		return nil, fmt.Errorf("naming the holder of the lease: %w", err)
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = leaseCallTimeout
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up leader election: %w", err)
	}
	return &LeaseLock{onlyProcess: onlyProcess, LeaseLock: resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}, nil
}

// holder returns the identity of a process in a pod. The only manager of a pod has that of its predecessor. A second one can exist: kubectl
// exec starts it, or a kubelet that has lost the state of a container. Therefore a manager binds a socket whose name exists once in the
// network namespace of the pod, and which the kernel closes when the process ends. The identity contains the network namespace, because a
// kubelet that has lost the state of the whole pod gives the next container another one.
func holder(ctx context.Context, pod string) (identity string, onlyProcess net.Listener, err error) {
	host, err := os.Hostname()
	if err != nil {
		return "", nil, err
	}
	network, err := os.Readlink("/proc/self/ns/net")
	if err == nil {
		onlyProcess, err = (&net.ListenConfig{}).Listen(ctx, "unix", "@podset-operator/"+pod)
	}
	if err != nil {
		log.FromContext(ctx).Info("This process does not continue with the lease of another process of its pod: it waits until the lease is free", "reason", err.Error())
		return host + "_" + string(uuid.NewUUID()), nil, nil
	}
	return host + "_" + pod + "_" + network, onlyProcess, nil
}

// RecordEvents records an event for each change of the leader.
func (l *LeaseLock) RecordEvents(mgr ctrl.Manager) {
	if l != nil {
		l.LockConfig.EventRecorder = mgr.GetEventRecorderFor(l.Identity()) //nolint:staticcheck // The leader election of client-go supports no other recorder.
	}
}
