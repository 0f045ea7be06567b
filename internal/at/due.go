// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// StartableSince returns since when an At that starts now could have started: its time, or its creation when that was
// later. An At that was held, or edited since its last status, could start only from now on. It returns false when the
// schedule is no time, or when this is not the first start.
func StartableSince(o Observation) (time.Time, bool) {
	due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time)
	if err != nil || len(o.Pods) > 0 || o.runOf().recorded {
		return time.Time{}, false
	}
	status := &o.At.Status
	held := meta.IsStatusConditionFalse(status.Conditions, cnatv1alpha1.ConditionScheduled) &&
		meta.FindStatusCondition(status.Conditions, cnatv1alpha1.ConditionScheduled).Reason != cnatv1alpha1.ReasonFailedCreate
	edited := status.ObservedGeneration > 0 && status.ObservedGeneration < o.At.Generation
	switch {
	case held || edited:
		return o.Now, true
	case due.Before(o.At.CreationTimestamp.Time):
		return o.At.CreationTimestamp.Time, true
	}
	return due, true
}

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
