// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
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

// nameCollisionRetry is the interval at which a create is retried while a pod of an older At has the name. The garbage
// collector removes that pod, usually within seconds.
const nameCollisionRetry = 10 * time.Second

// after returns the decision after its create or its check had an outcome (rows 23 to 26).
func (d decision) after(o Observation, outcome Outcome) decision {
	switch {
	case d.checks && outcome.Invalid != "":
		d.scheduled = notScheduled(cnatv1alpha1.ReasonInvalidTemplate, outcome.Invalid)
	case !d.creates:
		return d
	case outcome.Conflicting != nil && isOfOlderAt(o.At, outcome.Conflicting):
		d.scheduled = notScheduled(cnatv1alpha1.ReasonNameTaken, fmt.Sprintf("pod %s belongs to an older At of this name: the At starts when the pod is gone", outcome.Conflicting.Name))
		d.scheduled.temporary = true
		d.requeueAt = pods.Earliest(d.requeueAt, o.Now.Add(nameCollisionRetry))
	case outcome.Conflicting != nil:
		return finish(o, end{reason: cnatv1alpha1.ReasonPodNameConflict, message: fmt.Sprintf(
			"pod %s exists and does not belong to this At: the operator does not touch it; delete the pod, or choose another name, and create the At again", outcome.Conflicting.Name)})
	case outcome.Rejected != nil:
		d.scheduled = rejected(expectations.NewRejection(outcome.Rejected))
	case outcome.CreateError != nil:
		d.scheduled = notScheduled(cnatv1alpha1.ReasonFailedCreate, outcome.CreateError.Error())
		d.scheduled.temporary = true
	}
	return d
}
