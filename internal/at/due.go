// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// IsDueWithin tells whether an At waits for a time that comes within a duration of now. One that has started, that is
// held or that cannot be used waits for none.
func IsDueWithin(at *cnatv1alpha1.At, now time.Time, within time.Duration) bool {
	o := Observation{At: at, Now: now}
	if at.DeletionTimestamp != nil || isFinished(&at.Status) || o.runOf().recorded || o.paused() || ptr.Deref(at.Spec.Suspend, false) {
		return false
	}
	due, err := ParseSchedule(at.Spec.Schedule, at.CreationTimestamp.Time)
	return err == nil && !due.Before(now) && !due.After(now.Add(within))
}
