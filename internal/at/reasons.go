// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// say is the reason and the message of a condition.
type say struct{ reason, message string }

// Verdict is what a reason means for the conditions and the events of an At.
type Verdict struct {
	// Scheduled and Ready are the statuses of the two conditions. Scheduled is empty for a reason that only Ready has.
	Scheduled, Ready metav1.ConditionStatus
	// Stalled is true if the At cannot proceed without a change by a user or an administrator.
	Stalled bool
	// Event is the reason of the warning that follows when an At gets this reason, or "".
	Event string
}

const (
	yes = metav1.ConditionTrue
	no  = metav1.ConditionFalse
)

// Reasons maps each reason to its meaning. docs/reference.md has the same table.
var Reasons = map[string]Verdict{
	cnatv1alpha1.ReasonWaiting:              {Scheduled: yes, Ready: yes},
	cnatv1alpha1.ReasonSuspended:            {Scheduled: no, Ready: yes},
	cnatv1alpha1.ReasonNotChecked:           {Ready: yes},
	cnatv1alpha1.ReasonAdmissionWarning:     {Ready: yes, Event: cnatv1alpha1.ReasonAdmissionWarning},
	cnatv1alpha1.ReasonWouldBeRejected:      {Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonWouldBeRejected},
	cnatv1alpha1.ReasonInvalidSchedule:      {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonInvalidSchedule},
	cnatv1alpha1.ReasonInvalidCommand:       {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonInvalidCommand},
	cnatv1alpha1.ReasonInvalidTemplate:      {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonInvalidTemplate},
	cnatv1alpha1.ReasonFailedCreate:         {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonFailedCreate},
	cnatv1alpha1.ReasonRequestFailed:        {Scheduled: no, Ready: no, Event: cnatv1alpha1.ReasonRequestFailed},
	cnatv1alpha1.ReasonNameTaken:            {Scheduled: no, Ready: no, Event: cnatv1alpha1.ReasonNameTaken},
	cnatv1alpha1.ReasonPodNameConflict:      {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonPodNameConflict},
	cnatv1alpha1.ReasonNamespaceTerminating: {Scheduled: no, Ready: no, Stalled: true}, // The API server rejects events in it.
	cnatv1alpha1.ReasonStarted:              {Scheduled: yes},
	cnatv1alpha1.ReasonFailedStart:          {Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonFailedStart},
	cnatv1alpha1.ReasonRunning:              {Ready: no},
	cnatv1alpha1.ReasonBackOff:              {Ready: no, Event: cnatv1alpha1.ReasonBackOff},
	cnatv1alpha1.ReasonFailedStop:           {Ready: no, Event: cnatv1alpha1.ReasonFailedStop},
	cnatv1alpha1.ReasonFailedDelete:         {Ready: no, Event: cnatv1alpha1.ReasonFailedDelete},
	cnatv1alpha1.ReasonPodWaiting:           {Ready: no, Event: cnatv1alpha1.ReasonPodWaiting},
	cnatv1alpha1.ReasonPodTerminating:       {Ready: no},
	cnatv1alpha1.ReasonContainersRunning:    {Ready: no},

	cnatv1alpha1.ReasonCompleted:        {Ready: yes},
	cnatv1alpha1.ReasonNonZeroExitCode:  {Ready: no, Stalled: true, Event: cnatv1alpha1.ConditionFailed},
	cnatv1alpha1.ReasonOOMKilled:        {Ready: no, Stalled: true, Event: cnatv1alpha1.ConditionFailed},
	cnatv1alpha1.ReasonStartError:       {Ready: no, Stalled: true, Event: cnatv1alpha1.ConditionFailed},
	cnatv1alpha1.ReasonRanAgain:         {Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonRanAgain},
	cnatv1alpha1.ReasonEvicted:          {Ready: no, Stalled: true, Event: cnatv1alpha1.ConditionFailed},
	cnatv1alpha1.ReasonPodFailed:        {Ready: no, Stalled: true, Event: cnatv1alpha1.ConditionFailed},
	cnatv1alpha1.ReasonPodLost:          {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonPodLost},
	cnatv1alpha1.ReasonNotStarted:       {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonNotStarted},
	cnatv1alpha1.ReasonPodModified:      {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonPodModified},
	cnatv1alpha1.ReasonCanceled:         {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonCanceled},
	cnatv1alpha1.ReasonMissedDeadline:   {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonMissedDeadline},
	cnatv1alpha1.ReasonDeadlineExceeded: {Scheduled: no, Ready: no, Stalled: true, Event: cnatv1alpha1.ReasonDeadlineExceeded},
}

