// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
)

// dueTime returns when an At is due. An At with the schedule now is due as soon as it is observed, whatever the clocks show.
func (o *Observation) dueTime() (time.Time, error) {
	due, err := atspec.ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time)
	if o.At.Spec.Schedule == atspec.Now && due.After(o.Now) {
		due = o.Now
	}
	return due, err
}

// StartableSince returns the earliest time at which an At that starts now could have started: when it was due, or when it
// was created if that was later. An At that was suspended or unusable, or that was edited since its last status,
// could not start before now. It returns false if the schedule is invalid or if this is not the first attempt.
func StartableSince(o Observation) (time.Time, bool) {
	due, err := o.dueTime()
	if err != nil || atrun.HasStarted(&o.At.Status) {
		return time.Time{}, false
	}
	status := &o.At.Status
	scheduled := o.condition(cnatv1alpha1.ConditionScheduled)
	blocked := scheduled != nil && scheduled.Status == metav1.ConditionFalse && scheduled.Reason != cnatv1alpha1.ReasonFailedCreate
	edited := status.ObservedGeneration > 0 && status.ObservedGeneration < o.At.Generation
	switch {
	case blocked || edited:
		return o.Now, true
	case due.Before(o.At.CreationTimestamp.Time):
		return o.At.CreationTimestamp.Time, true
	}
	return due, true
}

// WaitsForTime reports whether an At may wait for a time: its schedule, a deadline, a retry, or the end of its TTL.
func WaitsForTime(at *cnatv1alpha1.At) bool {
	return !atrun.IsDone(&at.Status) || at.Spec.TTLSecondsAfterFinished != nil
}

// IsDueWithin reports whether an At becomes due within a duration of now. An At that has started, is suspended, or has an invalid
// schedule does not become due.
func IsDueWithin(at *cnatv1alpha1.At, now time.Time, within time.Duration) bool {
	o := Observation{At: at, Now: now}
	if o.isDeleted() || atrun.IsDone(&at.Status) || atrun.HasStarted(&at.Status) || o.isSuspended() || o.isCanceled() {
		return false
	}
	due, err := o.dueTime()
	return err == nil && !due.Before(now) && !due.After(now.Add(within))
}

// The range of times that the API can store: Go's zero time is stored as null, and a year has four digits.
var (
	firstTime = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// apiTime returns a time as the API stores it, in whole seconds, so that a computed status equals the stored one. A time
// outside the range of the API becomes the nearest one inside.
func apiTime(t time.Time) *metav1.Time {
	t = t.UTC().Truncate(time.Second)
	if t.Before(firstTime) {
		t = firstTime
	}
	if t.After(lastTime) {
		t = lastTime
	}
	return &metav1.Time{Time: t}
}

func formatTime(t time.Time) string { return apiTime(t).Format(time.RFC3339) }
