// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/pods"
)

// Step is what a pass does: a question, or a status and at most one request. It is immutable.
type Step struct {
	// Ask is the question that must be answered before a decision. The zero value asks nothing.
	Ask Ask
	// Create is the pod to create with its gate. Open is the pod whose gate is to be removed, which starts the command.
	// Stop is the pod that the kubelet is to end. Delete is the pod to delete, in exactly this state unless a node has
	// it. At most one of them is set.
	Create, Open, Stop, Delete *corev1.Pod
	// Budget is the PodDisruptionBudget that must exist before Open, or, without Open, the one to delete after the run.
	Budget *policyv1.PodDisruptionBudget
	// DeleteAt is true if the At itself is to be deleted: its ttlSecondsAfterFinished have passed.
	DeleteAt bool
	// CanWait is true if the next pass only repeats a dry run.
	CanWait bool

	// unchanged is true if the status does not change.
	unchanged bool
	// scheduled is what the condition Scheduled says, and ready what Ready says instead, if it is not empty.
	scheduled, ready say
	// record is the pod to record in the status as that of attempt number attempt, or nil. modified is how others have
	// opened it, or "".
	record   *corev1.Pod
	attempt  int
	modified string
	// end is how the At ended, or nil if it has not.
	end *proof.End
	// retry is when the next attempt is due, or zero unless the newest one has failed. exitCode and output are those of
	// the newest attempt.
	retry    time.Time
	exitCode *int32
	output   string
	// stops is true while the operator waits for the end of a pod that it stops.
	stops bool
	// requeueAt is when to decide again although nothing has changed, or zero if that is not needed.
	requeueAt time.Time
}

// Ask is a question to the API server. It changes nothing.
type Ask struct {
	// Pod is the name of a pod to read. Labeled also asks for all pods that have the label with the UID of the At. At
	// asks for the At itself.
	Pod     string
	Labeled bool
	At      bool
	// DryRun is a pod whose create is sent as a dry run, followed by that of Budget if it is not nil.
	DryRun *corev1.Pod
	Budget *policyv1.PodDisruptionBudget
}

// Stops reports whether the step is a part of the stop of a run.
func (s Step) Stops() bool { return s.stops }

// Asks reports whether the step is a question.
func (s Step) Asks() bool { return s.Ask != Ask{} }

// Next returns the step of the first row of the table in doc.go that applies.
func Next(v *View) Step { //nolint:cyclop // A table reads best in one piece.
	pod, underWay := v.Pod, v.isUnderWay()
	switch {
	case v.isDeleted() && (pod == nil || !isBound(pod) || !underWay): // 1: the garbage collector deletes what is left
		return unchanged
	case v.isDone() && v.gated() != nil: // 2: a pod that never ran is left
		return v.discard(v.gated())
	case !underWay && v.runsOn() && v.isUnsure(): // 3: admission has taken the owner from the run, so the cache does not show it
		return ask(Ask{Pod: v.recordedName()})
	case !underWay && v.runsOn(): // 3: the run is over, and its pod is not
		return v.stop(v.report())
	case v.isDone(): // 4
		return v.afterEnd()

	case underWay && v.isUnsure(): // 5: the cache may be behind
		return ask(Ask{Pod: v.recordedName()})
	case underWay && v.run.neverRan(): // 6
		return v.ended(proof.EndOfUnbound(v.run.pod))
	case underWay && pod == nil: // 7
		return v.afterGone()
	case underWay && v.attemptEnded(pod): // 8
		return v.ended(proof.EndOf(v.At, pod))
	case underWay && v.mustStop() != "" && !v.isDeleted(): // 9
		return v.stop(v.live(pod))
	case underWay && proof.IsGated(pod) && v.run.reimaged: // 10
		return v.remove(v.live(pod), pod)
	case underWay && proof.IsGated(pod): // 10: recorded, so it may start
		return v.open(pod)
	case underWay: // 11
		return v.live(pod)

	case v.openedByOthers() != nil || v.prepared.modified != "": // 12
		return v.modifiedPod()
	case v.stray() != nil: // 13
		return v.throwAway(v.stray())
	case v.mustNotStart() != "": // 14
		return v.endIdle()
	case v.isHeld() && v.problem().reason != "": // 15: it waits for an edit
		return v.held()
	case v.isHeld(): // 15: it is suspended
		return v.checked(v.held(), time.Time{})
	case v.Now.Before(v.startAt().Add(-prepareLead)): // 15
		return v.waitForTime()
	case v.predecessorPod != nil: // 16: the command of a deleted At of this name may still run, also in the pod of a retry
		s := v.reportIdle()
		s.scheduled = nameTaken(v.predecessorPod)
		return s.at(v.Now.Add(nameRetry))
	case v.preparedPod() == nil: // 17
		return v.create(v.reportIdle())
	case v.Now.Before(v.startAt()): // 18
		return v.reportIdle().at(v.startAt())
	}
	return v.recordStart(v.preparedPod()) // 19
}

