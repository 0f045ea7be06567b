// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/backoff"
	"github.com/redhat/podset-operator/internal/expectations"
)

const (
	// checkedFor is how long a check that passed allows a start.
	checkedFor = time.Hour
	// lastCheck is how long before its time the pod of an At is checked again.
	lastCheck = 30 * time.Minute
)

// Check is what the API server said last about the pod of a generation of a spec.
type Check struct {
	generation int64
	// at is when the answer arrived, or zero if an earlier process got it.
	at time.Time
	// verdict is the verdict of the answer.
	verdict verdict
	// answer is the answer if it is about the pod of this attempt, from 1, which was about to start. Otherwise attempt is 0.
	answer  *Answer
	attempt int
	// retry delays the next check while the answer is not good.
	retry backoff.Backoff
}

// verdict is what the condition Ready shows about a check. The zero value is that of a pod that the API server accepts.
type verdict struct {
	reason, message string
	// bad is true if the pod would not run.
	bad bool
}

// Answer is the answer of the API server to a dry run of the create of a pod. The zero value accepts the pod.
type Answer struct {
	// Rejection is why the pod would be rejected, or nil.
	Rejection *expectations.Rejection
	// Changed is what admission would change in the identity of the pod: see atrun.Changed.
	Changed string
	// Unknown is the error of an API server or a webhook that said nothing about the pod, or "".
	Unknown string
}

// Holds reports whether an attempt must not start after this answer.
func (a *Answer) Holds() bool { return a != nil && (a.Rejection != nil || a.Changed != "") }

// verdict returns what the condition Ready shows about an answer.
func (a *Answer) verdict(at *cnatv1alpha1.At) verdict {
	switch {
	case a.Changed != "":
		return verdict{cnatv1alpha1.ReasonWouldBeRejected, modifiedMessage("admission would change "+a.Changed, "the At would end as PodModified"), true}
	case a.Rejection != nil && a.Rejection.Invalid && at.Spec.Template != nil:
		return verdict{cnatv1alpha1.ReasonInvalidTemplate, a.Rejection.Message, true}
	case a.Rejection != nil:
		return verdict{cnatv1alpha1.ReasonWouldBeRejected, "the API server would reject the pod now: " + a.Rejection.Message, true}
	case a.Unknown != "":
		return notChecked(a.Unknown)
	}
	return verdict{}
}

// notChecked returns the verdict about a pod that could not be checked.
func notChecked(why string) verdict {
	return verdict{cnatv1alpha1.ReasonNotChecked, "the API server could not check the pod: " + why, false}
}

// storedCheck returns the check of an earlier process that a status shows.
func storedCheck(at *cnatv1alpha1.At) Check {
	o := Observation{At: at}
	ready := o.condition(cnatv1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration != at.Generation {
		return Check{verdict: notChecked("it has not answered yet")}
	}
	c := Check{generation: at.Generation}
	switch ready.Reason {
	case cnatv1alpha1.ReasonWouldBeRejected, cnatv1alpha1.ReasonInvalidTemplate, cnatv1alpha1.ReasonNotChecked:
		c.verdict = verdict{ready.Reason, ready.Message, ready.Status == metav1.ConditionFalse}
	}
	return c
}

// answered returns the check after an answer about the pod of p. The request was sent at began.
func (c Check) answered(a *Answer, p Plan, at *cnatv1alpha1.At, began, now time.Time) Check {
	next := Check{generation: at.Generation, at: now, verdict: a.verdict(at)}
	if p.Start && a.Rejection == nil { // A rejection has its own back-off.
		next.answer, next.attempt = a, p.attempt+1
	}
	if next.verdict != (verdict{}) {
		next.retry = c.retry.Next(began, now, backoff.FailedCheck)
	}
	return next
}

// ofStart returns the answer about an attempt that was about to start within the last minute, or nil if there is none. The write that
// followed it failed, so the attempt is about to start again.
func (c Check) ofStart(attempt int, now time.Time) *Answer {
	if c.attempt != attempt+1 || now.Sub(c.at) >= backoff.FailedCheck.First {
		return nil
	}
	return c.answer
}

// passed reports whether an attempt may start at now without another check.
func (c Check) passed(now time.Time) bool {
	return c.verdict == (verdict{}) && !c.at.IsZero() && now.Sub(c.at) < checkedFor
}

// next returns when the pod of an At that waits is checked next, or zero if the last answer is good until the At starts.
func (c Check) next(o *Observation) time.Time {
	due, err := o.dueTime()
	switch {
	case c.generation != o.At.Generation:
		return o.Now
	case c.verdict != (verdict{}) && c.at.IsZero(): // An earlier process got the answer.
		return o.Now
	case c.verdict != (verdict{}):
		return c.retry.Until
	case err != nil || o.isSuspended() || c.at.After(due.Add(-checkedFor)):
		return time.Time{}
	}
	return due.Add(-lastCheck)
}
