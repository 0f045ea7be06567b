// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	leaseName = "podset-operator"
	// leaseCallTimeout limits one call, so that a call that hangs does not cost the lease, which must be renewed within 10 s.
	leaseCallTimeout = 5 * time.Second
)

// leaseLock is the lease. Its holder is the pod that the process runs in.
type leaseLock struct{ resourcelock.LeaseLock }

// podLock returns a lock that makes the pod the holder of the lease, so that a restarted container continues at once. By default,
// each process is its own holder. A leader can neither renew nor release its lease while the API server is unavailable, so the
// next process in the same pod would wait 15 s until the lease of its predecessor expires. A pod can hold the lease because it runs
// one manager, and the kubelet starts a container only after the previous one has ended. The lock is nil without leader election and
// outside of a pod.
func podLock(config *rest.Config, o options) (*leaseLock, error) {
	pod := os.Getenv("POD_UID")
	namespace := cmp.Or(o.leaseNamespace, os.Getenv("POD_NAMESPACE"))
	if !o.leaderElect || pod == "" || namespace == "" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming the holder of the lease: %w", err)
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = leaseCallTimeout
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up leader election: %w", err)
	}
	return &leaseLock{resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + pod},
	}}, nil
}

// recordEvents records an event for each change of the leader.
func (l *leaseLock) recordEvents(mgr ctrl.Manager) {
	if l != nil {
		l.LockConfig.EventRecorder = mgr.GetEventRecorderFor(l.Identity()) //nolint:staticcheck // The leader election of client-go supports no other recorder.
	}
}