var unchanged = Step{unchanged: true}

func ask(a Ask) Step { return Step{Ask: a, unchanged: true} }

// wait returns the step that only reports what the At waits for.
func (v *View) wait(scheduled say) Step {
	s := Step{scheduled: scheduled}
	s.requeueAt = pods.Earliest(v.Now, future(v.deadline(), v.Now), future(v.startBy(), v.Now))
	return s
}

// future returns a time, or zero if it has passed.
func future(t, now time.Time) time.Time {
	if !now.Before(t) {
		return time.Time{}
	}
	return t
}

// at returns the step that also requests a pass at a time.
func (s Step) at(when time.Time) Step {
	if s.requeueAt.IsZero() || !when.IsZero() && when.Before(s.requeueAt) {
		s.requeueAt = when
	}
	return s
}

func (v *View) recordedName() string { return recordedName(v.At) }

// recordedName returns the name of the pod that the status of an At records. Admission may have changed it.
func recordedName(at *cnatv1alpha1.At) string {
	return cmp.Or(at.Status.PodName, spec.PodName(at, int(at.Status.Attempts)-1))
}

// isUnderWay reports whether an attempt is recorded and has not ended. An attempt whose pod is gone behind its gate has
// not begun.
func (v *View) isUnderWay() bool {
	return v.isRecorded() && !v.isDone() && !v.isBetween() && !v.mustPrepareAgain()
}

// mustPrepareAgain reports whether the recorded pod is gone, or going, behind its gate.
func (v *View) mustPrepareAgain() bool {
	return v.isRecorded() && v.run.neverRan() && proof.IsGated(v.run.pod)
}

// isUnsure reports whether only the API server knows whether the recorded pod exists.
func (v *View) isUnsure() bool {
	return v.unread(v.recordedName()) && !v.run.exists(v.Now) && !v.run.isGone() && !v.run.neverRan()
}

// done returns the step for an At that is done.
func (v *View) done(e proof.End) Step {
	s := Step{end: &e, scheduled: say{e.Reason, e.Text()}}
	if v.isRecorded() {
		s.scheduled = started("the pod was created")
		if v.isUninterrupted() {
			s.Budget = newBudget(v.At)
		}
	}
	return s
}

// blocked returns a condition of the stored status that an earlier process, or this one, has set about the present spec
// with one of these reasons. It stays until the next answer.
func (v *View) blocked(kind string, reasons ...string) say {
	c := v.condition(kind)
	if c == nil || c.ObservedGeneration != v.At.Generation {
		return say{}
	}
	for _, reason := range reasons {
		if c.Reason == reason {
			return say{c.Reason, c.Message}
		}
	}
	return say{}
}

// retriesOfCreate are the reasons of the condition Scheduled while the create of a pod is repeated.
var retriesOfCreate = []string{
	cnatv1alpha1.ReasonFailedCreate, cnatv1alpha1.ReasonInvalidTemplate, cnatv1alpha1.ReasonNamespaceTerminating,
	cnatv1alpha1.ReasonRequestFailed, cnatv1alpha1.ReasonPodNameConflict, cnatv1alpha1.ReasonNameTaken,
}
