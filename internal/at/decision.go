// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// nameCollisionRetry is the interval at which a create is retried while a pod of an older At has the name. The garbage
	// collector removes that pod, usually within seconds.
	nameCollisionRetry = 10 * time.Second
	// stopGrace is how long the operator waits after the grace period of a pod before it deletes the pod at its deadline. The
	// kubelet should stop the pod first, because a deletion also removes the logs.
	stopGrace = 10 * time.Second
)

// decision is what follows from the row of the state table that applies: what to do, and what the status says.
type decision struct {
	// plan is without its Create, because only MakePlan needs the pod. creates says that the attempt needs one.
	plan    Plan
	creates bool
	attempt int
	run     run
	// lookup is the name of a pod that must be looked up before anything can be decided; "": none.
	lookup string
	// unchanged says that the status stays as it is: the At is being deleted, or a lookup must come first.
	unchanged bool
	phase     cnatv1alpha1.Phase
	// scheduled is the condition Scheduled: status, reason, message. If it is False and temporary, the At goes on by itself.
	scheduled metav1.Condition
	temporary bool
	// retry is when the next attempt is due; zero unless the newest one has failed.
	retry time.Time
	// end is how the At ended; empty unless the phase is DONE.
	end end
}

// decide finds the row that applies. Its cases are in the order of the table in doc.go.
func decide(o Observation) decision {
	d := decision{run: o.runOf(), phase: cnatv1alpha1.PhasePending}
	switch {
	case o.At.DeletionTimestamp != nil:
		d.unchanged = true // row 1
	case IsDone(&o.At.Status):
		d.afterDone(o)
	case d.run.lost && d.needsLookup(o, max(int(o.At.Status.Attempts)-1, 0)): // row 5: the lookup is requested
	case d.run.lost:
		d.done(o, end{reason: cnatv1alpha1.ReasonPodLost, message: "the pod of the run is gone and its end was not seen: " +
			"the command is not run again; create another At to do so"})
	case d.run.newest != nil:
		d.phase = cnatv1alpha1.PhaseRunning
		d.running(o)
	case !d.run.retry.IsZero():
		d.phase = cnatv1alpha1.PhaseRunning
		d.ended(o, end{reason: cnatv1alpha1.ReasonPodFailed, retryable: true, message: fmt.Sprintf(
			"pod %s failed and was deleted before the next attempt", o.At.Status.PodName)}, d.run.retry)
	default:
		d.beforeStart(o)
	}
	return d
}

// afterDone decides rows 2 to 4.
func (d *decision) afterDone(o Observation) {
	s := &o.At.Status
	d.phase = cnatv1alpha1.PhaseDone
	if o.paused() {
		return
	}
	if s.Reason == cnatv1alpha1.ReasonDeadlineExceeded {
		d.deletePod(o)
	}
	if ttl := o.At.Spec.TTLSecondsAfterFinished; ttl != nil {
		d.plan.RequeueAt = s.CompletionTime.Add(seconds(int64(*ttl)))
		d.plan.DeleteAt = !o.Now.Before(d.plan.RequeueAt)
	}
}

// beforeStart decides the rows of an At that has not started.
func (d *decision) beforeStart(o Observation) {
	due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time)
	if err != nil {
		d.notScheduled(cnatv1alpha1.ReasonInvalidSchedule, err.Error())
		return
	}
	switch {
	case d.unusable(o): // row 14: the reason is set
	case o.paused():
		d.notScheduled(cnatv1alpha1.ReasonPaused, "the annotation "+cnatv1alpha1.AnnotationPaused+" pauses the At: remove it to continue")
	case ptr.Deref(o.At.Spec.Suspend, false):
		d.notScheduled(cnatv1alpha1.ReasonSuspended, "spec.suspend suspends the At: set it to false to continue")
	case o.Now.Before(due):
		d.scheduledFor(due)
		d.plan.RequeueAt = due
	default:
		d.scheduledFor(due)
		d.start(o, due)
	}
}

// start decides the rows of an At that is due.
func (d *decision) start(o Observation, due time.Time) {
	if deadline := o.At.Spec.StartingDeadlineSeconds; deadline != nil {
		// The API counts in whole seconds, and creating a pod takes time. With a deadline of 0, the At may therefore start
		// until the end of the second in which it is due.
		missed := due.Add(seconds(*deadline) + time.Second)
		if !o.Now.Before(missed) {
			if d.needsLookup(o, 0) {
				return
			}
			d.done(o, end{reason: cnatv1alpha1.ReasonMissedDeadline, message: fmt.Sprintf(
				"the At could start only more than %d seconds after %s: the command was not run", *deadline, formatTime(due))})
			return
		}
		d.plan.requeue(missed)
	}
	d.create(o, 0)
}

// running decides the rows of an At that has a pod.
func (d *decision) running(o Observation) {
	pod, deadline := d.run.newest, d.run.deadline(o.At)
	if e, ended := endOf(o, pod); ended {
		d.ended(o, e, retryTime(pod, d.run.attempt, o.Now))
		return
	}
	d.started(o, "pod "+pod.Name+" was created")
	if reason := pods.WaitingReason(pod); reason != "" {
		d.started(o, "pod "+pod.Name+" is waiting: "+reason)
	}
	if deadline.IsZero() || o.paused() {
		return
	}
	if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodUnknown {
		// The kubelet enforces the activeDeadlineSeconds of the pod, and keeps the pod for its logs.
		deadline = deadline.Add(gracePeriod(o.At)).Add(stopGrace)
	}
	if o.Now.Before(deadline) {
		d.plan.RequeueAt = deadline
		return
	}
	// The cache can lag so much that this pod has failed in the meantime and has been retried.
	if d.run.attempt < o.backoffLimit() && d.needsLookup(o, d.run.attempt+1) {
		return
	}
	// Row 4 deletes the pod after this is recorded. A crash after an earlier deletion would leave no trace of the run.
	d.done(o, end{reason: cnatv1alpha1.ReasonDeadlineExceeded, message: deadlineMessage(o.At)})
}