// waiting is what an At says until it is due.
func waiting(due time.Time) say { return say{cnatv1alpha1.ReasonWaiting, "runs at " + formatTime(due)} }

// started is what the condition Scheduled says once the pod of an attempt is recorded.
func started(message string) say { return say{cnatv1alpha1.ReasonStarted, message} }

// nameTaken is what an At says until the garbage collector has removed a pod of a deleted At of this name.
func nameTaken(pod *corev1.Pod) say {
	return say{cnatv1alpha1.ReasonNameTaken,
		fmt.Sprintf("pod %s belongs to a deleted At with the same name: this At starts when that pod is gone", pod.Name)}
}

// problem returns why the spec cannot produce a pod, or the zero value. The rules of the CRD reject such a spec, unless
// the CRD is older.
func (v *View) problem() say {
	if _, err := v.dueTime(); err != nil {
		return say{cnatv1alpha1.ReasonInvalidSchedule, err.Error()}
	}
	if _, err := spec.CommandWords(&v.At.Spec); err != nil {
		return say{cnatv1alpha1.ReasonInvalidCommand, "spec.command: " + err.Error()}
	}
	if t := v.At.Spec.Template; t != nil && len(t.Spec.Containers) == 0 {
		return say{cnatv1alpha1.ReasonInvalidTemplate, "spec.template.spec.containers must name at least one container: the first one runs the command"}
	}
	return say{}
}

// rejectedCreate returns what the condition Scheduled says after the API server rejected a pod.
func (v *View) rejectedCreate(r *expectations.Rejection) say {
	switch {
	case r.Failed:
		return say{cnatv1alpha1.ReasonRequestFailed, r.Message}
	case r.Exists:
		return say{cnatv1alpha1.ReasonPodNameConflict, r.Message}
	case r.NamespaceTerminating:
		return say{cnatv1alpha1.ReasonNamespaceTerminating, r.Message}
	case r.Invalid && v.At.Spec.Template != nil:
		return say{cnatv1alpha1.ReasonInvalidTemplate, r.Message}
	}
	return say{cnatv1alpha1.ReasonFailedCreate, r.Message}
}

// ownConditions are the types of the conditions that the operator writes.
var ownConditions = sets.New(cnatv1alpha1.ConditionScheduled, cnatv1alpha1.ConditionComplete, cnatv1alpha1.ConditionFailed,
	cnatv1alpha1.ConditionReady, cnatv1alpha1.ConditionStalled, cnatv1alpha1.ConditionFinished, cnatv1alpha1.ConditionCommandRan)

// conditions returns the conditions of a status whose other fields are set. ended is the message about the end of an At
// that is done.
func (v *View) conditions(step *Step, s *cnatv1alpha1.AtStatus, ended string) []metav1.Condition {
	var conditions []metav1.Condition
	add := func(kind string, status metav1.ConditionStatus, what say) {
		conditions = append(conditions, metav1.Condition{Type: kind, Status: status, Reason: what.reason, Message: what.message})
	}
	if step.scheduled.reason == cnatv1alpha1.ReasonStarted && step.ready.reason != "" {
		step.scheduled.message = step.ready.message
	}
	if step.scheduled.reason != "" {
		add(cnatv1alpha1.ConditionScheduled, cmp.Or(Reasons[step.scheduled.reason].Scheduled, no), step.scheduled)
	}
	ready := step.scheduled
	if s.Phase == cnatv1alpha1.PhaseDone {
		ready = say{s.Reason, ended}
		add(endCondition(s), yes, ready)
		add(cnatv1alpha1.ConditionFinished, yes, ready)
	}
	if ran, what := v.commandRan(step, s); ran != "" {
		add(cnatv1alpha1.ConditionCommandRan, ran, what)
	}
	switch {
	case step.ready.reason != "":
		ready = step.ready
	case ready.reason == cnatv1alpha1.ReasonStarted && s.RetryTime != nil:
		ready.reason = cnatv1alpha1.ReasonBackOff
	case ready.reason == cnatv1alpha1.ReasonStarted:
		ready.reason = cnatv1alpha1.ReasonRunning
	}
	meaning := Reasons[ready.reason]
	add(cnatv1alpha1.ConditionReady, meaning.Ready, ready)
	if meaning.Stalled {
		add(cnatv1alpha1.ConditionStalled, yes, ready)
	}
	return pods.StampConditions(conditions, v.At.Status.Conditions, ownConditions, v.At.Generation, v.Now)
}

