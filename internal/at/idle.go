// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// prepareLead is how long before its time the pod of an attempt is created. It counts in quotas from then on.
	prepareLead = 2 * time.Second
	// nameRetry is the interval between looks at a name that is still in use.
	nameRetry = 10 * time.Second
)

// nextAttempt returns the number of the attempt that has not begun.
func (v *View) nextAttempt() int {
	if v.mustPrepareAgain() && !v.isBetween() {
		return v.attempt()
	}
	return v.attempt() + 1
}

func (v *View) nextName() string { return spec.PodName(v.At, v.nextAttempt()) }

// startAt returns when the next attempt may start, or zero if it is the recorded one, which was due already. The
// schedule is valid: see isHeld.
func (v *View) startAt() time.Time {
	switch {
	case v.isBetween():
		return v.At.Status.RetryTime.Time
	case v.isRecorded():
		return time.Time{}
	}
	return v.due()
}

// scheduledAt is startAt, but for the schedule now it is the creation of the At.
func (v *View) scheduledAt() time.Time {
	if v.isRecorded() {
		return v.startAt()
	}
	due, _ := spec.ParseSchedule(v.At.Spec.Schedule, v.At.CreationTimestamp.Time)
	return due
}

// reportIdle returns the step that reports that the next attempt has not begun.
func (v *View) reportIdle() Step {
	switch {
	case v.isBetween():
		return v.betweenAttempts()
	case v.isRecorded():
		return v.wait(started("pod " + v.run.pod.Name + " was deleted before it could start: it is created again"))
	}
	return v.wait(waiting(v.startAt()))
}

// gated returns a pod of the At that has its gate and is not being deleted, or nil.
func (v *View) gated() *corev1.Pod {
	for _, pod := range v.own {
		if proof.IsGated(pod) && pod.DeletionTimestamp == nil {
			return pod
		}
	}
	return nil
}

// preparedPod returns the pod that this process created for the next attempt from the present spec, with the images
// that it still has, or nil.
func (v *View) preparedPod() *corev1.Pod {
	k := v.prepared
	if k.generation != v.At.Generation || k.reimaged || !pods.Contains(v.own, k.uid()) || k.pod.Name != v.nextName() || k.pod.DeletionTimestamp != nil {
		return nil
	}
	return k.pod
}

// stray returns a gated pod that must not be used, or nil: another process created it, or the spec has changed since,
// or the At cannot start now.
func (v *View) stray() *corev1.Pod {
	prepared, canStart := v.preparedPod(), !v.isHeld() && v.mustNotStart() == "" && !v.Now.Before(v.startAt().Add(-prepareLead))
	for _, pod := range v.own {
		if proof.IsGated(pod) && pod.DeletionTimestamp == nil && (pod != prepared || !canStart) {
			return pod
		}
	}
	return nil
}

// throwAway returns the step that deletes a gated pod, after the API server has confirmed that the At does not name it.
func (v *View) throwAway(pod *corev1.Pod) Step {
	if r := v.rejection(toDelete); v.answers.At == nil && (r == nil || !v.Now.Before(r.Until)) {
		return ask(Ask{At: true})
	}
	return v.discard(pod)
}

// discard returns the step that deletes a gated pod that must not start. The status changes only if that is rejected.
func (v *View) discard(pod *corev1.Pod) Step {
	switch {
	case pod == v.prepared.pod && !v.prepared.shown && v.unread(pod.Name): // It may have changed since the answer to its create.
		return ask(Ask{Pod: pod.Name})
	case v.rejection(toDelete) == nil:
		return Step{unchanged: true, Delete: pod}
	}
	return v.remove(v.report(), pod)
}

// report returns the step of an At that is not under way, without a request.
func (v *View) report() Step {
	switch {
	case v.isDone():
		return Step{}
	case v.isHeld():
		return v.held()
	}
	return v.reportIdle()
}

// mustNotStart returns why the next attempt must not start anymore, or "".
func (v *View) mustNotStart() string {
	if v.isCanceled() || v.isRecorded() || !v.isHeld() {
		return v.mustStop()
	}
	return ""
}

