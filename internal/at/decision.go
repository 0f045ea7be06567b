// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// nameTakenRetry is how often the name of an older At's pod is tried. The garbage collector removes that pod, mostly
	// within seconds.
	nameTakenRetry = 10 * time.Second
	// stopGrace is what the kubelet is given, beyond the pod's own grace period, to stop a running pod whose time is over
	// before the pod is deleted, which costs its logs.
	stopGrace = 10 * time.Second
)

// decision is the row of the state table that an At is in: what to do, and what its status says.
type decision struct {
	plan Plan
	run  run
	// lookup is the name of a pod that must be looked up before anything can be decided; "": none.
	lookup string
	// unchanged says that the status stays as it is, since what would change it is not certain.
	unchanged bool
	phase     cnatv1alpha1.Phase
	// scheduled is the condition Scheduled: status, reason, message.
	scheduled metav1.Condition
	// retry is when the next attempt is due, once the newest one has failed.
	retry time.Time
	// end is how the At ended, once phase is DONE.
	end end
}

// decide finds the row. Its cases are in the order of the table in doc.go.
func decide(o Observation) decision {
	d := decision{run: o.runOf(), phase: cnatv1alpha1.PhasePending}
	switch {
	case o.At.DeletionTimestamp != nil:
		d.unchanged = true // row 1
	case isFinished(&o.At.Status):
		d.finished(o)
	case d.run.lost && d.mustLookUp(o, max(int(o.At.Status.Attempts)-1, 0)):
	case d.run.lost:
		d.done(o, end{reason: cnatv1alpha1.ReasonPodLost, message: "the pod of the run is gone and its end was not seen: " +
			"the command is not run again; create another At to do so"})
	case d.run.newest != nil:
		d.phase = cnatv1alpha1.PhaseRunning
		d.running(o)
	case !d.run.retry.IsZero():
		d.phase = cnatv1alpha1.PhaseRunning
		d.ended(o, end{reason: cnatv1alpha1.ReasonPodFailed, message: fmt.Sprintf(
			"pod %s failed and was deleted before the next attempt", o.At.Status.PodName)}, d.run.retry)
	default:
		d.waiting(o)
	}
	return d
}

// finished is rows 2 to 4.
func (d *decision) finished(o Observation) {
	s := &o.At.Status
	d.phase = cnatv1alpha1.PhaseDone
	if o.paused() {
		return
	}
	if s.Reason == cnatv1alpha1.ReasonDeadlineExceeded {
		d.stop(o)
	}
	if ttl := o.At.Spec.TTLSecondsAfterFinished; ttl != nil {
		d.plan.RequeueAt = s.CompletionTime.Add(seconds(int64(*ttl)))
		d.plan.DeleteAt = !o.Now.Before(d.plan.RequeueAt)
	}
}

// waiting is the rows of an At that has not started.
func (d *decision) waiting(o Observation) {
	due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time)
	if err != nil {
		d.hold(cnatv1alpha1.ReasonInvalidSchedule, err.Error())
		return
	}
	switch {
	case d.unusable(o):
	case o.paused():
		d.hold(cnatv1alpha1.ReasonPaused, "the annotation "+cnatv1alpha1.AnnotationPaused+" holds the At: remove it to go on")
	case ptr.Deref(o.At.Spec.Suspend, false):
		d.hold(cnatv1alpha1.ReasonSuspended, "spec.suspend holds the At: set it to false to go on")
	case o.Now.Before(due):
		d.ready(due)
		d.plan.RequeueAt = due
	default:
		d.ready(due)
		d.due(o, due)
	}
}

