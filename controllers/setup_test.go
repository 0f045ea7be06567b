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

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers/internal/write"
)

// The manager starts the reporter of Upgradeable before the cache.
func TestAnUpgradeIsDecidedOnceTheCacheIsFilled(t *testing.T) {
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
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestStatusIsNotWrittenOntoAnObjectThatHasChanged(t *testing.T) {
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
	if got, err := result(t.Context(), atKind, err, time.Now(), time.Time{}); err != nil || got.RequeueAfter != staleRetry {
		t.Errorf("a conflict leads to %v, %v", got, err)
	}
}
