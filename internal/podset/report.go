// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/pods"
)

// Report is what a reconcile reports to users, and when the next one is needed although nothing has changed.
type Report struct {
	// Status is the whole status.
	Status appv1alpha1.PodSetStatus
	// Events are about the outcome.
	Events []event.Event
	// StatusEvents are about what is new in the status. They are sent after it is written.
	StatusEvents []event.Event
	// RequeueAt is when to reconcile again, or zero if that is not needed. It may be in the past.
	RequeueAt time.Time
}

// retryPredecessor is the delay before a create is repeated whose name another pod of the same slot still has, in case
// the cache has already shown the end of that pod.
const retryPredecessor = time.Second

// MakeReport computes the status from an observation, its plan, and the outcome of the plan.
func MakeReport(o Observation, plan Plan, outcome Outcome) Report {
	report := Report{Status: newStatus(o, outcome), Events: events(o, outcome)}
	progress := meta.FindStatusCondition(report.Status.Conditions, appv1alpha1.ConditionProgressing)
	report.RequeueAt = pods.Earliest(o.Now, plan.RequeueAt, nextChange(o.after(outcome), progress.Status == metav1.ConditionTrue))
	if progress.Reason == appv1alpha1.ReasonProgressDeadlineExceeded && !wasStuck(o.Set) {
		report.StatusEvents = []event.Event{event.Warning(progress.Reason, "Progress", progress.Message)}
	}
	problem := meta.FindStatusCondition(report.Status.Conditions, appv1alpha1.ConditionDegraded)
	before := meta.FindStatusCondition(o.Set.Status.Conditions, appv1alpha1.ConditionDegraded)
	if problem.Reason == appv1alpha1.ReasonPodsWaiting && (before == nil || before.Reason != problem.Reason) {
		report.StatusEvents = append(report.StatusEvents, event.Warning(problem.Reason, "Start", problem.Message))
	}
	switch {
	case o.isPredecessor(outcome.Conflicting): // The cache will show it.
		report.RequeueAt = pods.Earliest(o.Now, report.RequeueAt, o.Now.Add(retryPredecessor))
	case outcome.Conflicting != nil: // The next reconcile uses the next name.
		report.RequeueAt = pods.Earliest(o.Now, report.RequeueAt, o.Now)
	}
	return report
}

// nextChange returns when the status will change although nothing else has, or zero if it will not. A PodSet that
// progresses has a deadline.
func nextChange(o Observation, progresses bool) time.Time {
	c := classify(o)
	var next time.Time
	if progresses {
		next = o.stuckAt(c)
	}
	for _, pod := range c.active {
		if at := o.availableAt(pod); pods.IsReady(pod) && at.After(o.Now) {
			next = pods.Earliest(o.Now, next, at)
		}
		_, at := o.problemOf(pod)
		next = pods.Earliest(o.Now, next, at)
	}
	return next
}

// events returns the events about an outcome, one for each kind of action. Each relates to its first pod, so that an
// event about other pods is not counted as its repetition. Each warning of the API server is reported once.
func events(o Observation, outcome Outcome) []event.Event {
	var events []event.Event
	if outcome.Warnings != "" && outcome.Warnings != o.Warnings {
		events = append(events, event.Warning("PodWarning", "Create", "The API server warns about the pods: "+outcome.Warnings))
	}
	if pods := outcome.Created; len(pods) > 0 {
		events = append(events, event.Normal("SuccessfulCreate", "Create", "Created "+joinNames(pods, podNameOf)).About(pods[0]))
	}
	if pods := outcome.Deleted; len(pods) > 0 {
		events = append(events, event.Normal("SuccessfulDelete", "Delete", "Deleted "+joinNames(pods, podNameOf)).About(pods[0]))
	}
	if pods := outcome.CleanedUp; len(pods) > 0 {
		events = append(events, event.Normal("PodsFinished", "Remove", "Deleted after they finished: "+
			joinNames(pods, func(pod *corev1.Pod) string { return pod.Name + " (" + finishReason(pod) + ")" })).About(pods[0]))
	}
	// In a namespace that is being deleted, the API server rejects events, too.
	if err := outcome.createProblem(); err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		events = append(events, event.Warning("FailedCreate", "Create", err.Error()))
	}
	if err := outcome.DeleteError; err != nil {
		events = append(events, event.Warning("FailedDelete", "Delete", err.Error()))
	}
	return events
}

func podNameOf(pod *corev1.Pod) string { return pod.Name }

func joinNames(pods []*corev1.Pod, name func(*corev1.Pod) string) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = name(pod)
	}
	return strings.Join(names, ", ")
}