// endIdle ends an At whose next attempt must not start.
func (v *View) endIdle() Step {
	e := proof.End{Proof: proof.NotRun}
	if v.isBetween() {
		e = v.failedEnd()
	} else if v.isRecorded() {
		e.Message = proof.JoinNonEmpty("; ", v.lastProblem(), proof.Disruption(v.run.pod))
	}
	return v.endUnstarted(e)
}

// endUnstarted ends an At whose next attempt has not begun. It first asks for what a create that was not answered may
// have made: a pod under the name of the attempt, or one to which admission has given another name.
func (v *View) endUnstarted(e proof.End) Step {
	if name := v.nextName(); v.unread(name) || !v.answers.Labeled {
		return ask(Ask{Pod: name, Labeled: true})
	}
	if left := v.gated(); left != nil { // Others could open it after the end.
		return v.throwAway(left)
	}
	for _, name := range slices.Sorted(maps.Keys(v.answers.Pods)) {
		if pod := v.answers.Pods[name]; pod != nil && proof.MayBeRun(pod) && !v.isOfEarlier(pod) {
			what := fmt.Sprintf("pod %s has no scheduling gate %s, and may be the pod of this At", name, cnatv1alpha1.StartGate)
			return v.done(v.modifiedEnd(what, proof.Unknown))
		}
	}
	return v.done(v.withOverride(e))
}

// isHeld reports whether an At that has not started waits for its user.
func (v *View) isHeld() bool { return !v.isRecorded() && (v.problem().reason != "" || v.isSuspended()) }

// held returns the step of an At that is held.
func (v *View) held() Step {
	if problem := v.problem(); problem.reason != "" {
		return v.wait(problem)
	}
	return v.wait(say{cnatv1alpha1.ReasonSuspended, "spec.suspend is true: set it to false to continue"})
}

// waitForTime returns the step of an At whose pod is not created yet.
func (v *View) waitForTime() Step {
	prepareAt := v.startAt().Add(-prepareLead)
	if v.isRecorded() {
		return v.reportIdle().at(prepareAt)
	}
	return v.checked(v.reportIdle(), prepareAt)
}

// create returns the step that creates the pod of the next attempt, unless the last create was rejected a short time
// ago.
func (v *View) create(s Step) Step {
	rejection := v.rejection(toCreate)
	switch {
	case v.dryRun.ungated && !v.isRecorded() && v.answers.DryRun == nil:
		return ask(v.question())
	case v.dryRun.ungated && !v.isRecorded():
		return v.endUnstarted(v.modifiedEnd("admission would remove the scheduling gate "+cnatv1alpha1.StartGate+" of pod "+v.nextName(), proof.NotRun))
	case rejection != nil:
		s.scheduled = v.rejectedCreate(rejection)
		if until := v.retryAt(rejection, v.scheduledAt()); v.Now.Before(until) {
			return s.at(until)
		}
	case v.failure != "":
		s.scheduled = say{cnatv1alpha1.ReasonRequestFailed, v.failure}
	case v.blocked(cnatv1alpha1.ConditionScheduled, retriesOfCreate...).reason != "":
		s.unchanged = true
	case !v.isRecorded() && v.dryRun.says.isBad(): // It still counts, until this create is answered.
		s.ready = v.dryRun.says
	default:
		s.unchanged = v.At.Status.Phase == "" && !v.Now.Before(v.startAt()) // The record follows at once.
	}
	s.Create = newPod(v, v.nextAttempt())
	return s
}

// recordStart returns the step that records the prepared pod and then opens it, which starts the command.
func (v *View) recordStart(pod *corev1.Pod) Step {
	if k := v.prepared; !k.shown && v.Now.Sub(k.answered) >= time.Second { // It was created a while ago.
		return ask(Ask{Pod: pod.Name})
	}
	s := v.wait(started("pod " + pod.Name + " was created"))
	s.record, s.attempt = pod, v.nextAttempt()
	return v.start(s, pod)
}
