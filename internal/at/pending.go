// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

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
