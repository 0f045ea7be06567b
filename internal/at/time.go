// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
)

// dueTime returns when an At is due. An At with the schedule now is due as soon as it is observed, whatever the clocks
// show.
func (v *View) dueTime() (time.Time, error) {
	due, err := spec.ParseSchedule(v.At.Spec.Schedule, v.At.CreationTimestamp.Time)
	if v.At.Spec.Schedule == spec.Now && due.After(v.Now) {
		due = v.Now
	}
	return due, err
}

// EarliestStart returns the earliest time at which an At that starts now could have started: when it was due, or when
// it was created if that was later. An At that was suspended or unusable, or that was edited since its last status,
// could not start before now. It returns false if this is not the first attempt.
func EarliestStart(v *View) (time.Time, bool) {
	due, err := v.dueTime()
	if err != nil || v.attempt() >= 0 {
		return time.Time{}, false
	}
	status := &v.At.Status
	scheduled := v.condition(cnatv1alpha1.ConditionScheduled)
	blocked := scheduled != nil && scheduled.Status == metav1.ConditionFalse && scheduled.Reason != cnatv1alpha1.ReasonFailedCreate
	edited := status.ObservedGeneration > 0 && status.ObservedGeneration < v.At.Generation
	switch {
	case blocked || edited:
		return v.Now, true
	case due.Before(v.At.CreationTimestamp.Time):
		return v.At.CreationTimestamp.Time, true
	}
	return due, true
}

// IsDueWithin reports whether an At becomes due within a duration of now. An At that has started, is suspended, or has
// an invalid schedule does not become due.
func IsDueWithin(at *cnatv1alpha1.At, now time.Time, within time.Duration) bool {
	v := View{At: at, Now: now}
	if v.isDeleted() || v.isDone() || v.isRecorded() || v.isSuspended() || v.isCanceled() {
		return false
	}
	due, err := v.dueTime()
	return err == nil && !due.Before(now) && !due.After(now.Add(within))
}

// The range of times that the API can store: Go's zero time is stored as null, and a year has four digits.
var (
	firstTime = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// apiTime returns a time as the API stores it, in whole seconds, so that a computed status equals the stored one. A
// time outside the range of the API becomes the nearest one inside.
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
