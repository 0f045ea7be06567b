// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

// after returns the observation that includes the outcome, as the caches will show it soon.
func (o Observation) after(outcome Outcome) Observation {
	o.Pods = slices.Concat(o.Pods, outcome.Created)
	o.Deleted = o.Deleted.Clone()
	for _, pod := range slices.Concat(outcome.Deleted, outcome.CleanedUp) {
		o.Deleted.Insert(pod.UID)
	}
	return o
}

// ownConditions are the types of the conditions that the operator writes.
var ownConditions = sets.New(appv1alpha1.ConditionAvailable, appv1alpha1.ConditionProgressing, appv1alpha1.ConditionDegraded,
	appv1alpha1.ConditionReady, appv1alpha1.ConditionStalled)

// newStatus computes the whole status from the observation and the outcome of the plan (rule 10).
func newStatus(o Observation, outcome Outcome) appv1alpha1.PodSetStatus {
	o = o.after(outcome)
	c := classify(o)
	hash := o.templateHash()
	s := appv1alpha1.PodSetStatus{
		PodNames: make([]string, 0, len(c.active)), // never null
		Replicas: int32(len(c.active)),
		AvailableReplicas: int32(count(c.active, func(pod *corev1.Pod) bool {
			return pod.Status.Phase != corev1.PodUnknown
		})),
		ReadyReplicas:       int32(count(c.active, pods.IsReady)),
		UpdatedReplicas:     int32(count(c.active, func(pod *corev1.Pod) bool { return hashOfPod(pod) == hash })),
		TerminatingReplicas: int32(len(c.terminating)),
		Selector:            selectorLabels(o.Set).String(),
		ObservedGeneration:  o.Set.Generation,
	}
	for _, pod := range c.active {
		s.PodNames = append(s.PodNames, pod.Name)
	}
	slices.Sort(s.PodNames)
	n := count(c.active, o.isAvailable)
	progress := progressing(o, s, c, n)
	problem := degraded(o, c, outcome, progress)
	conditions := append([]metav1.Condition{available(o, n), progress, problem}, readiness(o, s, n, outcome, progress, problem)...)
	s.Conditions = pods.StampConditions(conditions, o.Set.Status.Conditions, ownConditions, o.Set.Generation, o.Now)
	return s
}

// available returns the condition Available if n pods are available.
func available(o Observation, n int) metav1.Condition {
	c := metav1.Condition{
		Type:    appv1alpha1.ConditionAvailable,
		Status:  metav1.ConditionFalse,
		Reason:  appv1alpha1.ReasonTooFewReady,
		Message: availability(o, n),
	}
	if n >= o.desired() {
		c.Status, c.Reason = metav1.ConditionTrue, appv1alpha1.ReasonEnoughReady
	}
	return c
}

// availability describes that n pods are available.
func availability(o Observation, n int) string {
	if seconds := o.Set.Spec.MinReadySeconds; seconds > 0 {
		return fmt.Sprintf("%d of %d pods have been ready for %d seconds", n, o.desired(), seconds)
	}
	return fmt.Sprintf("%d of %d pods are ready", n, o.desired())
}

func degraded(o Observation, of classes, outcome Outcome, progress metav1.Condition) metav1.Condition {
	c := metav1.Condition{Type: appv1alpha1.ConditionDegraded, Status: metav1.ConditionTrue}
	waiting := countReasons(of.active, func(pod *corev1.Pod) string { reason, _ := o.problemOf(pod); return reason })
	finished := countReasons(of.finished, finishReason)
	switch {
	case outcome.createProblem() != nil:
		c.Reason, c.Message = appv1alpha1.ReasonFailedCreate, outcome.createProblem().Error()
	case o.Rejection != nil && len(of.active) < o.desired():
		c.Reason, c.Message = appv1alpha1.ReasonFailedCreate, o.Rejection.Message
	case outcome.DeleteError != nil:
		c.Reason, c.Message = appv1alpha1.ReasonFailedDelete, outcome.DeleteError.Error()
	case progress.Reason == appv1alpha1.ReasonProgressDeadlineExceeded: // Its message contains the reasons of the pods.
		c.Reason, c.Message = progress.Reason, progress.Message
	case waiting != "":
		c.Reason, c.Message = appv1alpha1.ReasonPodsWaiting, waiting
	case finished != "":
		c.Reason, c.Message = appv1alpha1.ReasonPodsFinished, finished
	default:
		c.Status, c.Reason = metav1.ConditionFalse, appv1alpha1.ReasonAsExpected
	}
	return c
}

// problemOf returns why pod cannot start or keep running, or "", and when that changes although pod does not, or zero.
func (o Observation) problemOf(pod *corev1.Pod) (reason string, until time.Time) {
	if looping, until := pods.CrashLoop(pod, o.Now); looping {
		return pods.ReasonCrashLoop, until
	}
	if reason := pods.WaitingReason(pod); reason != "" || pod.Spec.NodeName == "" {
		return reason, time.Time{}
	}
	return pods.SlowStart(pod, o.Now)
}

// finishReason returns why a finished pod ended: the reason in its status (such as Evicted), or else its phase.
func finishReason(pod *corev1.Pod) string { return cmp.Or(pod.Status.Reason, string(pod.Status.Phase)) }

// countReasons lists the reasons of pods, most frequent first: "2 of 3 pods: ImagePullBackOff". It returns "" if there
// are none.
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