// due is the rows of an At whose time has come.
func (d *decision) due(o Observation, due time.Time) {
	if deadline := o.At.Spec.StartingDeadlineSeconds; deadline != nil {
		// Whole seconds of lateness count, as everything in the API is in seconds: with 0, the whole second of the time
		// is in time, since no pod is made in no time.
		missed := due.Add(seconds(*deadline) + time.Second)
		if !o.Now.Before(missed) {
			if d.mustLookUp(o, 0) {
				return
			}
			d.done(o, end{reason: cnatv1alpha1.ReasonMissedDeadline, message: fmt.Sprintf(
				"the At could start only more than %d seconds after %s: it was not run", *deadline, formatTime(due))})
			return
		}
		d.requeue(missed)
	}
	d.create(o, 0)
}

// running is the rows of an At that has a pod.
func (d *decision) running(o Observation) {
	pod := d.run.newest
	deadline := d.run.deadline(o.At)
	if e, ended := endOf(o, pod); ended {
		d.ended(o, e, retryTime(pod, d.run.attempt))
		return
	}
	d.started(o, "pod "+pod.Name+" was made")
	if reason := pods.WaitingReason(pod); reason != "" {
		d.started(o, "pod "+pod.Name+" waits: "+reason)
	}
	if deadline.IsZero() || o.paused() {
		return
	}
	if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodUnknown {
		// The kubelet stops it, by the activeDeadlineSeconds of the pod, and keeps it for its logs.
		deadline = deadline.Add(gracePeriod(o.At) + stopGrace)
	}
	if o.Now.Before(deadline) {
		d.plan.RequeueAt = deadline
		return
	}
	// The pod is deleted once this is recorded (row 4). Deleted before that, by an operator that crashes in between, it would
	// leave nothing that tells of its run, and the command would run again.
	d.done(o, end{reason: cnatv1alpha1.ReasonDeadlineExceeded, message: deadlineMessage(o.At)})
}

// ended is the rows of an At whose newest pod has ended. The next attempt is due at next, if there is one.
func (d *decision) ended(o Observation, e end, next time.Time) {
	limit := min(int(ptr.Deref(o.At.Spec.BackoffLimit, 0)), maxBackoffLimit)
	deadline := d.run.deadline(o.At)
	// Only the clock decides: the template may have a deadline of its own, by which the kubelet ends a pod earlier.
	timeIsUp := !deadline.IsZero() && !o.Now.Before(deadline)
	retriesLeft := d.run.attempt < limit
	switch {
	case e.succeeded():
		d.done(o, e)
		return
	case (retriesLeft && timeIsUp || !retriesLeft && !d.run.retry.IsZero()) && d.mustLookUp(o, d.run.attempt+1):
		return
	case timeIsUp && (retriesLeft || e.byDeadline):
		e.message = deadlineMessage(o.At) + "; last, " + e.message
		e.reason = cnatv1alpha1.ReasonDeadlineExceeded
		d.done(o, e)
		return
	case !retriesLeft:
		d.done(o, e)
		return
	}
	d.retry = next
	if o.paused() {
		d.started(o, fmt.Sprintf("attempt %d of %d failed: %s; the annotation %s holds the next one",
			d.run.attempt+1, limit+1, e.reason, cnatv1alpha1.AnnotationPaused))
		return
	}
	if !deadline.IsZero() {
		d.requeue(deadline)
	}
	d.started(o, fmt.Sprintf("attempt %d of %d failed: %s; the next one is due at %s", d.run.attempt+1, limit+1, e.reason, formatTime(next)))
	if o.Now.Before(next) {
		d.requeue(next)
		return
	}
	if !d.unusable(o) {
		d.create(o, d.run.attempt+1)
	}
}