// ended decides the rows of an At whose newest pod has ended. next is when the next attempt is due, if there is one.
func (d *decision) ended(o Observation, e end, next time.Time) {
	limit, deadline := o.backoffLimit(), d.run.deadline(o.At)
	// The reason DeadlineExceeded of the pod is not sufficient: the template may set a shorter deadline for each pod.
	deadlineOver := !deadline.IsZero() && !o.Now.Before(deadline)
	retriesLeft := d.run.attempt < limit && e.retryable
	switch {
	case e.succeeded():
		d.done(o, e)
		return
	case (retriesLeft && deadlineOver || !retriesLeft && !d.run.retry.IsZero()) && d.needsLookup(o, d.run.attempt+1):
		return
	case deadlineOver && (retriesLeft || e.byDeadline):
		e.message = deadlineMessage(o.At) + "; last attempt: " + e.message
		e.reason = cnatv1alpha1.ReasonDeadlineExceeded
		d.done(o, e)
		return
	case !retriesLeft:
		if d.run.attempt < limit {
			e.message += "; it is not retried, because the command may have succeeded, or may still run"
		}
		d.done(o, e)
		return
	}
	d.retry = next
	if o.paused() {
		d.started(o, fmt.Sprintf("attempt %d of %d failed: %s; the annotation %s pauses the At before the next one",
			d.run.attempt+1, limit+1, e.reason, cnatv1alpha1.AnnotationPaused))
		return
	}
	if !deadline.IsZero() {
		d.plan.requeue(deadline)
	}
	d.started(o, fmt.Sprintf("attempt %d of %d failed: %s; the next one is due at %s", d.run.attempt+1, limit+1, e.reason, formatTime(next)))
	if o.Now.Before(next) {
		d.plan.requeue(next)
		return
	}
	if !d.unusable(o) {
		d.create(o, d.run.attempt+1)
	}
}

// create decides the rows of an attempt that is due.
func (d *decision) create(o Observation, attempt int) {
	name := PodName(o.At, attempt)
	conflicting := o.conflicting
	switch {
	case conflicting != nil && conflicting.Name == name && isOfOlderAt(o.At, conflicting):
		d.notScheduled(cnatv1alpha1.ReasonNameTaken, fmt.Sprintf("pod %s belongs to an older At of this name: the At starts when the pod is gone", name))
		d.temporary = true
		d.plan.requeue(o.Now.Add(nameCollisionRetry))
	case conflicting != nil && conflicting.Name == name:
		d.done(o, end{reason: cnatv1alpha1.ReasonPodNameConflict, message: fmt.Sprintf(
			"pod %s exists and does not belong to this At: the operator does not touch it; delete the pod, or choose another name, and create the At again", name)})
	case o.createError != nil:
		d.notScheduled(cnatv1alpha1.ReasonFailedCreate, o.createError.Error())
		d.temporary = true
	case o.Rejection != nil:
		reason := cnatv1alpha1.ReasonFailedCreate
		if o.Rejection.Invalid {
			reason = cnatv1alpha1.ReasonInvalidTemplate
		}
		d.notScheduled(reason, o.Rejection.Message)
		if o.Now.Before(o.Rejection.Until) {
			d.plan.requeue(o.Rejection.Until)
			return
		}
		fallthrough
	default:
		d.plan, d.creates, d.attempt = Plan{}, true, attempt
	}
}

// needsLookup tells whether the pod of an attempt must be looked up before a decision may depend on its absence from the
// cache, and requests the lookup. It returns false if the API server has already said that the pod does not exist.
func (d *decision) needsLookup(o Observation, attempt int) bool {
	name := PodName(o.At, attempt)
	if o.Absent.Has(name) {
		return false
	}
	d.lookup, d.unchanged, d.plan = name, true, Plan{}
	return true
}

// unusable tells whether no pod can be created from the command or the template, and reports the reason.
func (d *decision) unusable(o Observation) bool {
	if problem := commandProblem(&o.At.Spec); problem != "" {
		d.notScheduled(cnatv1alpha1.ReasonInvalidCommand, problem)
		return true
	}
	if problem := templateProblem(&o.At.Spec); problem != "" {
		d.notScheduled(cnatv1alpha1.ReasonInvalidTemplate, problem)
		return true
	}
	return false
}

// done records how the At ended.
func (d *decision) done(o Observation, e end) {
	if e.finished.IsZero() || e.finished.Before(d.run.start) || e.finished.After(o.Now) { // The clock of a node may be wrong.
		e.finished = o.Now
	}
	if d.run.newest != nil || d.run.recorded {
		d.started(o, "the command was started")
	} else {
		d.notScheduled(e.reason, e.message)
	}
	d.phase, d.end = cnatv1alpha1.PhaseDone, e
	d.plan.RequeueAt = time.Time{}
}

// deletePod deletes the newest pod unless it is terminating or has ended. A pod that the cache does not show yet is deleted
// when it does.
func (d *decision) deletePod(o Observation) {
	pod := d.run.newest
	if pod == nil || pods.IsTerminating(pod, o.Deleted) || pods.IsFinished(pod) || o.Unseen.Has(pod.UID) {
		return
	}
	d.plan.Delete = []*corev1.Pod{pod}
}
