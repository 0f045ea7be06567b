// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// Plan is the decision of the first row of the state table that applies. It is immutable. Carrying it out needs no further decision.
type Plan struct {
	// LookUp are the names of the pods that must be read from the API server before a decision. The caller then repeats the observation
	// with the answers.
	LookUp []string
	// Check is a pod that the API server checks without creating it, or nil if there is none.
	Check *corev1.Pod
	// Answer is the answer about the pod of the attempt if it is known already, or nil.
	Answer *Answer
	// Start is true if the start of an attempt is to be recorded, unless the answer to Check holds it. The next plan creates its pod.
	Start bool
	// Create is the pod to create, or nil if there is none.
	Create *corev1.Pod
	// Delete is the pod to delete, or nil if there is none.
	Delete *corev1.Pod
	// DeleteAt is true if the At itself is to be deleted: its ttlSecondsAfterFinished have passed.
	DeleteAt bool

	// unchanged is true if the status does not change.
	unchanged bool
	phase     cnatv1alpha1.Phase
	scheduled scheduled
	// retry is when the next attempt is due, or zero unless the newest one has failed.
	retry time.Time
	// end is how the At ended, or nil if it has not.
	end *atrun.End
	// exitCode and output are those of the command of an attempt that ended, if the At continues.
	exitCode *int32
	output   string
	// attempt is the number of the attempt that Start records.
	attempt int
	// requeueAt is when to decide again although nothing has changed, or zero if that is not needed.
	requeueAt time.Time
	// waits is true if the At waits for its time or for a user. Its pod is then checked from time to time.
	waits bool
}

// row is one row of the state table, or several that share their condition. It returns false if it does not apply.
type row func(*Observation) (Plan, bool)

// table has the rows in the order of doc.go.
var table = []row{
	whileDeleted,    // 1
	afterEnd,        // 2 and 3
	changedPod,      // 4
	betweenAttempts, // 5 to 8
	missingPod,      // 9 to 11
	lostPod,         // 12 and 13
	stoppedRun,      // 14
	liveRun,         // 15
	endedRun,        // 16 to 20
	canceled,        // 21
	unusable,        // 22
	suspended,       // 23
	beforeDue,       // 24
	missed,          // 25
	olderRun,        // 26
	dueRun,          // 27
}

// MakePlan returns the plan of the first row that applies.
func MakePlan(o Observation) Plan {
	if len(o.unconfirmed) > 0 {
		return Plan{LookUp: o.unconfirmed, unchanged: true}
	}
	for _, row := range table {
		if p, applies := row(&o); applies {
			return p
		}
	}
	return Plan{unchanged: true} // unreachable: dueRun always applies
}

// lookUp returns the plan to look up a pod, because the next decision depends on its absence. It returns false if the API server has
// already been asked.
func (o *Observation) lookUp(name string) (Plan, bool) {
	_, asked := o.LookedUp[name]
	return Plan{LookUp: []string{name}, unchanged: true}, !asked
}

// finish returns the plan for an At that is done.
func (o *Observation) finish(e atrun.End) Plan {
	if e.Finished.IsZero() || e.Finished.Before(o.startTime()) || e.Finished.After(o.Now) { // The clock of a node may be wrong.
		e.Finished = o.Now
	}
	p := Plan{phase: cnatv1alpha1.PhaseDone, end: &e, scheduled: notScheduled(e.Reason, e.Message)}
	if o.run().uid != "" {
		p.scheduled = started("the pod was created")
	}
	return p
}

// wait returns the plan to wait in the phase of the run, until requeueAt if it is not zero.
func (o *Observation) wait(s scheduled, requeueAt time.Time) Plan {
	p := Plan{phase: cnatv1alpha1.PhasePending, scheduled: s, requeueAt: requeueAt}
	if o.run().uid != "" || o.run().attempt > 0 {
		p.phase = cnatv1alpha1.PhaseRunning
	}
	return p
}

// canceledEnd returns the end of an At that was canceled after an attempt ended with e. The zero end is that of an At without a pod.
func canceledEnd(e atrun.End) atrun.End {
	e.Message = atrun.JoinNonEmpty("; ", "the At was canceled by spec.cancel", e.Message)
	e.Reason = cnatv1alpha1.ReasonCanceled
	return e
}

// deadlineEnd returns the end of an At whose run exceeded its deadline after an attempt ended with e.
func (o *Observation) deadlineEnd(e atrun.End) atrun.End {
	e.Message = atrun.JoinNonEmpty("; last attempt: ", fmt.Sprintf("activeDeadlineSeconds (%d) exceeded", *o.At.Spec.ActiveDeadlineSeconds), e.Message)
	e.Reason = cnatv1alpha1.ReasonDeadlineExceeded
	return e
}

// nameCollisionRetry is the interval between creates while a pod of an older At has the name. The garbage collector usually removes that
// pod within seconds.
const nameCollisionRetry = 10 * time.Second

// after returns the plan after its check or its create has an outcome (rows 28 to 32).
func (p Plan) after(o *Observation, outcome Outcome) Plan {
	switch {
	case outcome.Answer != nil && !p.Start: // 23 and 24
		p.scheduled.check = outcome.Answer.verdict(o.At)
	case outcome.Answer != nil && outcome.Answer.Changed != "": // 28
		return o.finish(modifiedEnd(outcome.Answer.Changed, "no pod was created"))
	case outcome.Changed != "" && outcome.Created == nil: // 28
		return o.finish(modifiedEnd(outcome.Changed, "a pod with that name already exists and is not changed"))
	case outcome.Conflicting != nil && atrun.IsOfOlderAt(o.At, outcome.Conflicting): // 29
		p.scheduled = nameTaken(outcome.Conflicting)
		p.requeueAt = pods.Earliest(o.Now, p.requeueAt, o.Now.Add(nameCollisionRetry))
	case outcome.Conflicting != nil: // 30
		return o.finish(atrun.End{Reason: cnatv1alpha1.ReasonPodNameConflict, Message: fmt.Sprintf(
			"pod %s already exists and does not belong to this At: delete the pod or choose another name, then create the At again", outcome.Conflicting.Name)})
	case outcome.Rejected != nil: // 31
		p.scheduled = o.rejected(expectations.NewRejection(outcome.Rejected))
	case outcome.CreateError != nil: // 32
		p.scheduled = notScheduled(cnatv1alpha1.ReasonFailedCreate, outcome.CreateError.Error())
		p.scheduled.temporary = true
	}
	return p
}
