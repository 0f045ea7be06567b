// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// notScheduled sets the condition Scheduled to False.
func (d *decision) notScheduled(reason, message string) {
	d.scheduled = metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// scheduledFor sets the condition Scheduled to True for an At that waits until it is due.
func (d *decision) scheduledFor(due time.Time) {
	d.scheduled = metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonWaiting, Message: "runs at " + formatTime(due)}
}

// started sets the condition Scheduled to True for an At whose command was started. An edit that came too late takes
// precedence over the message.
func (d *decision) started(o Observation, message string) {
	d.scheduled = metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonStarted, Message: message}
	record := &o.At.Status
	if stored := meta.FindStatusCondition(record.Conditions, cnatv1alpha1.ConditionScheduled); stored != nil && stored.Reason == cnatv1alpha1.ReasonEditedTooLate {
		d.scheduled.Reason, d.scheduled.Message = stored.Reason, stored.Message
		return
	}
	// Admission accepts edits until the run is recorded.
	if d.run.newest == nil || d.run.recorded {
		return
	}
	if ran := generationOf(d.run.newest); ran > 0 && ran < o.At.Generation {
		d.scheduled.Reason = cnatv1alpha1.ReasonEditedTooLate
		d.scheduled.Message = fmt.Sprintf("pod %s was created from generation %d of the At: only a retry uses later changes of command or template",
			d.run.newest.Name, ran)
	}
}

// needsWarning tells whether the condition Scheduled says something that the user did not ask for.
func needsWarning(scheduled *metav1.Condition, phase cnatv1alpha1.Phase) bool {
	switch scheduled.Reason {
	case cnatv1alpha1.ReasonEditedTooLate:
		return true
	case cnatv1alpha1.ReasonSuspended, cnatv1alpha1.ReasonPaused:
		return false
	}
	return scheduled.Status == metav1.ConditionFalse && phase != cnatv1alpha1.PhaseDone
}
