// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/pods"
)

// terminalReasons are the values of status.reason.
var terminalReasons = []string{
	cnatv1alpha1.ReasonCompleted,
	cnatv1alpha1.ReasonNonZeroExitCode,
	cnatv1alpha1.ReasonOOMKilled,
	cnatv1alpha1.ReasonStartError,
	cnatv1alpha1.ReasonEvicted,
	cnatv1alpha1.ReasonPodFailed,
	cnatv1alpha1.ReasonPodLost,
	cnatv1alpha1.ReasonPodNameConflict,
	cnatv1alpha1.ReasonMissedDeadline,
	cnatv1alpha1.ReasonDeadlineExceeded,
}

// Report is what to tell after a plan was carried out.
type Report struct {
	// Status is the whole status. At rest it equals the one that is stored, by semantic equality.
	Status cnatv1alpha1.AtStatus
	// Events are what has changed since the stored status; to be sent once the new one is written.
	Events []event.Event
	// RequeueAt is when to look again though nothing has changed; zero: not needed. It may have passed: look again now.
	RequeueAt time.Time
}

// MakeReport computes the status from what was observed and what came of acting on it.
func MakeReport(o Observation, outcome Outcome) Report {
	o = o.after(outcome)
	d := decide(o)
	report := Report{Status: d.status(o)}
	report.Events = d.events(o, &report.Status)
	// The next pass may see nothing but this status; what it would wait for is what to wait for.
	next := *o.At
	next.Status = report.Status
	o.At = &next
	if !d.plan.DeleteAt { // That is done, or failed as an error.
		plan := decide(o).plan
		report.RequeueAt = plan.RequeueAt
		if len(plan.Delete) > 0 && len(d.plan.Delete) == 0 {
			report.RequeueAt = o.Now // The record comes first, and the deletion follows.
		}
	}
	return report
}

// isFinished tells whether a status says how its At ended. Its phase is not asked: the phase follows from the rest, so
// one that was set by hand neither ends an At nor makes a run be repeated.
func isFinished(s *cnatv1alpha1.AtStatus) bool {
	return s.CompletionTime != nil && slices.Contains(terminalReasons, s.Reason) && s.Result == resultOf(s.Reason)
}

func resultOf(reason string) cnatv1alpha1.Result {
	if reason == cnatv1alpha1.ReasonCompleted {
		return cnatv1alpha1.ResultSucceeded
	}
	return cnatv1alpha1.ResultFailed
}

func (d *decision) status(o Observation) cnatv1alpha1.AtStatus {
	stored := o.At.Status.DeepCopy()
	if d.unchanged {
		return *stored
	}
	if isFinished(stored) {
		return d.keep(o, *stored)
	}
	s := cnatv1alpha1.AtStatus{Phase: d.phase, ObservedGeneration: o.At.Generation}
	if due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time); err == nil {
		s.ScheduledTime = apiTime(due)
	}
	switch {
	case d.run.lost || d.run.newest == nil && d.run.recorded:
		s.StartTime, s.PodName, s.PodUID, s.Attempts = stored.StartTime, stored.PodName, stored.PodUID, stored.Attempts
	case d.run.newest != nil:
		s.StartTime, s.PodName, s.PodUID, s.Attempts = apiTime(d.run.start), d.run.newest.Name, d.run.newest.UID, int32(d.run.attempt+1)
	}
	if !d.retry.IsZero() && d.phase != cnatv1alpha1.PhaseDone {
		s.RetryTime = apiTime(d.retry)
	}
	if d.phase == cnatv1alpha1.PhaseDone {
		s.Result, s.Reason, s.CompletionTime = resultOf(d.end.reason), d.end.reason, apiTime(d.end.finished)
		s.ExitCode, s.Output = d.end.exitCode, d.end.output
	}
	s.Conditions = d.conditions(o, &s)
	return s
}

// keep is the status of an At that has ended: as it is, but for what can be derived from it.
func (d *decision) keep(o Observation, s cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	s.Phase, s.ObservedGeneration = cnatv1alpha1.PhaseDone, o.At.Generation
	if c := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionScheduled); c != nil {
		d.scheduled = *c
	}
	if c := meta.FindStatusCondition(s.Conditions, endCondition(&s)); c != nil {
		d.end.message = c.Message
	}
	s.Conditions = d.conditions(o, &s)
	return s
}

