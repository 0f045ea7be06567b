// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/backoff"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// lastStateGrace is how long the watch may take to deliver the last state of a pod that the cache does not show anymore.
	lastStateGrace = 5 * time.Second
	// stopGrace is how long the operator waits after the grace period of a pod that the kubelet must end before it deletes the pod. A
	// deletion also removes the log.
	stopGrace = 10 * time.Second
	// lingerGrace is how long other containers may run after the command has ended: the default grace period of Kubernetes.
	lingerGrace = 30 * time.Second
	// endGrace is how long the kubelet may take to end a pod whose last container has ended.
	endGrace = 5 * time.Second
)

// afterNotRun continues an At whose recorded pod is gone and never ran. A pod that still had its gate is prepared again.
func (v *View) afterNotRun() Step {
	pod := v.recorded.pod
	problem := atrun.JoinNonEmpty("; ", v.lastProblem(), atrun.Disruption(pod))
	if e := v.overruled(atrun.End{Proof: atrun.NotRun, Message: problem}); e.Reason != "" {
		return v.finish(e)
	}
	if atrun.IsGated(pod) {
		return v.prepare(v.wait(started("pod "+pod.Name+" was deleted before it could start: it is created again")), v.attempt(), v.Now)
	}
	return v.ended(atrun.EndOfUnbound(pod))
}

// afterGone ends an attempt whose pod is gone, as the API server has confirmed. What is proven about its end decides.
func (v *View) afterGone() Step {
	s, name := &v.At.Status, v.recordedName()
	if e, proven := atrun.EndOfDeleted(v.At, v.recorded.pod); v.recorded.gone && proven {
		return v.ended(e)
	}
	if e, recorded := atrun.RecordedEnd(s); recorded {
		return v.ended(e)
	}
	if live := v.answers.Pods[name]; live != nil && live.UID == s.PodUID {
		return v.finish(lostEnd(fmt.Sprintf("the owner reference of pod %s was removed: the operator no longer manages the pod", name)))
	}
	if until := v.recorded.missingSince.Add(lastStateGrace); v.recorded.pod != nil && !v.recorded.gone && v.Now.Before(until) {
		return unchanged.at(until)
	}
	return v.finish(v.overruled(lostEnd(atrun.JoinNonEmpty(": ",
		fmt.Sprintf("pod %s disappeared before its end was recorded", name), atrun.Disruption(v.recorded.pod)))))
}

// lostEnd returns the end of an At whose opened pod is gone.
func lostEnd(what string) atrun.End {
	return atrun.End{Reason: cnatv1alpha1.ReasonPodLost, Message: what + "; the command may have run, so it is not run again. To run it, create another At"}
}

// runsOn reports whether the recorded pod, which has been opened, still runs although its attempt is over.
func (v *View) runsOn() bool {
	return v.Pod != nil && !v.isDeleted() && !pods.IsFinished(v.Pod) && v.Pod.DeletionTimestamp == nil && !v.recorded.deleted
}

// stop adds the request that ends the recorded pod. The kubelet ends a pod at its activeDeadlineSeconds and keeps it with its log, so the
// operator lowers them. It deletes a pod that no node has, and one that its node has not ended within its grace period and stopGrace.
func (v *View) stop(s Step) Step {
	pod, since := v.Pod, v.stopSince
	if since.IsZero() {
		since = v.Now
	}
	if start, limit := pod.Status.StartTime, pod.Spec.ActiveDeadlineSeconds; start != nil && limit != nil && start.Add(atspec.Seconds(*limit)).After(since) {
		since = start.Add(atspec.Seconds(*limit)) // The kubelet counts from the start of the pod on its node.
	}
	s.stops = true
	deleteAt := since.Add(gracePeriod(pod) + stopGrace)
	switch {
	case pod.DeletionTimestamp != nil || v.recorded.deleted:
		return s
	case !isBound(pod):
		return s.delete(pod)
	case !v.kubeletStops(pod):
		return v.askKubelet(s, deleteAt)
	case !v.Now.Before(deleteAt):
		return s.delete(pod)
	}
	return s.at(deleteAt)
}

