// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// scheduled is the condition Scheduled, and what the condition Ready adds to it.
type scheduled struct {
	status          metav1.ConditionStatus
	reason, message string
	// temporary is true if a condition that is False becomes True by itself.
	temporary bool
	// running is the reason of the condition Ready while the At runs, or "" for Running.
	running string
	// check is what the API server answered about the pod of an At that waits.
	check verdict
}

// notScheduled returns the condition False.
func notScheduled(reason, message string) scheduled {
	return scheduled{status: metav1.ConditionFalse, reason: reason, message: message}
}

// rejected returns the condition of an At whose pod was rejected.
func (o *Observation) rejected(r *expectations.Rejection) scheduled {
	switch {
	case r.NamespaceTerminating:
		return notScheduled(cnatv1alpha1.ReasonNamespaceTerminating, r.Message)
	case r.Invalid && o.At.Spec.Template != nil:
		return notScheduled(cnatv1alpha1.ReasonInvalidTemplate, r.Message)
	}
	return notScheduled(cnatv1alpha1.ReasonFailedCreate, r.Message)
}

// waiting returns the condition True of an At that waits until it is due.
func waiting(due time.Time) scheduled {
	return scheduled{status: metav1.ConditionTrue, reason: cnatv1alpha1.ReasonWaiting, message: "runs at " + formatTime(due)}
}

// started returns the condition True of an At whose pod was created.
func started(message string) scheduled {
	return scheduled{status: metav1.ConditionTrue, reason: cnatv1alpha1.ReasonStarted, message: message}
}

// nameTaken returns the condition of an At that waits until the garbage collector has removed a pod of an older At.
func nameTaken(pod *corev1.Pod) scheduled {
	s := notScheduled(cnatv1alpha1.ReasonNameTaken, fmt.Sprintf("pod %s belongs to a deleted At with the same name: this At starts when that pod is gone", pod.Name))
	s.temporary = true
	return s
}

// progress returns the condition of a live pod, and when it changes although the pod does not, or zero.
func progress(o *Observation, pod *corev1.Pod) (scheduled, time.Time) {
	s := started("pod " + pod.Name + " was created")
	command := atrun.CommandState(o.At, pod)
	if ended := command.Terminated; ended != nil {
		until := lingersUntil(pod, ended, o.Now)
		if explainAt := until.Add(endGrace - lingerGrace); o.Now.Before(explainAt) {
			return s, explainAt
		}
		s.running = cnatv1alpha1.ReasonContainersRunning
		s.message = fmt.Sprintf("the command ended with exit code %d; %s", ended.ExitCode, stillRunning(pod))
		return s, until
	}
	if why, at := terminating(pod, o.Now); why != "" {
		s.running, s.message = cnatv1alpha1.ReasonPodTerminating, why
		return s, time.Time{}
	} else if !at.IsZero() {
		return s, at
	}
	problem := pods.WaitingReason(pod)
	if problem != "" {
		problem = atrun.JoinNonEmpty(": ", problem, pods.WaitingMessage(pod))
	} else if command.Running == nil {
		slow, at := pods.SlowStart(pod, o.Now)
		if slow == "" {
			return s, at
		}
		problem = fmt.Sprintf("%s for more than a minute: %s", slow, cmp.Or(pods.NotReadyReason(pod), "see the events of the pod"))
	}
	if problem != "" {
		s.running = cnatv1alpha1.ReasonPodWaiting
		s.message = "pod " + pod.Name + " is waiting: " + problem
	}
	return s, time.Time{}
}

// terminating returns why a pod that is being deleted has not ended, or "" and when that is known: at once if Kubernetes disrupts the pod, and
// otherwise some time after its grace period. The time is zero if the pod is not being deleted.
func terminating(pod *corev1.Pod, now time.Time) (why string, at time.Time) {
	if pod.DeletionTimestamp == nil {
		return "", time.Time{}
	}
	at = pod.DeletionTimestamp.Add(stopGrace)
	disruption := atrun.Disruption(pod)
	if disruption == "" && now.Before(at) {
		return "", at
	}
	return atrun.JoinNonEmpty("; ", "pod "+pod.Name+" is being deleted, and its node has not confirmed that the command ended: it may still be running", disruption), at
}

// stillRunning lists the containers of a pod that have not ended, except that of the command.
func stillRunning(pod *corev1.Pod) string {
	var names []string
	for _, status := range pods.ContainerStatuses(pod) {
		if status.State.Terminated == nil {
			names = append(names, status.Name)
		}
	}
	switch len(names) {
	case 0: // The cache drops containers that run, unless they were restarted.
		return "other containers of the pod are still running"
	case 1:
		return "container " + names[0] + " is still running"
	}
	return "containers " + strings.Join(names, ", ") + " are still running"
}

