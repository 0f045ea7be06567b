// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/backoff"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// decision is what the first row of the state table that applies says: look a pod up, leave the status as it is, wait, finish, or create
// a pod. It is a value, and nothing changes it.
type decision struct {
	// lookUp is the name of a pod that must be read from the API server before anything can be decided, or "".
	lookUp string
	// unchanged is true if the status stays as it is.
	unchanged bool
	phase     cnatv1alpha1.Phase
	scheduled scheduled
	// retry is when the next attempt is due, or zero unless the newest one has failed.
	retry time.Time
	// end is how the At ended, or nil if it has not.
	end *end
	// creates is true if the pod of attempt is to be created. checks is true if the API server is to check the first pod.
	creates, checks bool
	attempt         int
	delete          *corev1.Pod
	deleteAt        bool
	// requeueAt is when to decide again although nothing has changed, or zero if that is not needed.
	requeueAt time.Time
}

// row is a row of the state table, or several that share their condition. It returns false if it does not apply.
type row func(Observation) (decision, bool)

// table has the rows in the order of the table in doc.go.
var table = []row{
	whileDeleted,                      // 1
	afterEnd,                          // 2 to 4
	lostRun,                           // 5 and 6
	modifiedPod, canceledRun, liveRun, // 7 to 10
	endedRun, betweenAttempts, // 11 to 16
	canceled, unusable, suspended, beforeDue, // 17 to 20
	missed, dueRun, // 21 and 22
}

// decide returns what the first row that applies says.
func decide(o Observation) decision {
	for _, row := range table {
		if d, applies := row(o); applies {
			return d
		}
	}
	return decision{unchanged: true} // not covered: dueRun always applies
}

// lookUp returns the decision to look up a pod, because the next decision depends on its absence from the cache. It returns false if the
// API server has already been asked.
func lookUp(o Observation, name string) (decision, bool) {
	return decision{lookUp: name, unchanged: true}, !o.LookedUp.Has(name)
}

// finish returns the decision that the At is done.
func finish(o Observation, e end) decision {
	if e.finished.IsZero() || e.finished.Before(o.run.start) || e.finished.After(o.Now) { // The clock of a node may be wrong.
		e.finished = o.Now
	}
	d := decision{phase: cnatv1alpha1.PhaseDone, end: &e, scheduled: notScheduled(e.reason, e.message)}
	if o.run.hasPod() {
		d.scheduled = started(o, "the pod was created")
	}
	return d
}

// wait returns the decision to wait in the phase of the run, until requeueAt if it is not zero.
func wait(o Observation, s scheduled, requeueAt time.Time) decision {
	d := decision{phase: cnatv1alpha1.PhasePending, scheduled: s, requeueAt: requeueAt}
	if o.run.hasPod() {
		d.phase = cnatv1alpha1.PhaseRunning
	}
	return d
}

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
	if pod == nil || pods.IsTerminating(pod, o.Deleted) || pods.IsFinished(pod) || o.Unseen.Has(pod.UID) {
		return nil
	}
	if pods.OwnerUID(pod) != o.At.UID && pod.UID != o.unowned {
		return nil
	}
	return pod
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
	d := wait(o, started(o, "spec.cancel is true: pod "+pod.Name+" is stopped"), pollAt(o, pod))
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
	return ended(o, end{reason: cnatv1alpha1.ReasonPodFailed, retryable: true, message: fmt.Sprintf(
		"pod %s failed and was deleted before the next attempt", o.At.Status.PodName)}, o.run.retry), true
}

// ended decides what follows from the end of an attempt. next is when the next attempt is due, if there is one.
func ended(o Observation, e end, next time.Time) decision {
	if e.succeeded() && !(e.stopped && o.isCanceled()) {
		return finish(o, e)
	}
	limit, deadline := o.backoffLimit(), o.run.deadline(o.At)
	retriesLeft := o.run.attempt < limit && o.mayRetry(e)
	// The reason DeadlineExceeded of the pod is not sufficient: the template may set a shorter deadline for each pod.
	deadlineOver := !deadline.IsZero() && !o.Now.Before(deadline)
	stopped := o.isCanceled() && (retriesLeft || e.stopped)
	if retriesLeft && (deadlineOver || stopped || o.isDeleted()) || !retriesLeft && !o.run.retry.IsZero() {
		if d, asks := lookUp(o, PodName(o.At, o.run.attempt+1)); asks {
			return d
		}
	}
	switch {
	case stopped:
		return finish(o, canceledEnd(e))
	case deadlineOver && (retriesLeft || e.byDeadline):
		e.message = deadlineMessage(o.At) + "; last attempt: " + e.message
		e.reason = cnatv1alpha1.ReasonDeadlineExceeded
		return finish(o, e)
	case !retriesLeft || o.isDeleted():
		if o.run.attempt < limit && !e.retryable {
			e.message += "; it is not retried, because the command may have succeeded, or may still run"
		}
		return finish(o, e)
	}
	s := started(o, fmt.Sprintf("attempt %d of %d failed: %s; the next one is due at %s", o.run.attempt+1, limit+1, e.reason, formatTime(next)))
	if o.Now.Before(next) {
		d := wait(o, s, pods.Earliest(next, deadline))
		d.retry = next
		return d
	}
	d, bad := unusable(o)
	if !bad {
		d = create(o, o.run.attempt+1, s, deadline)
	}
	d.retry = next
	return d
}

// mayRetry reports whether an attempt that ended so may be repeated, if backoffLimit allows it.
func (o Observation) mayRetry(e end) bool {
	codes := o.At.Spec.RetryExitCodes
	return e.retryable && (len(codes) == 0 || e.notStarted || e.exitCode != nil && slices.Contains(codes, *e.exitCode))
}

