// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/event"
)

// Report is the status and the events after a plan was carried out.
type Report struct {
	// Status is the whole status. If nothing has changed, it is semantically equal to the stored one.
	Status cnatv1alpha1.AtStatus
	// Events describe what has changed since the stored status. The caller sends them after it has written the new one.
	Events []event.Event
	// RequeueAt is when to reconcile again although nothing has changed, or zero if that is not needed. It may be in the past.
	RequeueAt time.Time
}

// MakeReport computes the status from an observation, its plan, and the outcome of the plan.
func MakeReport(o Observation, p Plan, outcome Outcome) Report {
	p = p.after(&o, outcome)
	report := Report{Status: p.status(&o), RequeueAt: p.requeueAt}
	report.Events = p.events(&o, &report.Status)
	if p.end != nil { // No event may follow, so the next reconcile is requested now: it deletes what must not go on.
		next := *o.At
		next.Status = report.Status
		o.At = &next
		after, _ := afterEnd(&o)
		report.RequeueAt = after.requeueAt
		if (after.Delete != nil || after.DeleteAt) && !o.isDeleted() {
			report.RequeueAt = o.Now
		}
	}
	return report
}

// StartedStatus returns the status that records the start of the attempt of a plan, and the events for what has changed. The pod is created
// after this status is written.
func StartedStatus(o Observation, p Plan) Report {
	report := Report{Status: p.status(&o)}
	s := &report.Status
	s.Attempts, s.PodName, s.PodUID = int32(p.attempt+1), atrun.PodName(o.At, p.attempt), "" //nolint:gosec // at most 11
	s.RetryTime, s.ExitCode, s.Output = nil, nil, ""
	report.Events = p.events(&o, s)
	return report
}

func (p Plan) status(o *Observation) cnatv1alpha1.AtStatus {
	stored := o.At.Status.DeepCopy()
	if p.unchanged {
		return *stored
	}
	if atrun.IsDone(stored) {
		return p.keepEnd(o, *stored)
	}
	s := cnatv1alpha1.AtStatus{
		Phase: p.phase, ObservedGeneration: o.At.Generation, Attempts: stored.Attempts, StartTime: stored.StartTime,
		ExitCode: p.exitCode, Output: p.output,
	}
	if due, err := atspec.ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time); err == nil {
		s.ScheduledTime = apiTime(due)
	}
	if r := o.run(); r.attempt >= 0 {
		s.PodName, s.PodUID = atrun.PodName(o.At, r.attempt), r.uid
		if start := o.startTime(); !start.IsZero() {
			s.StartTime = apiTime(start)
		}
	}
	if !p.retry.IsZero() {
		s.RetryTime = apiTime(p.retry)
	}
	if e := p.end; e != nil {
		s.Result, s.Reason, s.CompletionTime = atrun.ResultOf(e.Reason), e.Reason, apiTime(e.Finished)
		s.ExitCode, s.Output = e.ExitCode, e.Output
	}
	s.Conditions = p.conditions(o, &s)
	return s
}

// keepEnd returns the status of an At that is done: the stored one, with the derived fields corrected.
func (p Plan) keepEnd(o *Observation, s cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	s.Phase, s.ObservedGeneration = cnatv1alpha1.PhaseDone, o.At.Generation
	if c := o.condition(cnatv1alpha1.ConditionScheduled); c != nil {
		p.scheduled = scheduled{status: c.Status, reason: c.Reason, message: c.Message}
	}
	p.end = &atrun.End{}
	if c := o.condition(endCondition(&s)); c != nil {
		p.end.Message = c.Message
	}
	s.Conditions = p.conditions(o, &s)
	return s
}

// events returns the events for the differences between the stored status and s.
func (p Plan) events(o *Observation, s *cnatv1alpha1.AtStatus) []event.Event {
	var events []event.Event
	stored := &o.At.Status
	if stored.Phase == "" { // The At is new.
		if warning := atspec.CommandWarning(o.At.Spec.Command); warning != "" {
			events = append(events, event.Warning("NoShell", "Schedule", warning))
		}
	}
	if s.Attempts > stored.Attempts && s.Attempts > 1 {
		events = append(events, event.Normal("Retry", "Run", fmt.Sprintf("attempt %d of %d runs in pod %s",
			s.Attempts, o.backoffLimit()+1, s.PodName)))
	}
	if c := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionScheduled); c != nil && needsWarning(c, s.Phase) {
		if old := o.condition(cnatv1alpha1.ConditionScheduled); old == nil || old.Reason != c.Reason || old.Message != c.Message {
			events = append(events, event.Warning(c.Reason, "Schedule", c.Message))
		}
	}
	if c := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionReady); c != nil && p.scheduled.check.bad {
		if old := o.condition(cnatv1alpha1.ConditionReady); old == nil || old.Reason != c.Reason {
			events = append(events, event.Warning(c.Reason, "Schedule", c.Message))
		}
	}
	events = append(events, phaseChanges(stored, s)...)
	if s.Result == cnatv1alpha1.ResultFailed && !atrun.IsDone(stored) {
		events = append(events, event.Warning(failureEvent(s.Reason), "Run", p.end.Message))
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
// several phases: an At that is due when it is created has a pod before its first status. An At without a pod, such as one
// that missed its deadline, was never RUNNING.
func phaseChanges(stored, s *cnatv1alpha1.AtStatus) []event.Event {
	first, last := slices.Index(phases, stored.Phase)+1, slices.Index(phases, s.Phase)
	switch {
	case s.Phase == stored.Phase:
		return nil
	case atrun.IsDone(stored) || first > last:
		first = last // The stored phase was set by hand.
	}
	var events []event.Event
	for i := first; i <= last; i++ {
		if phases[i] != cnatv1alpha1.PhaseRunning || s.PodUID != "" {
			events = append(events, event.Normal("PhaseChange", phaseActions[i], string(phases[i])))
		}
	}
	return events
}

// failureEvent returns the reason of the event about a failure. A failure that the operator detects has its own reason. The event about a
// failed pod has the reason Failed, and its note has the details.
func failureEvent(reason string) string {
	switch reason {
	case cnatv1alpha1.ReasonMissedDeadline, cnatv1alpha1.ReasonDeadlineExceeded, cnatv1alpha1.ReasonPodLost, cnatv1alpha1.ReasonPodNameConflict,
		cnatv1alpha1.ReasonNotStarted, cnatv1alpha1.ReasonPodModified, cnatv1alpha1.ReasonCanceled:
		return reason
	}
	return cnatv1alpha1.ConditionFailed
}