// askKubelet adds the request that lets the kubelet end the recorded pod, unless the last one was rejected a short time ago.
func (v *View) askKubelet(s Step, deleteAt time.Time) Step {
	if v.rejection != nil {
		if s.ready.message != "" {
			s.ready = say{cnatv1alpha1.ReasonFailedStop, s.ready.message + "; " + v.rejection.Message}
		}
		if v.Now.Before(v.rejection.Until) {
			return s.at(v.rejection.Until)
		}
	}
	s.Stop = v.Pod
	return s.at(deleteAt)
}

// kubeletStops reports whether the activeDeadlineSeconds of a pod end it now without a change.
func (v *View) kubeletStops(pod *corev1.Pod) bool {
	limit, whole := pod.Spec.ActiveDeadlineSeconds, v.At.Spec.ActiveDeadlineSeconds
	byDeadline := !v.isCanceled() && v.deadlineOver()
	return limit != nil && (*limit == 1 || byDeadline && *limit <= *whole)
}

// attemptEnded reports whether the attempt of the recorded pod is over. A pod ends in the phase Succeeded or Failed, after all its
// containers have ended. A terminating pod ends with the command, because the pod can be gone before its phase changes. Otherwise the pod
// also ends with the command, after containers that admission added have had some time to end.
func (v *View) attemptEnded(pod *corev1.Pod) bool {
	command := atrun.CommandState(v.At, pod).Terminated
	lingers := pod.DeletionTimestamp == nil && !v.isCanceled() && command != nil && v.Now.Before(v.lingersUntil(pod, command))
	return pods.IsFinished(pod) || command != nil && !lingers
}

// lingersUntil returns until when the other containers of a pod may run after its command has ended. If the clock of the node is ahead,
// they may run no longer than the pod has existed.
func (v *View) lingersUntil(pod *corev1.Pod, command *corev1.ContainerStateTerminated) time.Time {
	from := command.FinishedAt.Time
	if from.After(v.Now) {
		from = pod.CreationTimestamp.Time
	}
	return from.Add(max(lingerGrace, gracePeriod(pod)))
}

// live returns the step that waits for the end of a pod that runs.
func (v *View) live(pod *corev1.Pod) Step {
	s := v.wait(started("pod " + pod.Name + " was created"))
	s.exitCode, s.output = v.exitSeen()
	because, must := v.mustStop()
	command := atrun.CommandState(v.At, pod)
	switch {
	case must:
		s.ready = say{cnatv1alpha1.ReasonRunning, fmt.Sprintf("%s: stopping pod %s", because, pod.Name)}
		problem := v.lastProblem()
		isKnown := pods.WaitingReason(pod) != "" && !atrun.IsGated(pod)
		if waits, _ := waitingProblem(pod, command, v.Now); command.Terminated == nil && (problem == "" || isKnown) {
			problem = waits
		}
		if problem != "" { // The end quotes it.
			before, _, _ := strings.Cut(problem, "; "+s.ready.message)
			s.ready = say{cnatv1alpha1.ReasonPodWaiting, before + "; " + s.ready.message}
		}
		if command.Terminated != nil {
			return s.at(v.lingersUntil(pod, command.Terminated))
		}
	case command.Terminated != nil:
		until := v.lingersUntil(pod, command.Terminated)
		explainAt := until.Add(endGrace - max(lingerGrace, gracePeriod(pod)))
		if v.Now.Before(explainAt) {
			return s.at(explainAt)
		}
		s.ready = say{cnatv1alpha1.ReasonContainersRunning, fmt.Sprintf("the command ended with exit code %d; %s", command.Terminated.ExitCode, stillRunning(pod))}
		return s.at(until)
	case pod.DeletionTimestamp != nil:
		why, until := terminating(pod, v.Now)
		if why != "" {
			s.ready = say{cnatv1alpha1.ReasonPodTerminating, why}
		}
		return s.at(until)
	default:
		problem, until := waitingProblem(pod, command, v.Now)
		if problem != "" {
			s.ready = say{cnatv1alpha1.ReasonPodWaiting, problem}
		}
		return s.at(until)
	}
	return s
}

