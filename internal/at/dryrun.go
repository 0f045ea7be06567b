// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/backoff"
	"github.com/redhat/podset-operator/internal/expectations"
)

const (
	// lastDryRun is how long before its time the pod of an At is sent as a dry run again.
	lastDryRun = 30 * time.Minute
	// noDryRun is how long before its time an At is not checked anymore: its create follows soon, and says the same.
	noDryRun = 10 * time.Second
)

// Answer is the answer of the API server to a dry run of the create of a pod. The zero value accepts the pod.
type Answer struct {
	// Rejection is why the pod would be rejected, or nil. Budget is why its budget would be, or "".
	Rejection *expectations.Rejection
	Budget    string
	// Modified is what admission would change in the identity of the pod: see proof.Modified. Ungated is true if it
	// would remove the gate.
	Modified string
	Ungated  bool
	// Warnings are the warnings of the API server, and what admission changed that may end the run earlier.
	Warnings []string
	// Unknown is the error of an API server or a webhook that said nothing about the pod, or "".
	Unknown string
}

// say returns what the condition Ready says about an answer, or the zero value if the API server accepts the pod
// without a word.
func (a *Answer) say(v *View) say {
	would := func(what string) say { return say{cnatv1alpha1.ReasonWouldBeRejected, what} }
	switch {
	case a.Modified != "":
		return would("admission would change " + a.Modified + ": the At would end as PodModified. " + excludePods)
	case a.Rejection != nil && a.Rejection.Exists:
		return say{cnatv1alpha1.ReasonPodNameConflict, a.Rejection.Message}
	case a.Rejection != nil && a.Rejection.Invalid && v.At.Spec.Template != nil:
		return say{cnatv1alpha1.ReasonInvalidTemplate, a.Rejection.Message}
	case a.Rejection != nil:
		return would("the API server would reject the pod now: " + a.Rejection.Message)
	case a.Budget != "":
		return would("the API server would reject the PodDisruptionBudget of spec.uninterrupted now: " + a.Budget)
	case a.Unknown != "":
		return notChecked(a.Unknown)
	case v.predecessorPod != nil:
		return say{cnatv1alpha1.ReasonAdmissionWarning, nameTaken(v.predecessorPod).message}
	case len(a.Warnings) > 0:
		return say{cnatv1alpha1.ReasonAdmissionWarning, "the API server accepts the pod, with a warning: " + strings.Join(a.Warnings, "; ")}
	}
	return say{}
}

func notChecked(why string) say {
	return say{cnatv1alpha1.ReasonNotChecked, "the API server could not check the pod: " + why}
}

// isBad reports whether an answer makes the At not Ready.
func (s say) isBad() bool { return s.reason != "" && Reasons[s.reason].Ready != metav1.ConditionTrue }

// dryRun is what the API server said last about the pod of a generation of a spec.
type dryRun struct {
	generation int64
	// when is when the answer arrived, or zero if an earlier process got it or there is none.
	when time.Time
	says say
	// ungated is true if admission would remove the gate of the pod.
	ungated bool
	// retry delays the next dry run while the answer is not good.
	retry backoff.Backoff
}

// of returns the last dry run of the present spec. If this process has none, the status shows what an earlier process
// got.
func (d dryRun) of(at *cnatv1alpha1.At) dryRun {
	if d.generation == at.Generation {
		return d
	}
	v := View{At: at}
	ready := v.condition(cnatv1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration != at.Generation {
		return dryRun{says: notChecked("the dry run of the pod has not been answered yet")}
	}
	switch ready.Reason {
	case cnatv1alpha1.ReasonWouldBeRejected, cnatv1alpha1.ReasonNotChecked, cnatv1alpha1.ReasonAdmissionWarning,
		cnatv1alpha1.ReasonInvalidTemplate, cnatv1alpha1.ReasonPodNameConflict:
		return dryRun{generation: at.Generation, says: say{ready.Reason, ready.Message}}
	}
	return dryRun{generation: at.Generation}
}

// answered returns the dry run after the answer of this pass.
func (d dryRun) answered(v *View) dryRun {
	next := dryRun{generation: v.At.Generation, when: v.Now, says: v.answers.DryRun.say(v), ungated: v.answers.DryRun.Ungated}
	if next.says.reason != "" {
		next.retry = d.retry.Next(v.Now, v.Now, backoff.FailedDryRun)
	}
	return next
}

// next returns when the dry run is sent again, or zero if the last answer is good until the pod is created.
func (d dryRun) next(v *View) time.Time {
	due, err := v.dueTime()
	switch {
	case err == nil && !v.isSuspended() && v.Now.After(due.Add(-noDryRun)):
		return time.Time{}
	case d.generation != v.At.Generation, d.says.reason != "" && d.when.IsZero():
		return v.Now
	case d.says.reason != "":
		return d.retry.Until
	case err != nil || v.isSuspended() || d.when.After(due.Add(-time.Hour)):
		return time.Time{}
	}
	return due.Add(-lastDryRun)
}

// checked adds the last answer about the pod to the step of an At that waits until a time, or for a user if it is zero,
// and asks for another one when that is due.
func (v *View) checked(s Step, until time.Time) Step {
	next := v.dryRun.next(v)
	switch {
	case v.answers.DryRunLater > 0:
		next = v.Now.Add(v.answers.DryRunLater)
	case v.answers.DryRun == nil && hasPassed(next, v.Now):
		return ask(v.question())
	}
	isUnchecked := next.IsZero() && v.dryRun.generation != v.At.Generation
	if says := v.dryRun.says; says.reason != "" && !isUnchecked {
		s.ready = says
		if !says.isBad() {
			s.ready.message = proof.JoinNonEmpty("; ", s.scheduled.message, says.message)
		}
	}
	s = s.at(until).at(next)
	s.CanWait = !next.IsZero() && s.requeueAt.Equal(next)
	return s
}

// question returns the dry run of the pod of the first attempt.
func (v *View) question() Ask {
	question := Ask{DryRun: newPod(v, 0)}
	if v.isUninterrupted() {
		question.Budget = newBudget(v.At)
	}
	return question
}
