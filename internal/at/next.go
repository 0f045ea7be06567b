// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/pods"
)

// Step is what a pass does: a question, or a status and at most one request. It is immutable.
type Step struct {
	// Ask is the question that must be answered before a decision. The zero value asks nothing.
	Ask Ask
	// Create is the pod to create with its gate. Open is the pod whose gate is to be removed, which starts the command. Stop is the pod that
	// the kubelet is to end. Delete is the pod to delete, in exactly this state unless a node has it. Protect is the budget to create before
	// the gate is removed, and Unprotect the one to delete after the run. At most one of them is set.
	Create, Open, Stop, Delete *corev1.Pod
	Protect, Unprotect         *policyv1.PodDisruptionBudget
	// DeleteAt is true if the At itself is to be deleted: its ttlSecondsAfterFinished have passed.
	DeleteAt bool
	// CanWait is true if the next pass only repeats a dry run.
	CanWait bool

	// unchanged is true if the status does not change.
	unchanged bool
	// scheduled is what the condition Scheduled says, and ready what Ready says instead, if it is not empty.
	scheduled, ready say
	// record is the pod to record in the status as that of attempt number attempt, or nil.
	record  *corev1.Pod
	attempt int
	// end is how the At ended, or nil if it has not.
	end *atrun.End
	// retry is when the next attempt is due, or zero unless the newest one has failed. exitCode and output are those of the newest attempt.
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
	// Pod is the name of a pod to read. At asks for the At itself.
	Pod string
	At  bool
	// DryRun is a pod whose create is sent as a dry run, followed by that of Budget if it is not nil.
	DryRun *corev1.Pod
	Budget *policyv1.PodDisruptionBudget
}

// Asks reports whether the step is a question.
func (s Step) Asks() bool { return s.Ask != Ask{} }

const (
	// prepareLead is how long before its time the pod of an attempt is created.
	prepareLead = 10 * time.Second
	// nameRetry is the interval between looks at a name that is still in use.
	nameRetry = 10 * time.Second
)

// Next returns the step of the first row of the table in doc.go that applies.
func Next(v *View) Step { //nolint:cyclop // A table reads best in one piece.
	switch pod := v.Pod; {
	case v.isDeleted() && (pod == nil || !isBound(pod) || v.isDone() || v.isBetween()): // 1: the garbage collector deletes what is left
		return unchanged
	case v.isDone() && v.gated().pod != nil: // 2: a pod that never ran is left
		return Step{Delete: v.gated().pod}
	case v.isDone() && v.runsOn(): // 3: other containers of the run are left
		return v.stop(Step{})
	case v.isDone(): // 4 and 5
		return v.afterEnd()
	case v.modified.what != "": // 6: admission changed the identity of the pod that this process created
		return v.modifiedPod()

	case v.isBetween() && (v.isCanceled() || v.deadlineOver()): // 7 and 8: the newest attempt has failed
		return v.finish(v.overruled(v.failedEnd()))
	case v.isBetween() && v.runsOn(): // 9: other containers of the attempt run on
		return v.stop(v.betweenAttempts())
	case v.isBetween(): // 10
		return v.prepare(v.betweenAttempts(), v.attempt()+1, v.At.Status.RetryTime.Time)

	case v.hasStarted() && v.isUnsureOf(pod) && v.unread(v.recordedName()): // 11: the cache may be behind
		return ask(Ask{Pod: v.recordedName()})
	case v.hasStarted() && v.neverRan(): // 12 and 13: the command did not run
		return v.afterNotRun()
	case v.hasStarted() && pod == nil: // 14 to 16: the pod is gone
		return v.afterGone()
	case v.hasStarted() && !isBound(pod) && v.stopped() && !v.recorded.deleted: // 17: no node has the pod, so it can be deleted as it is
		return v.live(pod).delete(pod)
	case v.hasStarted() && atrun.IsGated(pod): // 18: recorded, so it may start
		return v.open(pod)
	case v.hasStarted() && !v.attemptEnded(pod) && v.stopped(): // 19: the kubelet ends the pod and keeps its log
		return v.stop(v.live(pod))
	case v.hasStarted() && !v.attemptEnded(pod): // 20
		return v.live(pod)
	case v.hasStarted(): // 21 to 25
		return v.ended(atrun.EndOf(v.At, pod))

	case v.isCanceled(): // 26: not started
		return v.finish(v.overruled(v.notStarted()))
	case v.stray() != nil: // 27: a gated pod that must not be used
		return v.throwAway(v.stray())
	case v.problem().reason != "": // 28: wait for an edit
		return v.wait(v.problem())
	case v.isSuspended(): // 29
		return v.checked(v.wait(say{cnatv1alpha1.ReasonSuspended, "spec.suspend is true: set it to false to continue"}), time.Time{})
	case v.isTooLate(): // 30
		return v.finish(v.overruled(v.notStarted()))
	case v.Now.Before(v.due().Add(-prepareLead)): // 31
		return v.checked(v.wait(waiting(v.due())), v.due().Add(-prepareLead))
	case v.older != nil: // 32: the command of a deleted At of this name may still run
		return v.wait(nameTaken(v.older)).at(v.Now.Add(nameRetry))
	}
	return v.prepare(v.wait(waiting(v.due())), 0, v.due()) // 33
}

