// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/backoff"
	"github.com/redhat/podset-operator/internal/pods"
)

// whileDeleted leaves an At alone that is being deleted, unless its run has to be recorded.
func whileDeleted(o Observation) (decision, bool) {
	return decision{unchanged: true}, o.isDeleted() && (IsDone(&o.At.Status) || !o.run.hasPod())
}

// afterEnd deletes a pod that must not go on, and an At whose TTL is over.
func afterEnd(o Observation) (decision, bool) {
	if !IsDone(&o.At.Status) {
		return decision{}, false
	}
	d := decision{phase: cnatv1alpha1.PhaseDone}
	if mustStop(o) {
		d.delete = deletable(o, o.run.newest)
	}
	if ttl := o.At.Spec.TTLSecondsAfterFinished; ttl != nil {
		d.requeueAt = o.At.Status.CompletionTime.Add(seconds(int64(*ttl)))
		if !o.Now.Before(d.requeueAt) {
			d.deleteAt, d.requeueAt = true, time.Time{}
		}
	}
	return d, true
}

// mustStop reports whether the pod of an At that is done must not go on: the At stopped its command, or its command has ended and other
// containers still run.
func mustStop(o Observation) bool {
	switch o.At.Status.Reason {
	case cnatv1alpha1.ReasonDeadlineExceeded, cnatv1alpha1.ReasonCanceled, cnatv1alpha1.ReasonPodModified:
		return true
	}
	return o.run.newest != nil && commandState(o.At, o.run.newest).Terminated != nil
}

// deletable returns a pod, or nil if it is terminating, has ended, or may not be deleted: the cache does not show it, or it has no
// controller reference. A user may have taken such a pod from the At, unless this process created it so.
func deletable(o Observation, pod *corev1.Pod) *corev1.Pod {
	if pod == nil || pods.IsTerminating(pod, o.Deleted) || pods.IsFinished(pod) || o.Unseen.Has(pod.UID) || !o.owns(pod) {
		return nil
	}
	return pod
}

// owns reports whether a pod of the run has a controller reference to the At, or was created by this process.
func (o Observation) owns(pod *corev1.Pod) bool {
	return pods.OwnerUID(pod) == o.At.UID || o.created.isUnowned(pod)
}

// lostRun ends an At whose recorded pod is gone, after the API server has confirmed that. If the watch delivered the last state of the
// pod, this state decides.
func lostRun(o Observation) (decision, bool) {
	if !o.run.lost {
		return decision{}, false
	}
	if d, asks := lookUp(o, o.recordedName()); asks {
		return d, true
	}
	last := o.lastState()
	if last != nil {
		if e, over := endOfDeleted(o, last); over {
			return ended(o, e, backoff.Retry(e.finished, last.CreationTimestamp.Time, o.run.attempt, o.Now)), true
		}
	}
	if o.isCanceled() {
		return finish(o, canceledEnd(end{})), true
	}
	e := end{reason: cnatv1alpha1.ReasonPodLost, message: "the pod disappeared before its result was recorded; the command is not run again. " +
		"To run it, create another At"}
	if last != nil {
		e.message = joinNonEmpty(": ", e.message, disruption(last))
	}
	return finish(o, e), true
}

// modifiedPod ends an At whose pod could run the command again. Row 4 deletes the pod after that is recorded.
func modifiedPod(o Observation) (decision, bool) {
	pod := o.run.newest
	if pod == nil || pods.IsFinished(pod) || pod.Spec.RestartPolicy == "" || pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return decision{}, false
	}
	return finish(o, end{reason: cnatv1alpha1.ReasonPodModified, message: fmt.Sprintf("admission changed pod %s so that its containers "+
		"can be restarted; the pod is deleted, because the command could run more than once. Exclude the pods of Ats from the webhook "+
		"or policy that sets restartPolicy, and create another At", pod.Name)}), true
}

// canceledRun stops the pod of an At that is canceled. Its end is recorded by another row.
func canceledRun(o Observation) (decision, bool) {
	pod := o.run.newest
	if pod == nil || !o.isCanceled() || o.isDeleted() {
		return decision{}, false
	}
	if _, over := endOf(o, pod); over {
		return decision{}, false
	}
	message := "spec.cancel is true: pod " + pod.Name + " is stopped"
	if !o.owns(pod) && !pods.IsTerminating(pod, o.Deleted) {
		message = "spec.cancel is true, but pod " + pod.Name + " has no owner reference, so the operator does not delete it: delete it to stop the command"
	}
	d := wait(o, started(o, message), pollAt(o, pod))
	if pod.UID != o.At.Status.PodUID {
		d.requeueAt = o.Now // The pod is deleted after its run is recorded, because nothing else shows that the command was started.
		return d, true
	}
	d.delete = deletable(o, pod)
	return d, true
}

const (
	// stopGrace is how long the operator waits after the grace period of a pod before it deletes the pod at its deadline. The
	// kubelet should stop the pod first, because a deletion also removes the logs.
	stopGrace = 10 * time.Second
	// pollUnowned is the interval at which a pod without a controller reference is read: the cache does not have it.
	pollUnowned = 10 * time.Second
)