// ended returns what follows from the end of the newest attempt.
func (v *View) ended(e atrun.End) Step {
	attempt := v.attempt()
	retries := attempt < v.backoffLimit() && v.mayRetry(e) && !v.isDeleted()
	late := e.ByDeadline && v.isTooLate() && e.ExitCode == nil && v.recorded.pod != nil && ptr.Deref(v.recorded.pod.Spec.ActiveDeadlineSeconds, 0) == 1
	switch {
	case e.Proof == atrun.Succeeded: // 21
		return v.finish(e)
	case (v.isCanceled() || v.deadlineOver()) && (retries || e.Stopped), late && e.Proof == atrun.NotRun: // 22 and 23
		return v.finish(v.overruled(e))
	case retries: // 24
		s := v.betweenAttempts()
		s.retry, s.exitCode, s.output = backoff.Retry(attempt, v.Now), e.ExitCode, e.Output
		s.scheduled.message = fmt.Sprintf("attempt %d of %d failed: %s: %s; the next one is due at %s",
			attempt+1, v.backoffLimit()+1, e.Reason, e.Message, formatTime(s.retry))
		return s.at(s.retry.Add(-prepareLead))
	}
	if late {
		e.Message = "startingDeadlineSeconds exceeded before the operator saw the command start; " + e.Message
	}
	e.Message = atrun.JoinNonEmpty("; ", e.Message, v.unknownCause(e)) // 25
	if attempt < v.backoffLimit() && e.Proof == atrun.Unknown {
		e.Message += ", so it is not retried"
	}
	return v.finish(e)
}

// unknownCause returns the problem that was last reported of a pod, if its end does not show how the command ended.
func (v *View) unknownCause(e atrun.End) string {
	if e.Proof != atrun.Unknown || e.ExitCode != nil {
		return ""
	}
	return v.lastProblem()
}

// mayRetry reports whether the proof of an end allows another attempt.
func (v *View) mayRetry(e atrun.End) bool {
	codes := v.At.Spec.RetryExitCodes
	return e.Proof == atrun.NotRun || e.Proof == atrun.Failed && (len(codes) == 0 || slices.Contains(codes, *e.ExitCode))
}

// failedEnd returns the end of the newest attempt, after which another one follows.
func (v *View) failedEnd() atrun.End {
	if e, known := atrun.RecordedEnd(&v.At.Status); known {
		return e
	}
	return atrun.End{Proof: atrun.NotRun, Reason: cnatv1alpha1.ReasonPodFailed, Message: fmt.Sprintf("pod %s did not run the command", v.At.Status.PodName)}
}

// betweenAttempts returns the step of an At whose newest attempt has failed, as the status records.
func (v *View) betweenAttempts() Step {
	message := fmt.Sprintf("attempt %d of %d failed: %s", v.attempt()+1, v.backoffLimit()+1, v.failedEnd().Message)
	if stored := v.condition(cnatv1alpha1.ConditionScheduled); stored != nil && stored.Reason == cnatv1alpha1.ReasonStarted {
		message = stored.Message // It has more details.
	}
	s := v.wait(started(message))
	s.exitCode, s.output = v.At.Status.ExitCode, v.At.Status.Output
	if retry := v.At.Status.RetryTime; retry != nil {
		s.retry = retry.Time
	}
	return s
}

// afterEnd deletes the budget if that failed before, and an At whose TTL is over.
func (v *View) afterEnd() Step {
	s, ttl := Step{}, v.At.Spec.TTLSecondsAfterFinished
	if v.protects {
		s = v.unprotect(s)
	}
	if ttl == nil || v.isDeleted() {
		return s
	}
	over := v.At.Status.CompletionTime.Add(atspec.Seconds(int64(*ttl)))
	if v.Now.Before(over) {
		return s.at(over)
	}
	s.DeleteAt = true
	return s
}