// commandRan returns what the condition CommandRan says, or "" if it is absent. Once an attempt is known to have run,
// it stays True.
func (v *View) commandRan(step *Step, s *cnatv1alpha1.AtStatus) (metav1.ConditionStatus, say) {
	before := v.condition(cnatv1alpha1.ConditionCommandRan)
	switch {
	case before != nil && (before.Status == yes || step.end == nil):
		return before.Status, say{before.Reason, before.Message}
	case s.ExitCode != nil, step.end != nil && step.end.Reason == cnatv1alpha1.ReasonRanAgain:
		return yes, say{cnatv1alpha1.ReasonCommandEnded, "an attempt ran the command"}
	case step.end == nil:
		return "", say{}
	case step.end.Proof == proof.NotRun:
		return no, say{cnatv1alpha1.ReasonCommandNotRun, "no attempt ran the command"}
	}
	return metav1.ConditionUnknown, say{cnatv1alpha1.ReasonCommandUnknown, "the command may have run"}
}

// endCondition returns the type of the condition that shows how an At ended. The other type is absent, as in a Job.
func endCondition(s *cnatv1alpha1.AtStatus) string {
	if s.Result == cnatv1alpha1.ResultSucceeded {
		return cnatv1alpha1.ConditionComplete
	}
	return cnatv1alpha1.ConditionFailed
}

// condition returns a condition of the stored status, or nil if there is none.
func (v *View) condition(kind string) *metav1.Condition {
	for i := range v.At.Status.Conditions {
		if c := &v.At.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// lastProblem returns the problem that the stored condition Ready of a run describes, or "".
func (v *View) lastProblem() string {
	if c := v.condition(cnatv1alpha1.ConditionReady); c != nil {
		switch c.Reason {
		case cnatv1alpha1.ReasonPodWaiting, cnatv1alpha1.ReasonFailedStart, cnatv1alpha1.ReasonRequestFailed:
			return c.Message
		}
	}
	return ""
}

// missedCause returns why an At could not start in time, or "" if that is not known.
func (v *View) missedCause() string {
	stored := v.condition(cnatv1alpha1.ConditionScheduled)
	switch {
	case v.isRecorded():
		return ""
	case v.isRejected():
		for of := range requests {
			if r := v.rejection(of); r != nil {
				return fmt.Sprintf("the last request to %s its pod was rejected: %s", of, r.Message)
			}
		}
	case v.blocked(cnatv1alpha1.ConditionReady, cnatv1alpha1.ReasonFailedDelete).reason != "":
		return v.condition(cnatv1alpha1.ConditionReady).Message
	case stored != nil && stored.Status == no && stored.Reason == cnatv1alpha1.ReasonSuspended:
		return "spec.suspend was true"
	case stored != nil && stored.Status == no:
		return proof.JoinNonEmpty(": ", stored.Reason, stored.Message)
	case !v.At.CreationTimestamp.Time.Before(v.startBy()):
		return "the At was created at " + formatTime(v.At.CreationTimestamp.Time) + ", after that time"
	case v.first:
		return "the operator was not running at that time, or did not serve this namespace"
	}
	return ""
}