// canceled ends an At before its start.
func canceled(o Observation) (decision, bool) {
	if !o.isCanceled() {
		return decision{}, false
	}
	if d, asks := lookUp(o, PodName(o.At, 0)); asks {
		return d, true
	}
	return finish(o, canceledEnd(end{})), true
}

// unusable waits for an edit if no pod can be created from the spec.
func unusable(o Observation) (decision, bool) {
	if _, err := o.dueTime(); err != nil {
		return wait(o, notScheduled(cnatv1alpha1.ReasonInvalidSchedule, err.Error()), time.Time{}), true
	}
	if problem := commandProblem(&o.At.Spec); problem != "" {
		return wait(o, notScheduled(cnatv1alpha1.ReasonInvalidCommand, problem), time.Time{}), true
	}
	if problem := templateProblem(&o.At.Spec); problem != "" {
		return wait(o, notScheduled(cnatv1alpha1.ReasonInvalidTemplate, problem), time.Time{}), true
	}
	return decision{}, false
}

// suspended waits until the user resumes the At.
func suspended(o Observation) (decision, bool) {
	s := notScheduled(cnatv1alpha1.ReasonSuspended, "spec.suspend suspends the At: set it to false to continue")
	return wait(o, s, time.Time{}), ptr.Deref(o.At.Spec.Suspend, false)
}

// beforeDue waits until the At is due. Meanwhile the API server checks its pod once, so that the user learns at once that it is invalid.
func beforeDue(o Observation) (decision, bool) {
	due, _ := o.dueTime()
	if !o.Now.Before(due) {
		return decision{}, false
	}
	s := waiting(due)
	if o.Invalid != "" {
		s = notScheduled(cnatv1alpha1.ReasonInvalidTemplate, o.Invalid)
	}
	d := wait(o, s, due)
	d.checks = !o.Checked && o.At.Spec.Template != nil
	return d, true
}

// missed ends an At that could not start in time.
func missed(o Observation) (decision, bool) {
	at, ok := o.missedAt()
	if !ok || o.Now.Before(at) || o.Rejection != nil && o.Rejection.NamespaceTerminating {
		return decision{}, false
	}
	if d, asks := lookUp(o, PodName(o.At, 0)); asks {
		return d, true
	}
	due, _ := o.dueTime()
	return finish(o, end{reason: cnatv1alpha1.ReasonMissedDeadline, message: joinNonEmpty(": ", fmt.Sprintf(
		"startingDeadlineSeconds (%d) exceeded: the command was due at %s and was not run", *o.At.Spec.StartingDeadlineSeconds, formatTime(due)),
		missedCause(o))}), true
}

// missedAt returns when an At has missed its deadline. It returns false if there is no deadline. The API counts in whole seconds, and
// creating a pod takes time. With a deadline of 0, the At may therefore start until the end of the second in which it is due.
func (o Observation) missedAt() (time.Time, bool) {
	deadline := o.At.Spec.StartingDeadlineSeconds
	if deadline == nil {
		return time.Time{}, false
	}
	due, _ := o.dueTime()
	return due.Add(seconds(*deadline) + time.Second), true
}

// dueRun creates the first pod.
func dueRun(o Observation) (decision, bool) {
	due, _ := o.dueTime()
	until, _ := o.missedAt()
	if until.Before(o.Now) { // The namespace is being deleted.
		until = time.Time{}
	}
	return create(o, 0, waiting(due), until), true
}

// create returns the decision to create the pod of an attempt, or to wait while the last create was rejected. until is when another row
// applies, or zero.
func create(o Observation, attempt int, s scheduled, until time.Time) decision {
	if o.Rejection != nil {
		s = rejected(o.Rejection)
		if o.Now.Before(o.Rejection.Until) {
			return wait(o, s, pods.Earliest(until, o.Rejection.Until))
		}
	}
	d := wait(o, s, until)
	d.creates, d.attempt = true, attempt
	return d
}

// nameCollisionRetry is the interval at which a create is retried while a pod of an older At has the name. The garbage
// collector removes that pod, usually within seconds.
const nameCollisionRetry = 10 * time.Second

// after returns the decision after its create or its check had an outcome (rows 23 to 26).
func (d decision) after(o Observation, outcome Outcome) decision {
	name := PodName(o.At, d.attempt)
	switch {
	case d.checks && outcome.Invalid != "":
		d.scheduled = notScheduled(cnatv1alpha1.ReasonInvalidTemplate, outcome.Invalid)
	case !d.creates:
		return d
	case outcome.Conflicting != nil && isOfOlderAt(o.At, outcome.Conflicting):
		d.scheduled = notScheduled(cnatv1alpha1.ReasonNameTaken, fmt.Sprintf("pod %s belongs to an older At of this name: the At starts when the pod is gone", name))
		d.scheduled.temporary = true
		d.requeueAt = pods.Earliest(d.requeueAt, o.Now.Add(nameCollisionRetry))
	case outcome.Conflicting != nil:
		return finish(o, end{reason: cnatv1alpha1.ReasonPodNameConflict, message: fmt.Sprintf(
			"pod %s exists and does not belong to this At: the operator does not touch it; delete the pod, or choose another name, and create the At again", name)})
	case outcome.Rejected != nil:
		d.scheduled = rejected(expectations.NewRejection(outcome.Rejected))
	case outcome.CreateError != nil:
		d.scheduled = notScheduled(cnatv1alpha1.ReasonFailedCreate, outcome.CreateError.Error())
		d.scheduled.temporary = true
	}
	return d
}
