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
	// leaseCallTimeout bounds one call, so that one that hangs does not cost the lease, which has to be renewed within 10 s.
	leaseCallTimeout = 5 * time.Second
)

// leaseLock is the lease, held in the name of the pod that the process runs in.
type leaseLock struct{ resourcelock.LeaseLock }

// podLock makes the pod the holder of the lease, so that a container that starts again goes on at once. By default each
// process is a holder of its own: after an outage of the API server, in which a leader can neither renew its lease nor
// give it up, the next process in the same pod would wait 15 s for the lease of its predecessor to expire. A pod runs one
// manager, and the kubelet starts a container only when the one before has ended. nil: this is no pod, or there is no
// leader election.
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

// recordEvents makes a change of the leader an event.
func (l *leaseLock) recordEvents(mgr ctrl.Manager) {
	if l != nil {
		l.LockConfig.EventRecorder = mgr.GetEventRecorderFor(l.Identity()) //nolint:staticcheck // client-go's leader election knows no other recorder.
	}
}
