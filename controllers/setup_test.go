// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/kube/write"
)

// The manager starts the reporter of Upgradeable before the cache.
func TestUpgradeGate(t *testing.T) {
	mgr, err := newManager(t.Context(), operator)
	if err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	create(t, newAt(namespace, "a", "now + 30 seconds", "true"))
	decided := make(chan error, 1)
	go func() {
		soon, err := isAtDueSoon(t.Context(), mgr, clock.RealClock{})
		if err == nil && !soon {
			err = errors.New("no At is due soon")
		}
		decided <- err
	}()
	select {
	case err := <-decided:
		t.Fatal("decided before the manager was started: ", err)
	case <-time.After(100 * time.Millisecond):
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if err := <-decided; err != nil {
		t.Error(err)
	}
	if soon, err := isAtDueSoon(t.Context(), mgr, clocktesting.NewFakeClock(time.Now().Add(24*time.Hour))); err != nil || soon {
		t.Errorf("no At is due tomorrow: %t, %v", soon, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// An At that became due during an outage of the API server must run within 3 s of its end.
func TestControllerOptions(t *testing.T) {
	o := controllerOptions(7)
	first, last := o.RateLimiter.When(reconcile.Request{}), time.Duration(0)
	for range 20 {
		last = o.RateLimiter.When(reconcile.Request{})
	}
	if first != 20*time.Millisecond || last != 2*time.Second || o.MaxConcurrentReconciles != 7 {
		t.Errorf("the first retry comes after %s, the last after %s, with %d workers", first, last, o.MaxConcurrentReconciles)
	}
}

func TestStatus_conflict(t *testing.T) {
	at := newAt(newNamespace(t), "a", "now + 1 week", "true")
	create(t, at)
	older := at.DeepCopy()
	change(t, at, func(at *cnatv1alpha1.At) { at.Spec.Schedule = "2099-01-01T00:00:00Z" })
	changed := older.DeepCopy()
	changed.Status.Output = "of an older state"
	_, err := write.Status(t.Context(), admin, changed, changed.Status)
	if !apierrors.IsConflict(err) {
		t.Errorf("a status of an older state was written: %v", err)
	}
	if got, err := result(t.Context(), atKind, err, time.Now(), time.Time{}, nil); err != nil || got.RequeueAfter != 200*time.Millisecond {
		t.Errorf("a conflict leads to %v, %v", got, err)
	}
}
