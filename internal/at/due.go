// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// StartableSince returns the earliest time at which an At that starts now could have started: when it was due, or when it
// was created if that was later. An At that was suspended, paused, or unusable, or that was edited since its last status,
// could not start before now. It returns false if the schedule is invalid or if this is not the first attempt.
func StartableSince(o Observation) (time.Time, bool) {
	due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time)
	if err != nil || len(o.Pods) > 0 || o.runOf().recorded {
		return time.Time{}, false
	}
	status := &o.At.Status
	blocked := meta.IsStatusConditionFalse(status.Conditions, cnatv1alpha1.ConditionScheduled) &&
		meta.FindStatusCondition(status.Conditions, cnatv1alpha1.ConditionScheduled).Reason != cnatv1alpha1.ReasonFailedCreate
	edited := status.ObservedGeneration > 0 && status.ObservedGeneration < o.At.Generation
	switch {
	case blocked || edited:
		return o.Now, true
	case due.Before(o.At.CreationTimestamp.Time):
		return o.At.CreationTimestamp.Time, true
	}
	return due, true
}

// WaitsForTime tells whether an At may wait for a time: its schedule, a deadline, a retry, or the end of its TTL.
func WaitsForTime(at *cnatv1alpha1.At) bool {
	return !IsDone(&at.Status) || at.Spec.TTLSecondsAfterFinished != nil
}

// IsDueWithin tells whether an At becomes due within a duration of now. An At that has started, is suspended or paused, or
// has an invalid schedule does not become due.
func IsDueWithin(at *cnatv1alpha1.At, now time.Time, within time.Duration) bool {
	o := Observation{At: at, Now: now}
	if at.DeletionTimestamp != nil || IsDone(&at.Status) || o.runOf().recorded || o.paused() || ptr.Deref(at.Spec.Suspend, false) {
		return false
	}
	due, err := ParseSchedule(at.Spec.Schedule, at.CreationTimestamp.Time)
	return err == nil && !due.Before(now) && !due.After(now.Add(within))
}
