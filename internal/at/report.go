// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/event"
)

// Report is the status that a step records, and the events that follow the write of it.
type Report struct {
	// Status is the whole status. If nothing has changed, it is semantically equal to the stored one.
	Status cnatv1alpha1.AtStatus
	// Events describe what has changed since the stored status.
	Events []event.Event
}

// MakeReport computes the status of a step.
func MakeReport(v *View, step Step) Report {
	stored := v.At.Status.DeepCopy()
	if step.unchanged {
		return Report{Status: *stored}
	}
	if v.isDone() {
		s := v.keptEnd(step, *stored)
		if step.ready.reason == "" {
			return Report{Status: s}
		}
		return Report{Status: s, Events: v.readyWarning(&s)}
	}
	s := v.status(&step, stored)
	return Report{Status: s, Events: v.events(&s)}
}

func (v *View) status(step *Step, stored *cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	s := cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhasePending, ObservedGeneration: v.At.Generation, Attempts: stored.Attempts, StartTime: stored.StartTime,
		PodName: stored.PodName, PodUID: stored.PodUID, ExitCode: step.exitCode, Output: step.output,
	}
	if due, err := spec.ParseSchedule(v.At.Spec.Schedule, v.At.CreationTimestamp.Time); err == nil {
		s.ScheduledTime = apiTime(due)
	}
	if !step.retry.IsZero() {
		s.RetryTime = apiTime(step.retry)
	}
	if pod := step.record; pod != nil {
		s.Attempts, s.PodName, s.PodUID = int32(step.attempt+1), pod.Name, pod.UID //nolint:gosec // at most 11
		if s.StartTime == nil {
			s.StartTime = apiTime(v.Now)
		}
	}
	if s.PodUID != "" {
		s.Phase = cnatv1alpha1.PhaseRunning
	}
	message := ""
	if e := step.end; e != nil {
		s.Phase, s.Result, s.Reason, s.CompletionTime = cnatv1alpha1.PhaseDone, proof.ResultOf(e.Reason), e.Reason, apiTime(v.Now)
		s.ExitCode, s.Output, message = e.ExitCode, e.Output, e.Text()
		if start := s.StartTime; start != nil && s.CompletionTime.Before(start) {
			s.CompletionTime = start
		}
	}
	s.Conditions = v.conditions(step, &s, message)
	return s
}

// keptEnd returns the status of an At that is done: the stored one, with the derived fields corrected.
func (v *View) keptEnd(step Step, s cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	s.Phase, s.ObservedGeneration = cnatv1alpha1.PhaseDone, v.At.Generation
	message := ""
	if c := v.condition(cnatv1alpha1.ConditionScheduled); c != nil {
		step.scheduled = say{c.Reason, c.Message}
	}
	if c := v.condition(endCondition(&s)); c != nil {
		message = c.Message
	}
	s.Conditions = v.conditions(&step, &s, message)
	return s
}

// events returns the events for the differences between the stored status and s: a phase, a retry, and the reason of a
// condition with a warning.
func (v *View) events(s *cnatv1alpha1.AtStatus) []event.Event {
	var events []event.Event
	stored := &v.At.Status
	if stored.Phase == "" { // The At is new.
		if warning := spec.CommandWarning(v.At.Spec.Command); warning != "" {
			events = append(events, event.Warning("NoShell", "Schedule", warning))
		}
	}
	if s.Attempts > stored.Attempts && s.Attempts > 1 {
		events = append(events, event.Normal("Retry", "Run", fmt.Sprintf("attempt %d of %d runs in pod %s", s.Attempts, v.backoffLimit()+1, s.PodName)))
	}
	events = append(events, phaseChanges(stored, s)...)
	return append(events, v.readyWarning(s)...)
}

// readyWarning returns the event that warns about a new reason or message of the condition Ready, if that is a problem.
func (v *View) readyWarning(s *cnatv1alpha1.AtStatus) []event.Event {
	ready, old := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionReady), v.condition(cnatv1alpha1.ConditionReady)
	warns := Reasons[ready.Reason].Event
	if warns == "" || old != nil && old.Reason == ready.Reason && old.Message == ready.Message {
		return nil
	}
	action := "Schedule"
	if s.PodUID != "" || proof.IsDone(s) {
		action = "Run"
	}
	return []event.Event{event.Warning(warns, action, ready.Message)}
}

// phases are the phases in order. phaseActions are the actions of their events. They differ, because the recorder
// merges events about one object that have the same reason and action.
var (
	phases       = []cnatv1alpha1.Phase{cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone}
	phaseActions = []string{"Schedule", "Run", "Finish"}
)

// phaseChanges returns an event for each phase that the At entered since the stored status. One write of the status can
// cover several phases: an At that is due when it is created has a pod before its first status. An At without a pod,
// such as one that missed its deadline, was never RUNNING.
func phaseChanges(stored, s *cnatv1alpha1.AtStatus) []event.Event {
	first, last := slices.Index(phases, stored.Phase)+1, slices.Index(phases, s.Phase)
	switch {
	case s.Phase == stored.Phase:
		return nil
	case first > last:
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
