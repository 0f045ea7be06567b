// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

const (
	// nameTakenRetry is how often the name of an older At's pod is tried. The garbage collector removes that pod, mostly
	// within seconds.
	nameTakenRetry = 10 * time.Second
	// stopGrace is what the kubelet is given, beyond the pod's own grace period, to stop a running pod whose time is over
	// before the pod is deleted, which costs its logs.
	stopGrace = 10 * time.Second
)

// verdict is the row of the state table that an At is in: what to do, and what its status says.
type verdict struct {
	plan Plan
	run  run
	// unchanged: the status stays as it is, since what would change it is not certain.
	unchanged bool
	phase     cnatv1alpha1.Phase
	// scheduled is the condition Scheduled: status, reason, message.
	scheduled metav1.Condition
	// retry is when the next attempt is due, once the newest one has failed.
	retry time.Time
	// end is how the At ended, once phase is DONE.
	end end
}

// judge finds the row. Its cases are in the order of the table in doc.go.
func judge(o Observation) verdict {
	v := verdict{run: o.runOf(), phase: cnatv1alpha1.PhasePending}
	switch {
	case o.At.DeletionTimestamp != nil:
		v.unchanged = true // row 1
	case isFinished(&o.At.Status):
		v.finished(o)
	case v.run.lost && v.lookup(o, max(int(o.At.Status.Attempts)-1, 0)):
	case v.run.lost:
		v.done(o, end{reason: cnatv1alpha1.ReasonPodLost, message: "the pod of the run is gone and its end was not seen: " +
			"the command is not run again; create another At to do so"})
	case v.run.newest != nil:
		v.phase = cnatv1alpha1.PhaseRunning
		v.running(o)
	case !v.run.retry.IsZero():
		v.phase = cnatv1alpha1.PhaseRunning
		v.ended(o, end{reason: cnatv1alpha1.ReasonPodFailed, message: fmt.Sprintf(
			"pod %s failed and was deleted before the next attempt", o.At.Status.PodName)}, v.run.retry)
	default:
		v.waiting(o)
	}
	return v
}

// finished is rows 2 to 4.
func (v *verdict) finished(o Observation) {
	s := &o.At.Status
	v.phase = cnatv1alpha1.PhaseDone
	if o.paused() {
		return
	}
	// The deletion that went with this verdict may have failed, or the process crashed in between.
	if s.Reason == cnatv1alpha1.ReasonDeadlineExceeded {
		v.stop(o)
	}
	if ttl := o.At.Spec.TTLSecondsAfterFinished; ttl != nil {
		v.plan.WakeAt = s.CompletionTime.Add(seconds(int64(*ttl)))
		v.plan.DeleteAt = !o.Now.Before(v.plan.WakeAt)
	}
}

// waiting is the rows of an At that has not started.
func (v *verdict) waiting(o Observation) {
	due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time)
	if err != nil {
		v.hold(cnatv1alpha1.ReasonInvalidSchedule, err.Error())
		return
	}
	switch {
	case v.unusable(o):
	case o.paused():
		v.hold(cnatv1alpha1.ReasonPaused, "the annotation "+cnatv1alpha1.AnnotationPaused+" holds the At: remove it to go on")
	case ptr.Deref(o.At.Spec.Suspend, false):
		v.hold(cnatv1alpha1.ReasonSuspended, "spec.suspend holds the At: set it to false to go on")
	case o.Now.Before(due):
		v.ready(due)
		v.plan.WakeAt = due
	default:
		v.ready(due)
		v.due(o, due)
	}
}

// due is the rows of an At whose time has come.
func (v *verdict) due(o Observation, due time.Time) {
	if deadline := o.At.Spec.StartingDeadlineSeconds; deadline != nil {
		// Whole seconds of lateness count, as everything in the API is in seconds: with 0, the whole second of the time
		// is in time, since no pod is made in no time.
		missed := due.Add(seconds(*deadline) + time.Second)
		if !o.Now.Before(missed) {
			if v.lookup(o, 0) {
				return
			}
			v.done(o, end{reason: cnatv1alpha1.ReasonMissedDeadline, message: fmt.Sprintf(
				"the At could start only more than %d seconds after %s: it was not run", *deadline, formatTime(due))})
			return
		}
		v.wake(missed)
	}
	v.create(o, 0)
}

// running is the rows of an At that has a pod.
func (v *verdict) running(o Observation) {
	pod := v.run.newest
	deadline := v.run.deadline(o.At)
	if e, ended := endOf(o, pod); ended {
		v.ended(o, e, retryTime(pod, v.run.attempt))
		return
	}
	v.started(o, "pod "+pod.Name+" was made")
	if reason := waitingReason(pod); reason != "" {
		v.started(o, "pod "+pod.Name+" waits: "+reason)
	}
	if deadline.IsZero() || o.paused() {
		return
	}
	if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodUnknown {
		// The kubelet stops it, by the activeDeadlineSeconds of the pod, and keeps it for its logs.
		deadline = deadline.Add(gracePeriod(o.At) + stopGrace)
	}
	if o.Now.Before(deadline) {
		v.plan.WakeAt = deadline
		return
	}
	v.stop(o)
	v.done(o, end{reason: cnatv1alpha1.ReasonDeadlineExceeded, message: deadlineMessage(o.At)})
}