// endCondition is the type of the condition that says how an At ended. The other one is absent, as in a Job.
func endCondition(s *cnatv1alpha1.AtStatus) string {
	if s.Result == cnatv1alpha1.ResultSucceeded {
		return cnatv1alpha1.ConditionComplete
	}
	return cnatv1alpha1.ConditionFailed
}

func (d *decision) conditions(o Observation, s *cnatv1alpha1.AtStatus) []metav1.Condition {
	var conditions []metav1.Condition
	if d.scheduled.Status != "" {
		d.scheduled.Type = cnatv1alpha1.ConditionScheduled
		conditions = append(conditions, d.scheduled)
	}
	if s.Phase == cnatv1alpha1.PhaseDone {
		conditions = append(conditions, metav1.Condition{Type: endCondition(s), Status: metav1.ConditionTrue, Reason: s.Reason, Message: d.end.message})
	}
	pods.StampConditions(conditions, o.At.Status.Conditions, o.At.Generation, o.Now)
	if d.scheduled.Status != "" {
		conditions[0].ObservedGeneration = d.startedGeneration(o)
	}
	return conditions
}

// startedGeneration is the generation of the spec that the condition Scheduled speaks of: the one that runs once the
// command was started, and the present one before.
func (d *decision) startedGeneration(o Observation) int64 {
	if d.scheduled.Status != metav1.ConditionTrue || d.scheduled.Reason == cnatv1alpha1.ReasonWaiting {
		return o.At.Generation
	}
	if d.run.newest != nil && generationOf(d.run.newest) > 0 {
		return generationOf(d.run.newest)
	}
	stored := meta.FindStatusCondition(o.At.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if stored != nil && stored.Status == metav1.ConditionTrue && stored.Reason != cnatv1alpha1.ReasonWaiting {
		return stored.ObservedGeneration
	}
	return o.At.Generation
}

// events are the differences between the stored status and s.
func (d *decision) events(o Observation, s *cnatv1alpha1.AtStatus) []event.Event {
	var events []event.Event
	stored := &o.At.Status
	if s.Attempts > stored.Attempts && s.Attempts > 1 {
		events = append(events, event.Normal("Retry", "Run", fmt.Sprintf("attempt %d of %d runs in pod %s",
			s.Attempts, ptr.Deref(o.At.Spec.BackoffLimit, 0)+1, s.PodName)))
	}
	if c := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionScheduled); c != nil && deservesWarning(c, s.Phase) {
		old := meta.FindStatusCondition(stored.Conditions, cnatv1alpha1.ConditionScheduled)
		if old == nil || old.Reason != c.Reason || old.Message != c.Message {
			events = append(events, event.Warning(c.Reason, "Schedule", c.Message))
		}
	}
	if s.Phase != stored.Phase {
		events = append(events, event.Normal("PhaseChange", "SetPhase", string(s.Phase)))
	}
	if s.Result == cnatv1alpha1.ResultFailed && !isFinished(stored) {
		events = append(events, event.Warning(failureEvent(s.Reason), "Run", d.end.message))
	}
	return events
}

// deservesWarning tells whether the condition Scheduled says something that the user did not ask for.
func deservesWarning(scheduled *metav1.Condition, phase cnatv1alpha1.Phase) bool {
	switch scheduled.Reason {
	case cnatv1alpha1.ReasonEditedTooLate:
		return true
	case cnatv1alpha1.ReasonSuspended, cnatv1alpha1.ReasonPaused:
		return false
	}
	return scheduled.Status == metav1.ConditionFalse && phase != cnatv1alpha1.PhaseDone
}

// failureEvent is the reason of the event about a failure. What the operator saw has its own; a run that failed by
// itself is Failed, and the note says how.
func failureEvent(reason string) string {
	switch reason {
	case cnatv1alpha1.ReasonMissedDeadline, cnatv1alpha1.ReasonDeadlineExceeded, cnatv1alpha1.ReasonPodLost, cnatv1alpha1.ReasonPodNameConflict:
		return reason
	}
	return cnatv1alpha1.ConditionFailed
}
