// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/pods"
)

// stopReasons are the reasons of a pod that its kubelet stopped.
var stopReasons = []string{reasonEvicted, "Preempting", "NodeShutdown", "Terminated"}

// stoppedBy returns what had asked a pod to stop, or "" if nothing had before its command ended. Of a deletion and an
// end, and of a disruption and an end, the order is not known.
func stoppedBy(pod *corev1.Pod, command *corev1.ContainerStateTerminated) string {
	disruption := Disruption(pod)
	switch {
	case slices.Contains(stopReasons, pod.Status.Reason):
		return JoinNonEmpty(": ", "the kubelet stopped the pod", pod.Status.Reason, strings.TrimSpace(pod.Status.Message))
	case disruption != "":
		return disruption
	case pod.DeletionTimestamp != nil:
		return "the pod was deleted"
	case pod.Status.Reason == reasonDeadlineExceeded && !endedBeforeDeadline(pod, command):
		return "the pod was stopped by its activeDeadlineSeconds"
	}
	return ""
}

// endedBeforeDeadline reports whether a command ended before the kubelet could stop it because of the
// activeDeadlineSeconds of the pod. Both times come from the kubelet.
func endedBeforeDeadline(pod *corev1.Pod, command *corev1.ContainerStateTerminated) bool {
	start, limit := pod.Status.StartTime, pod.Spec.ActiveDeadlineSeconds
	return command != nil && start != nil && limit != nil && command.FinishedAt.Time.Before(start.Add(spec.Seconds(*limit)))
}

// Disruption returns why Kubernetes or Kueue ended a pod, from the condition DisruptionTarget or TerminationTarget, or
// "" if they did not. The reason is a preemption, an eviction, a taint, the end of the node, or the pod garbage
// collector.
func Disruption(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	for _, c := range pod.Status.Conditions {
		if (c.Type == corev1.DisruptionTarget || c.Type == pods.TerminationTarget) && c.Status == corev1.ConditionTrue {
			return JoinNonEmpty(": ", "Kubernetes disrupted the pod", c.Reason, c.Message)
		}
	}
	return ""
}