// missedCause returns why an At could not start in time, or "" if that is not known.
func missedCause(o *Observation) string {
	stored := o.condition(cnatv1alpha1.ConditionScheduled)
	switch {
	case o.Rejection != nil:
		return "the last create was rejected: " + o.Rejection.Message
	case stored != nil && stored.Status == metav1.ConditionFalse && stored.Reason == cnatv1alpha1.ReasonSuspended:
		return "spec.suspend was true"
	case stored != nil && stored.Status == metav1.ConditionFalse:
		return atrun.JoinNonEmpty(": ", stored.Reason, stored.Message)
	case o.First:
		return "the operator was not running at that time, or did not serve this namespace"
	}
	return ""
}

// needsWarning reports whether the condition Scheduled says something that the user did not ask for.
func needsWarning(scheduled *metav1.Condition, phase cnatv1alpha1.Phase) bool {
	switch scheduled.Reason {
	case cnatv1alpha1.ReasonSuspended, cnatv1alpha1.ReasonNamespaceTerminating: // The API server rejects events in such a namespace.
		return false
	}
	return scheduled.Status == metav1.ConditionFalse && phase != cnatv1alpha1.PhaseDone
}

// ownConditions are the types of the conditions that the operator writes.
var ownConditions = sets.New(cnatv1alpha1.ConditionScheduled, cnatv1alpha1.ConditionComplete, cnatv1alpha1.ConditionFailed,
	cnatv1alpha1.ConditionReady, cnatv1alpha1.ConditionStalled)

// conditions returns the conditions of a status whose other fields are set.
func (p Plan) conditions(o *Observation, s *cnatv1alpha1.AtStatus) []metav1.Condition {
	var conditions []metav1.Condition
	if c := p.scheduled; c.status != "" {
		conditions = append(conditions, metav1.Condition{Type: cnatv1alpha1.ConditionScheduled, Status: c.status, Reason: c.reason, Message: c.message})
	}
	if s.Phase == cnatv1alpha1.PhaseDone {
		conditions = append(conditions, metav1.Condition{Type: endCondition(s), Status: metav1.ConditionTrue, Reason: s.Reason, Message: p.end.Message})
	}
	conditions = append(conditions, readiness(s.Phase, conditions[len(conditions)-1], p.scheduled)...)
	return pods.StampConditions(conditions, o.At.Status.Conditions, ownConditions, o.At.Generation, o.Now)
}

// endCondition returns the type of the condition that shows how an At ended. The other type is absent, as in a Job.
func endCondition(s *cnatv1alpha1.AtStatus) string {
	if s.Result == cnatv1alpha1.ResultSucceeded {
		return cnatv1alpha1.ConditionComplete
	}
	return cnatv1alpha1.ConditionFailed
}

// readiness returns the condition Ready and, if the At cannot proceed by itself, Stalled. because is the condition that decides: Complete
// or Failed once the At is done, and Scheduled before. Tools that wait for resources stop waiting when a resource is Stalled.
func readiness(phase cnatv1alpha1.Phase, because metav1.Condition, s scheduled) []metav1.Condition {
	ready := metav1.Condition{Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: because.Reason, Message: because.Message}
	stalled := ready
	stalled.Type, stalled.Status = cnatv1alpha1.ConditionStalled, metav1.ConditionTrue
	isTrue := because.Status == metav1.ConditionTrue
	switch {
	case because.Type == cnatv1alpha1.ConditionFailed:
		return []metav1.Condition{ready, stalled}
	case isTrue && phase == cnatv1alpha1.PhaseRunning:
		ready.Reason = cmp.Or(s.running, cnatv1alpha1.ReasonRunning)
	case s.check.bad:
		ready.Reason, ready.Message = s.check.reason, s.check.message
		stalled.Reason, stalled.Message = s.check.reason, s.check.message
		return []metav1.Condition{ready, stalled}
	case isTrue, because.Reason == cnatv1alpha1.ReasonSuspended:
		ready.Status, ready.Reason = metav1.ConditionTrue, cmp.Or(s.check.reason, ready.Reason)
		ready.Message = atrun.JoinNonEmpty("; ", ready.Message, s.check.message)
	case !s.temporary:
		return []metav1.Condition{ready, stalled}
	}
	return []metav1.Condition{ready}
}
