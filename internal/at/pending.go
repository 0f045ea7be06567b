// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/pods"
)

// canceled ends an At before its start.
func canceled(o *Observation) (Plan, bool) {
	return o.finish(canceledEnd(atrun.End{})), o.isCanceled()
}

// unusable waits for an edit if the spec cannot produce a pod.
func unusable(o *Observation) (Plan, bool) {
	if _, err := o.dueTime(); err != nil {
		return o.wait(notScheduled(cnatv1alpha1.ReasonInvalidSchedule, err.Error()), time.Time{}), true
	}
	if problem := atspec.CommandProblem(&o.At.Spec); problem != "" {
		return o.wait(notScheduled(cnatv1alpha1.ReasonInvalidCommand, problem), time.Time{}), true
	}
	if problem := atspec.TemplateProblem(&o.At.Spec); problem != "" {
		return o.wait(notScheduled(cnatv1alpha1.ReasonInvalidTemplate, problem), time.Time{}), true
	}
	return Plan{}, false
}

// suspended waits until the user resumes the At.
func suspended(o *Observation) (Plan, bool) {
	s := notScheduled(cnatv1alpha1.ReasonSuspended, "spec.suspend is true: set it to false to continue")
	return o.checked(o.wait(s, time.Time{})), o.isSuspended()
}

// beforeDue waits until the At is due.
func beforeDue(o *Observation) (Plan, bool) {
	due, _ := o.dueTime()
	return o.checked(o.wait(waiting(due), due)), o.Now.Before(due)
}

// checked adds the answer of the API server about the pod to the plan of an At that waits, and requests a check if one is due.
func (o *Observation) checked(p Plan) Plan {
	p.waits = true
	p.scheduled.check = o.Check.verdict
	if at := o.Check.next(o); !at.IsZero() && !o.Now.Before(at) {
		p.Check = newPod(o, 0)
	}
	return p
}

// missed ends an At that could not start in time.
func missed(o *Observation) (Plan, bool) {
	if !o.hasMissed() {
		return Plan{}, false
	}
	due, _ := o.dueTime()
	return o.finish(atrun.End{Reason: cnatv1alpha1.ReasonMissedDeadline, Message: atrun.JoinNonEmpty(": ", fmt.Sprintf(
		"startingDeadlineSeconds (%d) exceeded: the command was due at %s and was not run", *o.At.Spec.StartingDeadlineSeconds, formatTime(due)),
		missedCause(o))}), true
}

// hasMissed reports whether an At has missed its starting deadline. An At in a namespace that is being deleted never misses it.
func (o *Observation) hasMissed() bool {
	at := o.missedAt()
	return !at.IsZero() && !o.Now.Before(at) && (o.Rejection == nil || !o.Rejection.NamespaceTerminating)
}

// missedAt returns when an At has missed its starting deadline, or zero if it has none. API times have whole seconds, and creating a pod
// takes time. With a deadline of 0, the At may therefore start until the end of the second in which it is due.
func (o *Observation) missedAt() time.Time {
	deadline := o.At.Spec.StartingDeadlineSeconds
	if deadline == nil {
		return time.Time{}
	}
	due, _ := o.dueTime()
	return due.Add(atspec.Seconds(*deadline) + time.Second)
}

// olderRun waits while a pod of a deleted At of this name exists: its command may still run.
func olderRun(o *Observation) (Plan, bool) {
	if o.Older == nil {
		return Plan{}, false
	}
	return o.wait(nameTaken(o.Older), pods.Earliest(o.Now, o.missedAt(), o.Now.Add(nameCollisionRetry))), true
}

// dueRun starts the first attempt.
func dueRun(o *Observation) (Plan, bool) {
	due, _ := o.dueTime()
	return o.start(0, waiting(due)), true
}

// start returns the plan to record the start of an attempt, or to wait while the API server rejects its pod. An attempt starts only after a
// check has passed for this generation of the spec, unless the answer said nothing about the pod.
func (o *Observation) start(attempt int, s scheduled) Plan {
	p, blocked := o.whileRejected(attempt, s)
	if blocked {
		return p
	}
	p.Start, p.attempt = true, attempt
	p.Answer = o.Check.ofStart(attempt, o.Now)
	if p.Answer == nil && (attempt > 0 || !o.Check.passed(o.Now)) {
		p.Check = newPod(o, attempt)
	}
	return p
}

// whileRejected returns the plan to wait for the deadline of an attempt, and true if the back-off after a rejection is not over.
func (o *Observation) whileRejected(attempt int, s scheduled) (Plan, bool) {
	until := o.deadline()
	if attempt == 0 && !o.hasMissed() {
		until = o.missedAt()
	}
	if until.Before(o.Now) {
		until = time.Time{}
	}
	if o.Rejection == nil {
		return o.wait(s, until), false
	}
	p := o.wait(o.rejected(o.Rejection), pods.Earliest(o.Now, until, o.Rejection.Until))
	return p, o.Now.Before(o.Rejection.Until)
}
