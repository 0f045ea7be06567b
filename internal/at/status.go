// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
)

// TerminalReasons are the values of status.reason. Do not modify them.
var TerminalReasons = []string{
	cnatv1alpha1.ReasonCompleted,
	cnatv1alpha1.ReasonNonZeroExitCode,
	cnatv1alpha1.ReasonOOMKilled,
	cnatv1alpha1.ReasonStartError,
	cnatv1alpha1.ReasonEvicted,
	cnatv1alpha1.ReasonPodFailed,
	cnatv1alpha1.ReasonPodLost,
	cnatv1alpha1.ReasonNotStarted,
	cnatv1alpha1.ReasonPodModified,
	cnatv1alpha1.ReasonCanceled,
	cnatv1alpha1.ReasonPodNameConflict,
	cnatv1alpha1.ReasonMissedDeadline,
	cnatv1alpha1.ReasonDeadlineExceeded,
}

// Report is the status and the events after a plan was carried out.
type Report struct {
	// Status is the whole status. If nothing has changed, it is semantically equal to the stored one.
	Status cnatv1alpha1.AtStatus
	// Events describe what has changed since the stored status. The caller sends them after it has written the new one.
	Events []event.Event
	// RequeueAt is when to reconcile again although nothing has changed, or zero if that is not needed. It may have passed.
	RequeueAt time.Time
}

// MakeReport computes the status from the observation and the outcome of the plan.
func MakeReport(o Observation, outcome Outcome) Report {
	d := o.decision.after(o, outcome)
	report := Report{Status: d.status(o), RequeueAt: d.requeueAt}
	report.Events = d.events(o, &report.Status)
	if d.end != nil { // No event may follow, so the next reconcile is requested now: it deletes what must not go on.
		next := *o.At
		next.Status = report.Status
		o.At = &next
		after, _ := afterEnd(o)
		report.RequeueAt = after.requeueAt
		if (after.delete != nil || after.deleteAt) && !o.isDeleted() {
			report.RequeueAt = o.Now
		}
	}
	return report
}

// IsDone reports whether a status says how its At ended. The phase does not count, because it follows from the rest: a phase
// that was set by hand neither ends an At nor repeats a run.
func IsDone(s *cnatv1alpha1.AtStatus) bool {
	return s.CompletionTime != nil && slices.Contains(TerminalReasons, s.Reason) && s.Result == ResultOf(s.Reason)
}

// ResultOf returns the result of an At that ended for a reason.
func ResultOf(reason string) cnatv1alpha1.Result {
	if reason == cnatv1alpha1.ReasonCompleted {
		return cnatv1alpha1.ResultSucceeded
	}
	return cnatv1alpha1.ResultFailed
}

func (d decision) status(o Observation) cnatv1alpha1.AtStatus {
	stored := o.At.Status.DeepCopy()
	if d.unchanged {
		return *stored
	}
	if IsDone(stored) {
		return d.keepEnd(o, *stored)
	}
	s := cnatv1alpha1.AtStatus{Phase: d.phase, ObservedGeneration: o.At.Generation}
	if due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time); err == nil {
		s.ScheduledTime = apiTime(due)
	}
	switch r := o.run; {
	case r.lost || r.newest == nil && r.recorded:
		s.StartTime, s.PodName, s.PodUID, s.Attempts = stored.StartTime, stored.PodName, stored.PodUID, stored.Attempts
	case r.newest != nil:
		s.StartTime, s.PodName, s.PodUID, s.Attempts = apiTime(r.start), r.newest.Name, r.newest.UID, int32(r.attempt+1)
	}
	if !d.retry.IsZero() {
		s.RetryTime = apiTime(d.retry)
	}
	if e := d.end; e != nil {
		s.Result, s.Reason, s.CompletionTime = ResultOf(e.reason), e.reason, apiTime(e.finished)
		s.ExitCode, s.Output = e.exitCode, e.output
	}
	s.Conditions = d.conditions(o, &s)
	return s
}

// keepEnd returns the status of an At that is done: the stored one, with the derived fields corrected.
func (d decision) keepEnd(o Observation, s cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	s.Phase, s.ObservedGeneration = cnatv1alpha1.PhaseDone, o.At.Generation
	if c := o.storedScheduled(); c != nil {
		d.scheduled = scheduled{status: c.Status, reason: c.Reason, message: c.Message}
	}
	d.end = &end{}
	if c := meta.FindStatusCondition(s.Conditions, endCondition(&s)); c != nil {
		d.end.message = c.Message
	}
	s.Conditions = d.conditions(o, &s)
	return s
}

// events returns the events for the differences between the stored status and s.
func (d decision) events(o Observation, s *cnatv1alpha1.AtStatus) []event.Event {
	var events []event.Event
	stored := &o.At.Status
	if stored.Phase == "" { // The At is new.
		if warning := shellWarning(o.At.Spec.Command); warning != "" {
			events = append(events, event.Warning("NoShell", "Schedule", warning))
		}
	}
	if s.Attempts > stored.Attempts && s.Attempts > 1 {
		events = append(events, event.Normal("Retry", "Run", fmt.Sprintf("attempt %d of %d runs in pod %s",
			s.Attempts, o.backoffLimit()+1, s.PodName)))
	}
	if c := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionScheduled); c != nil && needsWarning(c, s.Phase) {
		old := meta.FindStatusCondition(stored.Conditions, cnatv1alpha1.ConditionScheduled)
		if old == nil || old.Reason != c.Reason || old.Message != c.Message {
			events = append(events, event.Warning(c.Reason, "Schedule", c.Message))
		}
	}
	events = append(events, phaseChanges(stored, s)...)
	if s.Result == cnatv1alpha1.ResultFailed && !IsDone(stored) {
		events = append(events, event.Warning(failureEvent(s.Reason), "Run", d.end.message))
	}
	return events
}

// phases are the phases in order. phaseActions are the actions of their events. They differ, because the recorder merges events
// about one object that have the same reason and action.
var (
	phases       = []cnatv1alpha1.Phase{cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone}
	phaseActions = []string{"Schedule", "Run", "Finish"}
)

// phaseChanges returns an event for each phase that the At entered since the stored status. One write of the status can cover
// several phases: an At that is due when it is created has a pod before its first status. An At that never ran, such as one
// that missed its deadline, was never RUNNING.
func phaseChanges(stored, s *cnatv1alpha1.AtStatus) []event.Event {
	first, last := slices.Index(phases, stored.Phase)+1, slices.Index(phases, s.Phase)
	switch {
	case s.Phase == stored.Phase:
		return nil
	case IsDone(stored) || first > last:
		first = last // The stored phase was set by hand.
	}
	var events []event.Event
	for i := first; i <= last; i++ {
		if phases[i] != cnatv1alpha1.PhaseRunning || s.Attempts > 0 {
			events = append(events, event.Normal("PhaseChange", phaseActions[i], string(phases[i])))
		}
	}
	return events
}

// failureEvent returns the reason of the event about a failure. A failure that the operator detects has its own reason. The
// event about a pod that failed has the reason Failed, and the note has the details.
func failureEvent(reason string) string {
	switch reason {
	case cnatv1alpha1.ReasonMissedDeadline, cnatv1alpha1.ReasonDeadlineExceeded, cnatv1alpha1.ReasonPodLost, cnatv1alpha1.ReasonPodNameConflict,
		cnatv1alpha1.ReasonNotStarted, cnatv1alpha1.ReasonPodModified, cnatv1alpha1.ReasonCanceled:
		return reason
	}
	return cnatv1alpha1.ConditionFailed
}
