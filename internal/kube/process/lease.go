// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	leasev1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/redhat/podset-operator/internal/kube/history"
)

const (
	// LeaseName is the name of the lease.
	LeaseName = "podset-operator"
	// serviceAccountNamespace is a file in every pod that has a service account.
	serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// LeaseLock is the lease. It remembers whether the last request for the lease failed: without the lease, a manager serves nothing, so it
// must not be Ready.
type LeaseLock struct {
	resourcelock.LeaseLock
	failure  atomic.Pointer[error]
	reported bool       // whether the log explains the missing permission; used only by the leader election
	failed   chan error // has the reason why the process must end
}

// watchedLeases are the leases of a namespace, of which the leader election uses one. A leader writes it every second. If its resource
// version ever decreases, etcd was restored from a backup. This proof holds even if the other resource versions have passed those from
// before.
type watchedLeases struct {
	coordinationv1.LeaseInterface

	shown  string // the greatest resource version so far; used only by the leader election
	failed chan<- error
}

// Get reads the lease from etcd: it is a consistent read.
func (l *watchedLeases) Get(ctx context.Context, name string, options metav1.GetOptions) (*leasev1.Lease, error) {
	lease, err := l.LeaseInterface.Get(ctx, name, options)
	l.check(lease, err)
	return lease, err //nolint:wrapcheck // The leader election needs the error of the API server.
}

// Update writes the lease.
func (l *watchedLeases) Update(ctx context.Context, changed *leasev1.Lease, options metav1.UpdateOptions) (*leasev1.Lease, error) {
	lease, err := l.LeaseInterface.Update(ctx, changed, options)
	l.check(lease, err)
	return lease, err //nolint:wrapcheck // see Get
}

// check ends the process if the lease is older than it was in an earlier response.
func (l *watchedLeases) check(lease *leasev1.Lease, err error) {
	if err != nil {
		return
	}
	if restored := history.Check(lease.ResourceVersion, l.shown); restored != nil {
		select {
		case l.failed <- restored:
		default: // The process ends already.
		}
	}
	l.shown = history.Latest(lease.ResourceVersion, l.shown)
}

// Leases returns the leases. The lock requests no other namespace.
func (l *watchedLeases) Leases(string) coordinationv1.LeaseInterface { return l }

// NeedLeaderElection is false, because Start must run while the process leads.
func (*LeaseLock) NeedLeaderElection() bool { return false }

// Start returns an error when the process must end, or nil when ctx is done.
func (l *LeaseLock) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.failed:
		return err
	}
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

// observe remembers the result of a request. The leader election logs each error but does not explain it, so observe explains it once.
func (l *LeaseLock) observe(ctx context.Context, err error) {
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		l.failure.Store(nil) // A conflict means that another replica was faster.
		return
	}
	l.failure.Store(&err)
	if apierrors.IsForbidden(err) && !l.reported {
		l.reported = true
		log.FromContext(ctx).Info("The manager is not Ready and does not serve any objects until it has permission to use its lease", "lease", l.Describe())
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

// PodNamespace returns the namespace of the pod that the process runs in, or "" outside a pod.
func PodNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	namespace, err := os.ReadFile(serviceAccountNamespace)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(namespace))
}

// NewLeaseLock returns the lease in a namespace. Its holder is the process, so a process that is started again waits until the lease of its
// predecessor is released or expires.
//
// callTimeout limits one request, so that a request that hangs does not cost the lease.
func NewLeaseLock(config *rest.Config, namespace string, callTimeout time.Duration) (*LeaseLock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming the holder of the lease: %w", err)
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = callTimeout
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up leader election: %w", err)
	}
	failed := make(chan error, 1)
	return &LeaseLock{failed: failed, LeaseLock: resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
		Client:     &watchedLeases{LeaseInterface: leases.Leases(namespace), failed: failed},
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}}, nil
}

// AddTo makes mgr end when the process must end, and record an event for each change of the leader.
func (l *LeaseLock) AddTo(mgr ctrl.Manager) error {
	if l == nil {
		return nil
	}
	l.LockConfig.EventRecorder = mgr.GetEventRecorderFor(l.Identity()) //nolint:staticcheck // The leader election of client-go supports no other recorder.
	if err := mgr.Add(l); err != nil {
		return fmt.Errorf("setting up leader election: %w", err)
	}
	return nil
}
