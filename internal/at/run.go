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
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/backoff"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// lastStateGrace is how long the watch may take to deliver the last state of a pod that the cache does not show
	// anymore.
	lastStateGrace = 5 * time.Second
	// lingerGrace is how long other containers may run after the command has ended: the default grace period of
	// Kubernetes.
	lingerGrace = 30 * time.Second
	// endGrace is how long the kubelet may take to end a pod whose last container has ended.
	endGrace = 5 * time.Second
)

// afterGone ends an attempt whose pod is gone, as the API server has confirmed. What is proven about its end decides.
func (v *View) afterGone() Step {
	last, name := v.run.pod, v.recordedName()
	if e, proven := proof.EndOfDeleted(v.At, last); proven {
		return v.ended(e)
	}
	if e, recorded := proof.RecordedEnd(&v.At.Status); recorded {
		return v.ended(e)
	}
	if live := v.answers.Pods[name]; live != nil && live.UID == v.At.Status.PodUID {
		return v.withoutOwner(live)
	}
	if next := v.replacement(); next != nil {
		return v.recordOpened(next, v.attempt(), openedBy(next))
	}
	if until := v.run.mayShowLast(); v.Now.Before(until) {
		return unchanged.at(until)
	}
	return v.done(v.withOverride(lostEnd(proof.JoinNonEmpty(": ", fmt.Sprintf("pod %s disappeared before its end was recorded", name), proof.Disruption(last)))))
}

// replacement returns a pod of the At that has the name of the recorded pod, which is gone, or nil. It has no gate, and
// the operator opens only the recorded pod, so others have opened it.
func (v *View) replacement() *corev1.Pod {
	for _, pod := range v.own {
		if pod.Name == v.recordedName() && pod.UID != v.At.Status.PodUID && !proof.IsGated(pod) {
			return pod
		}
	}
	return nil
}

// withoutOwner ends an attempt whose pod the At no longer controls. The operator opens no such pod.
func (v *View) withoutOwner(pod *corev1.Pod) Step {
	what := fmt.Sprintf("the owner reference of pod %s was removed: the operator no longer manages the pod", pod.Name)
	if proof.IsGated(pod) {
		return v.done(v.withOverride(proof.End{Proof: proof.NotRun, Reason: cnatv1alpha1.ReasonNotStarted, Message: what}))
	}
	return v.done(lostEnd(what))
}

// lostEnd returns the end of an At whose opened pod is gone.
func lostEnd(what string) proof.End {
	return proof.End{Reason: cnatv1alpha1.ReasonPodLost, Message: what, Remedy: "It is not run again: to run it, create another At"}
}

// attemptEnded reports whether the attempt of the recorded pod is over. A pod ends in the phase Succeeded or Failed,
// after all its containers have ended. A terminating pod ends with the command, because the pod can be gone before its
// phase changes. Otherwise the pod also ends with the command, after containers that admission added have had some time
// to end.
func (v *View) attemptEnded(pod *corev1.Pod) bool {
	command := proof.CommandState(v.At, pod).Terminated
	lingers := pod.DeletionTimestamp == nil && !v.isCanceled() && command != nil && v.Now.Before(v.lingersUntil(pod, command))
	return pods.IsFinished(pod) || command != nil && !lingers
}