var unchanged = Step{unchanged: true}

func ask(a Ask) Step { return Step{Ask: a, unchanged: true} }

// wait returns the step that only reports what the At waits for, with the exit code that is recorded or seen.
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

// delete returns the step that also deletes a pod, unless that was requested before.
func (s Step) delete(pod *corev1.Pod) Step {
	if pod.DeletionTimestamp == nil {
		s.Delete = pod
	}
	return s
}

// unread reports whether a pod was not read from the API server in this pass.
func (v *View) unread(name string) bool {
	_, read := v.answers.Pods[name]
	return !read
}

func (v *View) recordedName() string { return atrun.PodName(v.At, v.attempt()) }

// isUnsureOf reports whether only the API server knows whether the recorded pod exists: the cache does not show it, or shows it although this
// process has deleted it.
func (v *View) isUnsureOf(pod *corev1.Pod) bool {
	if pod == nil {
		return !v.neverRan()
	}
	return !isBound(pod) && pod.DeletionTimestamp == nil && v.recorded.deleted
}

// stopped reports whether the operator must end the recorded pod. The kubelet itself enforces the deadline of a pod on a node.
func (v *View) stopped() bool {
	_, must := v.mustStop()
	return must && !v.isDeleted()
}

// due returns when the At is due. Row 28 has excluded an invalid schedule.
func (v *View) due() time.Time {
	due, _ := v.dueTime()
	return due
}

// finish returns the step for an At that is done.
func (v *View) finish(e atrun.End) Step {
	s := Step{end: &e, scheduled: say{e.Reason, e.Message}}
	if v.hasStarted() {
		s.scheduled = started("the pod was created")
	}
	return v.unprotect(s)
}

// overruled returns the end of an At that is canceled, or whose deadline is over, after an attempt ended with e. Otherwise it returns e.
func (v *View) overruled(e atrun.End) atrun.End {
	switch {
	case v.isCanceled():
		return v.canceledEnd(e)
	case v.deadlineOver():
		return v.deadlineEnd(e)
	case v.isTooLate() && e.Proof == atrun.NotRun:
		return v.missedEnd(e)
	}
	return e
}

// canceledEnd returns the end of an At that was canceled after an attempt ended with e.
func (v *View) canceledEnd(e atrun.End) atrun.End {
	e.Message = atrun.JoinNonEmpty("; ", "the At was canceled by spec.cancel", notRun(e), e.Message)
	e.Reason = cnatv1alpha1.ReasonCanceled
	return e
}

// deadlineEnd returns the end of an At whose run exceeded its deadline after an attempt ended with e.
func (v *View) deadlineEnd(e atrun.End) atrun.End {
	e.Message = atrun.JoinNonEmpty("; last attempt: ", fmt.Sprintf("activeDeadlineSeconds (%d) exceeded", *v.At.Spec.ActiveDeadlineSeconds),
		atrun.JoinNonEmpty("; ", notRun(e), e.Message, v.lastProblem()))
	e.Reason = cnatv1alpha1.ReasonDeadlineExceeded
	return e
}

// missedEnd returns the end of an At that could not start in time.
func (v *View) missedEnd(e atrun.End) atrun.End {
	e.Message = atrun.JoinNonEmpty(": ", fmt.Sprintf("startingDeadlineSeconds (%d) exceeded: the command was due at %s and was not run",
		*v.At.Spec.StartingDeadlineSeconds, formatTime(v.due())), atrun.JoinNonEmpty("; ", e.Message, v.missedCause()))
	e.Reason = cnatv1alpha1.ReasonMissedDeadline
	return e
}

// notRun returns what an end without a pod proves.
func notRun(e atrun.End) string {
	if e.Proof == atrun.NotRun && e.Message == "" {
		return "the command did not run"
	}
	return ""
}
