// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// stopGrace is how long the operator waits after the grace period of a pod that the kubelet must end before it deletes
// the pod. A deletion also removes the log.
const stopGrace = 10 * time.Second

// runsOn reports whether the recorded pod, which has been opened, may still run although its attempt is over. A pod of
// which admission has taken the owner is followed until it ends.
func (v *View) runsOn() bool {
	pod := v.Pod
	if v.run.modified != "" && !v.run.isGone() {
		pod = v.run.pod
	}
	return pod != nil && !v.isDeleted() && !pods.IsFinished(pod) && pod.DeletionTimestamp == nil
}

// stop adds the request that ends the recorded pod. The kubelet ends a pod at its activeDeadlineSeconds and keeps it
// with its log, so the operator lowers them, even if the pod's own deadline is near: the clock of the node may be
// behind. The stop begins when it is decided for a pod that a node has, whatever the API server, admission, and the node
// do then. The operator deletes a pod that no node has, a pod that has no log and whose deadline it could not lower, and
// one that has not ended within its grace period and stopGrace.
func (v *View) stop(s Step) Step {
	pod, refused := v.Pod, v.rejection(toStop)
	s.stops = true
	deleteAt := cmp.Or(v.stopSince, v.Now).Add(gracePeriod(pod) + stopGrace)
	switch {
	case pod.DeletionTimestamp != nil:
		return s
	case !isBound(pod), !v.Now.Before(deleteAt), refused != nil && !proof.AnyStarted(pod):
		return v.remove(s, pod)
	case ptr.Deref(pod.Spec.ActiveDeadlineSeconds, 0) == StopNow: // The kubelet stops it.
		return s.at(deleteAt)
	}
	s, wait := v.backOff(s, refused, cnatv1alpha1.ReasonFailedStop)
	if !wait {
		s.Stop = pod
	}
	return s.at(deleteAt)
}

// StopNow is the activeDeadlineSeconds with which the kubelet ends a pod that it has begun to run.
const StopNow = 1

// remove adds the deletion of a pod, unless the last one was rejected a short time ago.
func (v *View) remove(s Step, pod *corev1.Pod) Step {
	s, wait := v.backOff(s, v.rejection(toDelete), cnatv1alpha1.ReasonFailedDelete)
	if !wait {
		s.Delete = pod
	}
	return s
}

// backOff reports the rejection of a request, if there is one, for a reason. wait is true until the request may be
// repeated. What an earlier process has reported stays.
func (v *View) backOff(s Step, rejection *expectations.Rejection, reason string) (_ Step, wait bool) {
	if rejection == nil {
		if before := v.blocked(cnatv1alpha1.ConditionReady, reason); before.reason != "" {
			s.ready = before
		}
		return s, false
	}
	s.ready = say{reason, proof.JoinNonEmpty("; ", s.ready.message, rejection.Message)}
	until := v.retryAt(rejection, time.Time{})
	if wait = v.Now.Before(until); wait {
		s = s.at(until)
	}
	return s, wait
}

// maxFailedDelay bounds the delay after a webhook has failed a request that is due: it may be back at any time.
const maxFailedDelay = 5 * time.Second

// retryAt returns when a rejected request may be repeated. due is when it must succeed, or zero if it must already.
func (v *View) retryAt(r *expectations.Rejection, due time.Time) time.Time {
	until, soon := r.RetryAt(due), r.Began.Add(maxFailedDelay)
	if r.Failed && !v.Now.Before(due) && soon.Before(until) {
		return soon
	}
	return until
}

// open returns the step that removes the gate of the recorded pod, which starts the command.
func (v *View) open(pod *corev1.Pod) Step {
	s, wait := v.backOff(v.wait(started("pod "+pod.Name+" was created")), v.rejection(toOpen), cnatv1alpha1.ReasonFailedStart)
	switch {
	case wait:
		return s
	case v.failure != "":
		s.ready = say{cnatv1alpha1.ReasonRequestFailed, v.failure}
	}
	return v.start(s, pod)
}

// start adds the request that removes the gate of the recorded pod. An At that must not be interrupted gets its budget
// first.
func (v *View) start(s Step, pod *corev1.Pod) Step {
	s.Open = pod
	if v.isUninterrupted() {
		s.Budget = newBudget(v.At)
	}
	return s
}

// withOverride returns the end of an At that is canceled, or whose deadline is over, after an attempt ended with e.
// Otherwise it returns e.
func (v *View) withOverride(e proof.End) proof.End {
	switch {
	case v.isCanceled():
		e.Reason, e.Message = cnatv1alpha1.ReasonCanceled, proof.JoinNonEmpty("; ", "the At was canceled by spec.cancel", e.Message)
	case v.deadlineOver():
		e.Reason = cnatv1alpha1.ReasonDeadlineExceeded
		e.Message = proof.JoinNonEmpty("; last attempt: ", fmt.Sprintf("activeDeadlineSeconds (%d) exceeded", *v.At.Spec.ActiveDeadlineSeconds), e.Message)
	case v.isTooLate() && (e.Proof == proof.NotRun || e.Reason == ""):
		e.Reason = cnatv1alpha1.ReasonMissedDeadline
		e.Message = proof.JoinNonEmpty(": ", fmt.Sprintf("startingDeadlineSeconds (%d) exceeded: the command was due at %s",
			*v.At.Spec.StartingDeadlineSeconds, formatTime(v.due())), proof.JoinNonEmpty("; ", e.Message, v.missedCause()))
	}
	return e
}

// due returns when the At is due. The schedule is valid: an At without a time is never too late.
func (v *View) due() time.Time {
	due, _ := v.dueTime()
	return due
}