// lingersUntil returns until when the other containers of a pod may run after its command has ended. If the clock of
// the node is ahead, they may run no longer than the pod has existed.
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
	command := proof.CommandState(v.At, pod)
	switch because := v.mustStop(); {
	case because != "":
		s.ready = v.stopping(pod, command, because)
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

// stopping returns what an At says while its pod is stopped. The end quotes the problem that the pod had.
func (v *View) stopping(pod *corev1.Pod, command corev1.ContainerState, because string) say {
	ready := say{cnatv1alpha1.ReasonRunning, fmt.Sprintf("%s: stopping pod %s", because, pod.Name)}
	problem := v.lastProblem()
	isKnown := pods.WaitingReason(pod) != ""
	if waits, _ := waitingProblem(pod, command, v.Now); command.Terminated == nil && (problem == "" || isKnown) {
		problem = waits
	}
	if problem != "" {
		before, _, _ := strings.Cut(problem, "; "+ready.message)
		ready = say{cnatv1alpha1.ReasonPodWaiting, before + "; " + ready.message}
	}
	return ready
}

// ended returns what follows from the end of the newest attempt.
func (v *View) ended(e proof.End) Step {
	if v.run.startedAgain {
		return v.done(e.RanAgain())
	}
	attempt, late := v.attempt(), v.isStoppedLate(e)
	retries := attempt < v.backoffLimit() && v.mayRetry(e) && !v.isDeleted()
	switch {
	case e.Proof == proof.Succeeded:
		return v.done(e)
	case (v.isCanceled() || v.deadlineOver()) && (retries || e.Stopped), late && e.Proof == proof.NotRun:
		e.Message = proof.JoinNonEmpty("; ", e.Message, v.problemOf(e))
		return v.done(v.withOverride(e))
	case retries:
		s := v.betweenAttempts()
		s.retry, s.exitCode, s.output = backoff.Retry(attempt, v.Now), e.ExitCode, e.Output
		s.scheduled.message = fmt.Sprintf("attempt %d of %d failed: %s: %s; the next one is due at %s",
			attempt+1, v.backoffLimit()+1, e.Reason, e.Text(), formatTime(s.retry))
		return s.at(s.retry.Add(-prepareLead))
	case late:
		e.Message = "startingDeadlineSeconds exceeded before the operator saw the command start; " + e.Message
	}
	e.Message = proof.JoinNonEmpty("; ", e.Message, v.problemOf(e))
	if attempt < v.backoffLimit() && e.Proof == proof.Unknown {
		e.Remedy = "It is not retried, because nothing proves that it failed"
	}
	return v.done(e)
}

// isStoppedLate reports whether an attempt ended because the operator stopped it at startingDeadlineSeconds.
func (v *View) isStoppedLate(e proof.End) bool {
	pod := v.run.pod
	return v.isTooLate() && e.ExitCode == nil && pod != nil && (!isBound(pod) || e.ByDeadline && ptr.Deref(pod.Spec.ActiveDeadlineSeconds, 0) == 1)
}

// problemOf returns the problem that was last reported of a pod, if its end shows no exit code.
func (v *View) problemOf(e proof.End) string {
	if e.ExitCode != nil {
		return ""
	}
	return v.lastProblem()
}

// mayRetry reports whether the proof of an end allows another attempt.
func (v *View) mayRetry(e proof.End) bool {
	codes := v.At.Spec.RetryExitCodes
	return e.Proof == proof.NotRun || e.Proof == proof.Failed && (len(codes) == 0 || slices.Contains(codes, *e.ExitCode))
}

// failedEnd returns the end of the newest attempt, after which another one follows.
func (v *View) failedEnd() proof.End {
	if e, known := proof.RecordedEnd(&v.At.Status); known {
		return e
	}
	return proof.End{Proof: proof.NotRun, Reason: cnatv1alpha1.ReasonPodFailed, Message: fmt.Sprintf("pod %s has ended", v.At.Status.PodName)}
}

// betweenAttempts returns the step of an At whose newest attempt has failed, as the status records.
func (v *View) betweenAttempts() Step {
	message := fmt.Sprintf("attempt %d of %d failed: %s", v.attempt()+1, v.backoffLimit()+1, v.failedEnd().Text())
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

// afterEnd deletes an At whose TTL is over.
func (v *View) afterEnd() Step {
	s, ttl := Step{}, v.At.Spec.TTLSecondsAfterFinished
	if ttl == nil || v.isDeleted() {
		return s
	}
	over := v.At.Status.CompletionTime.Add(spec.Seconds(int64(*ttl)))
	if v.Now.Before(over) {
		return s.at(over)
	}
	s.DeleteAt = true
	return s
}