// ended is the rows of an At whose newest pod has ended. The next attempt is due at next, if there is one.
func (v *verdict) ended(o Observation, e end, next time.Time) {
	limit := min(int(ptr.Deref(o.At.Spec.BackoffLimit, 0)), maxBackoffLimit)
	deadline := v.run.deadline(o.At)
	// Only the clock decides: the template may have a deadline of its own, by which the kubelet ends a pod earlier.
	timeIsUp := !deadline.IsZero() && !o.Now.Before(deadline)
	retriesLeft := v.run.attempt < limit
	switch {
	case e.succeeded():
		v.done(o, e)
		return
	case (retriesLeft && timeIsUp || !retriesLeft && !v.run.retry.IsZero()) && v.lookup(o, v.run.attempt+1):
		return
	case timeIsUp && (retriesLeft || e.byDeadline):
		e.message = deadlineMessage(o.At) + "; last, " + e.message
		e.reason = cnatv1alpha1.ReasonDeadlineExceeded
		v.done(o, e)
		return
	case !retriesLeft:
		v.done(o, e)
		return
	}
	v.retry = next
	if o.paused() {
		v.started(o, fmt.Sprintf("attempt %d of %d failed: %s; the annotation %s holds the next one",
			v.run.attempt+1, limit+1, e.reason, cnatv1alpha1.AnnotationPaused))
		return
	}
	if !deadline.IsZero() {
		v.wake(deadline)
	}
	v.started(o, fmt.Sprintf("attempt %d of %d failed: %s; the next one is due at %s", v.run.attempt+1, limit+1, e.reason, formatTime(next)))
	if o.Now.Before(next) {
		v.wake(next)
		return
	}
	if !v.unusable(o) {
		v.create(o, v.run.attempt+1)
	}
}

// create is the rows of an attempt whose time has come.
func (v *verdict) create(o Observation, attempt int) {
	name := PodName(o.At, attempt)
	taken := o.Taken
	switch {
	case taken != nil && taken.Name == name && isOlder(o.At, taken):
		v.hold(cnatv1alpha1.ReasonNameTaken, fmt.Sprintf("pod %s is of an older At of this name: waiting until it is gone", name))
		v.wake(o.Now.Add(nameTakenRetry))
	case taken != nil && taken.Name == name:
		v.done(o, end{reason: cnatv1alpha1.ReasonPodNameConflict, message: fmt.Sprintf(
			"pod %s exists and is not of this At: it was left alone; delete it, or give the At another name, and create the At again", name)})
	case o.Refusal != nil:
		reason := cnatv1alpha1.ReasonFailedCreate
		if o.Refusal.Invalid {
			reason = cnatv1alpha1.ReasonInvalidTemplate
		}
		v.hold(reason, o.Refusal.Message)
		if o.Now.Before(o.Refusal.Until) {
			v.wake(o.Refusal.Until)
			return
		}
		fallthrough
	default:
		v.plan = Plan{Create: newPod(o, v.run, attempt)}
	}
}

// lookup asks the API server for the pod of an attempt, before anything is concluded from its absence in the cache. It
// returns false once the API server has said that there is no such pod.
func (v *verdict) lookup(o Observation, attempt int) bool {
	name := PodName(o.At, attempt)
	if o.Absent.Has(name) {
		return false
	}
	v.unchanged = true
	v.plan = Plan{Lookup: name}
	return true
}

// unusable holds the At when no pod can be made of its command or its template.
func (v *verdict) unusable(o Observation) bool {
	if _, err := SplitCommand(o.At.Spec.Command); err != nil {
		v.hold(cnatv1alpha1.ReasonInvalidCommand, "command: "+err.Error())
		return true
	}
	if problem := templateProblem(o.At.Spec.Template); problem != "" {
		v.hold(cnatv1alpha1.ReasonInvalidTemplate, problem)
		return true
	}
	return false
}

func (v *verdict) hold(reason, message string) {
	v.scheduled = metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func (v *verdict) ready(due time.Time) {
	v.scheduled = metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonWaiting, Message: "runs at " + formatTime(due)}
}

func (v *verdict) started(o Observation, message string) {
	v.scheduled = metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonStarted, Message: message}
	record := &o.At.Status
	if stored := meta.FindStatusCondition(record.Conditions, cnatv1alpha1.ConditionScheduled); stored != nil && stored.Reason == cnatv1alpha1.ReasonEditedTooLate {
		v.scheduled.Reason, v.scheduled.Message = stored.Reason, stored.Message
		return
	}
	// Admission accepts edits until the run is recorded.
	if v.run.newest == nil || v.run.recorded {
		return
	}
	if ran := generationOf(v.run.newest); ran > 0 && ran < o.At.Generation {
		v.scheduled.Reason = cnatv1alpha1.ReasonEditedTooLate
		v.scheduled.Message = fmt.Sprintf("pod %s was created from generation %d of the At: later changes of schedule, command, or template have no effect",
			v.run.newest.Name, ran)
	}
}

func (v *verdict) done(o Observation, e end) {
	if e.at.IsZero() || e.at.After(o.Now) { // The clock of a node may be ahead of ours.
		e.at = o.Now
	}
	if v.run.newest != nil || v.run.recorded {
		v.started(o, "the command was started")
	} else {
		v.hold(e.reason, e.message)
	}
	v.phase, v.end = cnatv1alpha1.PhaseDone, e
	v.plan.WakeAt = time.Time{}
}

// stop deletes the newest pod if it is still there to be stopped.
func (v *verdict) stop(o Observation) {
	pod := v.run.newest
	if pod == nil || o.terminating(pod) || slices.Contains([]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}, pod.Status.Phase) {
		return
	}
	v.plan.Delete = []*corev1.Pod{pod}
}

// wake sets the earliest of several times.
func (v *verdict) wake(at time.Time) {
	if v.plan.WakeAt.IsZero() || at.Before(v.plan.WakeAt) {
		v.plan.WakeAt = at
	}
}

func deadlineMessage(at *cnatv1alpha1.At) string {
	return fmt.Sprintf("the run took longer than %d seconds", ptr.Deref(at.Spec.ActiveDeadlineSeconds, 0))
}