// liveRun waits for the end of the pod, and ends the At at its deadline.
func liveRun(o Observation) (decision, bool) {
	pod := o.run.newest
	if pod == nil {
		return decision{}, false
	}
	if _, over := endOf(o, pod); over {
		return decision{}, false
	}
	s, requeueAt := progressOf(o, pod)
	requeueAt = pods.Earliest(requeueAt, pollAt(o, pod))
	deadline := o.run.deadline(o.At)
	if deadline.IsZero() {
		return wait(o, s, requeueAt), true
	}
	if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodUnknown {
		// The kubelet enforces the activeDeadlineSeconds of the pod, and keeps the pod for its logs.
		deadline = deadline.Add(gracePeriod(o.At)).Add(stopGrace)
	}
	if o.Now.Before(deadline) {
		return wait(o, s, pods.Earliest(requeueAt, deadline)), true
	}
	if pods.OwnerUID(pod) != o.At.UID { // The cache does not show how it has ended since it was read.
		if d, asks := lookUp(o, pod.Name); asks {
			return d, true
		}
	}
	// The cache can lag so much that this pod has failed in the meantime and has been retried.
	if o.run.attempt < o.backoffLimit() {
		if d, asks := lookUp(o, PodName(o.At, o.run.attempt+1)); asks {
			return d, true
		}
	}
	// Row 4 deletes the pod after this is recorded. A crash after an earlier deletion would leave no trace of the run.
	return finish(o, end{reason: cnatv1alpha1.ReasonDeadlineExceeded, message: deadlineMessage(o.At)}), true
}

// pollAt returns when to read a pod again whose changes the cache does not show, or zero if the cache shows them.
func pollAt(o Observation, pod *corev1.Pod) time.Time {
	if pods.OwnerUID(pod) == o.At.UID {
		return time.Time{}
	}
	return o.Now.Add(pollUnowned)
}

// endedRun follows from the end of the newest pod.
func endedRun(o Observation) (decision, bool) {
	pod := o.run.newest
	if pod == nil {
		return decision{}, false
	}
	e, _ := endOf(o, pod) // liveRun has excluded a pod that has not ended.
	d := ended(o, e, backoff.Retry(finishTime(pod), pod.CreationTimestamp.Time, o.run.attempt, o.Now))
	if !d.retry.IsZero() && !o.run.retry.IsZero() {
		d.delete = deletable(o, pod) // Other containers still run. The failure is recorded.
	}
	return d, true
}

// betweenAttempts continues a run whose newest pod has failed, as the status records, and is gone.
func betweenAttempts(o Observation) (decision, bool) {
	if o.run.retry.IsZero() {
		return decision{}, false
	}
	message := fmt.Sprintf("pod %s failed and was deleted before the next attempt", o.At.Status.PodName)
	return ended(o, end{
		reason: cnatv1alpha1.ReasonPodFailed, retryable: true, message: joinNonEmpty(": ", message, o.recordedFailure()),
	}, o.run.retry), true
}

// ended decides what follows from the end of an attempt. next is when the next attempt is due, if there is one.
func ended(o Observation, e end, next time.Time) decision {
	if e.succeeded() && (!e.stopped || !o.isCanceled()) {
		return finish(o, e)
	}
	retriesLeft := o.run.attempt < o.backoffLimit() && o.mayRetry(e)
	final, isFinal := finalEnd(o, e, retriesLeft)
	if !isFinal {
		return nextAttempt(o, e, next)
	}
	if retriesLeft || !o.run.retry.IsZero() { // The cache can lag so much that the next attempt exists.
		if d, asks := lookUp(o, PodName(o.At, o.run.attempt+1)); asks {
			return d
		}
	}
	return finish(o, final)
}

// finalEnd returns the end of the At that follows from the end of its newest attempt. It returns false if there is another attempt.
func finalEnd(o Observation, e end, retriesLeft bool) (end, bool) {
	// The reason DeadlineExceeded of the pod is not sufficient: the template may set a shorter deadline for each pod.
	deadline := o.run.deadline(o.At)
	deadlineOver := !deadline.IsZero() && !o.Now.Before(deadline)
	switch {
	case o.isCanceled() && (retriesLeft || e.stopped):
		return canceledEnd(e), true
	case deadlineOver && (retriesLeft || e.byDeadline):
		e.message = deadlineMessage(o.At) + "; last attempt: " + e.message
		e.reason = cnatv1alpha1.ReasonDeadlineExceeded
		return e, true
	case !retriesLeft || o.isDeleted():
		if o.run.attempt < o.backoffLimit() && !e.retryable {
			e.message += "; it is not retried, because the command may have succeeded, or may still run"
		}
		return e, true
	}
	return end{}, false
}

// failedAttempt begins the message of the condition Scheduled after an attempt has failed.
const failedAttempt = "attempt "

// nextAttempt creates the pod of the next attempt at the time next, and waits until then.
func nextAttempt(o Observation, e end, next time.Time) decision {
	deadline := o.run.deadline(o.At)
	message := fmt.Sprintf(failedAttempt+"%d of %d failed: %s: %s; the next one is due at %s",
		o.run.attempt+1, o.backoffLimit()+1, e.reason, e.message, formatTime(next))
	if o.run.newest == nil {
		message = cmp.Or(o.recordedFailure(), message)
	}
	s := started(o, message)
	var d decision
	if o.Now.Before(next) {
		d = wait(o, s, pods.Earliest(next, deadline))
	} else if edit, bad := unusable(o); bad {
		d = edit
	} else {
		d = create(o, o.run.attempt+1, s, deadline)
	}
	d.retry = next
	return d
}

// recordedFailure returns what the status says about an attempt that has failed, or "". If its pod is gone, nothing else does.
func (o Observation) recordedFailure() string {
	if stored := o.storedScheduled(); stored != nil && strings.HasPrefix(stored.Message, failedAttempt) {
		return stored.Message
	}
	return ""
}

// mayRetry reports whether an attempt that ended so may be repeated, if backoffLimit allows it.
func (o Observation) mayRetry(e end) bool {
	if !o.run.retry.IsZero() { // The status has recorded that there is another attempt.
		return e.retryable
	}
	codes := o.At.Spec.RetryExitCodes
	return e.retryable && (len(codes) == 0 || e.notStarted || e.exitCode != nil && slices.Contains(codes, *e.exitCode))
}