// create is the rows of an attempt that is due.
func (d *decision) create(o Observation, attempt int) {
	name := PodName(o.At, attempt)
	conflicting := o.conflicting
	switch {
	case conflicting != nil && conflicting.Name == name && isOfOlderAt(o.At, conflicting):
		d.hold(cnatv1alpha1.ReasonNameTaken, fmt.Sprintf("pod %s belongs to an older At of this name: the At starts when the pod is gone", name))
		d.requeue(o.Now.Add(nameTakenRetry))
	case conflicting != nil && conflicting.Name == name:
		d.done(o, end{reason: cnatv1alpha1.ReasonPodNameConflict, message: fmt.Sprintf(
			"pod %s exists and does not belong to this At: it was left alone; delete it, or give the At another name, and create the At again", name)})
	case o.Rejection != nil:
		reason := cnatv1alpha1.ReasonFailedCreate
		if o.Rejection.Invalid {
			reason = cnatv1alpha1.ReasonInvalidTemplate
		}
		d.hold(reason, o.Rejection.Message)
		if o.Now.Before(o.Rejection.Until) {
			d.requeue(o.Rejection.Until)
			return
		}
		fallthrough
	default:
		d.plan = Plan{Create: newPod(o, d.run, attempt)}
	}
}

// mustLookUp asks for a lookup of the pod of an attempt with the API server, before anything is concluded from its absence
// in the cache. It returns false once the API server has said that there is no such pod.
func (d *decision) mustLookUp(o Observation, attempt int) bool {
	name := PodName(o.At, attempt)
	if o.Absent.Has(name) {
		return false
	}
	d.lookup, d.unchanged, d.plan = name, true, Plan{}
	return true
}

// unusable holds the At when no pod can be made of its command or its template.
func (d *decision) unusable(o Observation) bool {
	if _, err := SplitCommand(o.At.Spec.Command); err != nil {
		d.hold(cnatv1alpha1.ReasonInvalidCommand, "command: "+err.Error())
		return true
	}
	if problem := templateProblem(o.At.Spec.Template); problem != "" {
		d.hold(cnatv1alpha1.ReasonInvalidTemplate, problem)
		return true
	}
	return false
}

func (d *decision) hold(reason, message string) {
	d.scheduled = metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func (d *decision) ready(due time.Time) {
	d.scheduled = metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonWaiting, Message: "runs at " + formatTime(due)}
}

func (d *decision) started(o Observation, message string) {
	d.scheduled = metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonStarted, Message: message}
	record := &o.At.Status
	if stored := meta.FindStatusCondition(record.Conditions, cnatv1alpha1.ConditionScheduled); stored != nil && stored.Reason == cnatv1alpha1.ReasonEditedTooLate {
		d.scheduled.Reason, d.scheduled.Message = stored.Reason, stored.Message
		return
	}
	// Admission accepts edits until the run is recorded.
	if d.run.newest == nil || d.run.recorded {
		return
	}
	if ran := generationOf(d.run.newest); ran > 0 && ran < o.At.Generation {
		d.scheduled.Reason = cnatv1alpha1.ReasonEditedTooLate
		d.scheduled.Message = fmt.Sprintf("pod %s was created from generation %d of the At: later changes of schedule, command, or template have no effect",
			d.run.newest.Name, ran)
	}
}

func (d *decision) done(o Observation, e end) {
	if e.finished.IsZero() || e.finished.After(o.Now) { // The clock of a node may be ahead of ours.
		e.finished = o.Now
	}
	if d.run.newest != nil || d.run.recorded {
		d.started(o, "the command was started")
	} else {
		d.hold(e.reason, e.message)
	}
	d.phase, d.end = cnatv1alpha1.PhaseDone, e
	d.plan.RequeueAt = time.Time{}
}

// stop deletes the newest pod if it is still there to be stopped.
func (d *decision) stop(o Observation) {
	pod := d.run.newest
	if pod == nil || o.isTerminating(pod) || pods.IsFinished(pod) {
		return
	}
	d.plan.Delete = []*corev1.Pod{pod}
}

// requeue asks for a reconcile at a time; the earliest one counts.
func (d *decision) requeue(at time.Time) {
	if d.plan.RequeueAt.IsZero() || at.Before(d.plan.RequeueAt) {
		d.plan.RequeueAt = at
	}
}

func deadlineMessage(at *cnatv1alpha1.At) string {
	return fmt.Sprintf("the run took longer than %d seconds", ptr.Deref(at.Spec.ActiveDeadlineSeconds, 0))
}
