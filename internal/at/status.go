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
)

// maxMessage bounds the message of a condition, which may quote others, in bytes.
const maxMessage = 1024

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
	// WakeAt is when to look again though nothing has changed; zero: not needed. It may have passed: look again now.
	WakeAt time.Time
}

// MakeReport computes the status from what was observed and what came of acting on it.
func MakeReport(o Observation, outcome Outcome) Report {
	o = o.after(outcome)
	v := judge(o)
	report := Report{Status: v.status(o)}
	report.Events = v.events(o, &report.Status)
	// The next pass may see nothing but this status; what it would wait for is what to wait for.
	next := *o.At
	next.Status = report.Status
	o.At = &next
	if !v.plan.DeleteAt { // That is done, or failed as an error.
		report.WakeAt = judge(o).plan.WakeAt
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

func (v *verdict) status(o Observation) cnatv1alpha1.AtStatus {
	stored := o.At.Status.DeepCopy()
	if v.unchanged {
		return *stored
	}
	if isFinished(stored) {
		return v.keep(o, *stored)
	}
	s := cnatv1alpha1.AtStatus{Phase: v.phase, ObservedGeneration: o.At.Generation}
	if due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time); err == nil {
		s.ScheduledTime = apiTime(due)
	}
	switch {
	case v.run.newest == nil && v.run.recorded:
		s.StartTime, s.PodName, s.PodUID, s.Attempts = stored.StartTime, stored.PodName, stored.PodUID, stored.Attempts
	case v.run.newest != nil:
		s.StartTime, s.PodName, s.PodUID, s.Attempts = apiTime(v.run.start), v.run.newest.Name, v.run.newest.UID, int32(v.run.attempt+1)
	}
	if !v.retry.IsZero() && v.phase != cnatv1alpha1.PhaseDone {
		s.RetryTime = apiTime(v.retry)
	}
	if v.phase == cnatv1alpha1.PhaseDone {
		s.Result, s.Reason, s.CompletionTime = resultOf(v.end.reason), v.end.reason, apiTime(v.end.at)
		s.ExitCode, s.Output = v.end.exitCode, v.end.output
	}
	s.Conditions = v.conditions(o, &s)
	return s
}

// keep is the status of an At that has ended: as it is, but for what can be derived from it.
func (v *verdict) keep(o Observation, s cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	s.Phase, s.ObservedGeneration = cnatv1alpha1.PhaseDone, o.At.Generation
	if c := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionScheduled); c != nil {
		v.scheduled = *c
	}
	if c := meta.FindStatusCondition(s.Conditions, endCondition(&s)); c != nil {
		v.end.message = c.Message
	}
	s.Conditions = v.conditions(o, &s)
	return s
}

// endCondition is the type of the condition that says how an At ended. The other one is absent, as in a Job.
func endCondition(s *cnatv1alpha1.AtStatus) string {
	if s.Result == cnatv1alpha1.ResultSucceeded {
		return cnatv1alpha1.ConditionComplete
	}
	return cnatv1alpha1.ConditionFailed
}

func (v *verdict) conditions(o Observation, s *cnatv1alpha1.AtStatus) []metav1.Condition {
	var conditions []metav1.Condition
	add := func(c metav1.Condition) {
		c.Message = event.Cut(c.Message, maxMessage)
		c.ObservedGeneration = o.At.Generation
		c.LastTransitionTime = *apiTime(o.Now)
		if old := meta.FindStatusCondition(o.At.Status.Conditions, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		conditions = append(conditions, c)
	}
	if v.scheduled.Status != "" {
		v.scheduled.Type = cnatv1alpha1.ConditionScheduled
		add(v.scheduled)
		conditions[0].ObservedGeneration = v.startedGeneration(o)
	}
	if s.Phase == cnatv1alpha1.PhaseDone {
		add(metav1.Condition{Type: endCondition(s), Status: metav1.ConditionTrue, Reason: s.Reason, Message: v.end.message})
	}
	return conditions
}

// startedGeneration is the generation of the spec that the condition Scheduled speaks of: the one that runs once the
// command was started, and the present one before.
func (v *verdict) startedGeneration(o Observation) int64 {
	if v.scheduled.Status != metav1.ConditionTrue || v.scheduled.Reason == cnatv1alpha1.ReasonWaiting {
		return o.At.Generation
	}
	if v.run.newest != nil && generationOf(v.run.newest) > 0 {
		return generationOf(v.run.newest)
	}
	stored := meta.FindStatusCondition(o.At.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if stored != nil && stored.Status == metav1.ConditionTrue && stored.Reason != cnatv1alpha1.ReasonWaiting {
		return stored.ObservedGeneration
	}
	return o.At.Generation
}

// events are the differences between the stored status and s.
func (v *verdict) events(o Observation, s *cnatv1alpha1.AtStatus) []event.Event {
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
		events = append(events, event.Warning(failureEvent(s.Reason), "Run", v.end.message))
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
