// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers/internal/write"
)

func TestStatusIsNotWrittenOntoAnObjectThatHasChanged(t *testing.T) {
	at := newAt(newNamespace(t), "a", "now + 1 week", "true")
	create(t, at)
	older := at.DeepCopy()
	change(t, at, func(at *cnatv1alpha1.At) { at.Spec.Schedule = "now + 2 weeks" })
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
