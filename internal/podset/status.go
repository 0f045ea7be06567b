// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
)

// maxMessage bounds what is quoted from an error, in bytes.
const maxMessage = 1024

// after is the observation with the outcome in it: what a moment later would show.
func (o Observation) after(outcome Outcome) Observation {
	o.Pods = slices.Concat(o.Pods, outcome.Created)
	o.Deleted = o.Deleted.Clone()
	for _, pod := range slices.Concat(outcome.Deleted, outcome.Swept) {
		o.Deleted.Insert(pod.UID)
	}
	return o
}

// Status computes the whole status from what was observed and what came of acting on it (rule 10).
func Status(o Observation, outcome Outcome) appv1alpha1.PodSetStatus {
	o = o.after(outcome)
	c := takeCensus(o)
	hash := o.templateHash()
	s := appv1alpha1.PodSetStatus{
		PodNames: make([]string, 0, len(c.active)), // never null
		Replicas: int32(len(c.active)),
		AvailableReplicas: int32(count(c.active, func(pod *corev1.Pod) bool {
			return pod.Status.Phase != corev1.PodUnknown
		})),
		ReadyReplicas:       int32(count(c.active, isReady)),
		UpdatedReplicas:     int32(count(c.active, func(pod *corev1.Pod) bool { return !isOutdated(pod, hash) })),
		TerminatingReplicas: int32(len(c.terminating)),
		Selector:            selectorLabels(o.Set).String(),
		ObservedGeneration:  o.Set.Generation,
	}
	for _, pod := range c.active {
		s.PodNames = append(s.PodNames, pod.Name)
	}
	slices.Sort(s.PodNames)
	for _, condition := range []metav1.Condition{available(o, s), progressing(o, s), degraded(o, c, outcome)} {
		condition.ObservedGeneration = o.Set.Generation
		condition.LastTransitionTime = metav1.NewTime(o.Now).Rfc3339Copy()
		if old := meta.FindStatusCondition(o.Set.Status.Conditions, condition.Type); old != nil && old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		s.Conditions = append(s.Conditions, condition)
	}
	return s
}

func available(o Observation, s appv1alpha1.PodSetStatus) metav1.Condition {
	c := metav1.Condition{
		Type:    appv1alpha1.ConditionAvailable,
		Status:  metav1.ConditionFalse,
		Reason:  appv1alpha1.ReasonTooFewReady,
		Message: fmt.Sprintf("%d of %d pods are ready", s.ReadyReplicas, o.wanted()),
	}
	if int(s.ReadyReplicas) >= o.wanted() {
		c.Status, c.Reason = metav1.ConditionTrue, appv1alpha1.ReasonEnoughReady
	}
	return c
}

func progressing(o Observation, s appv1alpha1.PodSetStatus) metav1.Condition {
	c := metav1.Condition{Type: appv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	switch wanted := o.wanted(); {
	case o.Set.DeletionTimestamp != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, appv1alpha1.ReasonTerminating, "the PodSet is being deleted"
	case o.paused():
		c.Status, c.Reason = metav1.ConditionFalse, appv1alpha1.ReasonPaused
		c.Message = "the annotation " + appv1alpha1.AnnotationPaused + " holds the PodSet: remove it to go on"
	case int(s.Replicas) != wanted:
		c.Reason, c.Message = appv1alpha1.ReasonScaling, fmt.Sprintf("%d of %d pods exist", s.Replicas, wanted)
	case s.UpdatedReplicas < s.Replicas && o.Set.Spec.UpdateStrategy.Type != appv1alpha1.OnDelete:
		c.Reason, c.Message = appv1alpha1.ReasonUpdating, fmt.Sprintf("%d of %d pods are of the present template", s.UpdatedReplicas, wanted)
	case int(s.ReadyReplicas) < wanted:
		c.Reason, c.Message = appv1alpha1.ReasonAwaitingReady, fmt.Sprintf("%d of %d pods are ready", s.ReadyReplicas, wanted)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, appv1alpha1.ReasonStable, "the pods are what the spec asks for"
	}
	return c
}

func degraded(o Observation, census census, outcome Outcome) metav1.Condition {
	c := metav1.Condition{Type: appv1alpha1.ConditionDegraded, Status: metav1.ConditionTrue}
	waiting := countReasons(census.active, waitingReason)
	finished := countReasons(census.finished, finishReason)
	problem := templateProblem(o.Set.Spec.Template)
	switch {
	case problem != "":
		c.Reason, c.Message = appv1alpha1.ReasonInvalidTemplate, problem
	case outcome.CreateError != nil:
		c.Reason, c.Message = appv1alpha1.ReasonFailedCreate, event.Cut(outcome.CreateError.Error(), maxMessage)
	case o.Refusal != nil && len(census.active) < o.wanted():
		c.Reason, c.Message = appv1alpha1.ReasonFailedCreate, event.Cut(o.Refusal.Message, maxMessage)
	case outcome.DeleteError != nil:
		c.Reason, c.Message = appv1alpha1.ReasonFailedDelete, event.Cut(outcome.DeleteError.Error(), maxMessage)
	case waiting != "":
		c.Reason, c.Message = appv1alpha1.ReasonPodsWaiting, waiting
	case finished != "":
		c.Reason, c.Message = appv1alpha1.ReasonPodsFinished, finished
	default:
		c.Status, c.Reason = metav1.ConditionFalse, appv1alpha1.ReasonAsExpected
	}
	return c
}

// waitingReason says why a pod cannot start or stay up; "" while it may be just starting.
func waitingReason(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if waiting := statuses[i].State.Waiting; waiting != nil {
				switch waiting.Reason {
				case "", "ContainerCreating", "PodInitializing":
				case "ErrImagePull":
					// The kubelet alternates between the try and the wait; one word for both keeps the status still.
					return "ImagePullBackOff"
				default:
					return waiting.Reason
				}
			}
		}
	}
	return ""
}

// finishReason says in a word why a finished pod ended: the pod's own reason (such as Evicted), else its phase.
func finishReason(pod *corev1.Pod) string { return cmp.Or(pod.Status.Reason, string(pod.Status.Phase)) }

// countReasons aggregates the reasons of pods, most frequent first: "2 of 3 pods: ImagePullBackOff"; "" when there are none.
func countReasons(pods []*corev1.Pod, reason func(*corev1.Pod) string) string {
	counts := map[string]int{}
	for _, pod := range pods {
		if r := reason(pod); r != "" {
			counts[r]++
		}
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, r := range reasons {
		reasons[i] = fmt.Sprintf("%d of %d pods: %s", counts[r], len(pods), r)
	}
	return strings.Join(reasons, ", ")
}
