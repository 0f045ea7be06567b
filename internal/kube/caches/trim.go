// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/redhat/podset-operator/internal/pods"
)

// Trim returns a pod with only the fields that the controllers read. It needs about a tenth of the memory.
func (k PodOwners) Trim(pod *corev1.Pod) *corev1.Pod {
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              pod.Name,
			Namespace:         pod.Namespace,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp,
			DeletionTimestamp: pod.DeletionTimestamp,
			OwnerReferences:   pod.OwnerReferences,
			Labels:            k.trimLabels(pod),
			Annotations:       k.trimAnnotations(pod.Annotations),

			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		},
		Spec: k.TrimSpec(pod),
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                pod.Status.Reason,
			Message:               pod.Status.Message,
			StartTime:             pod.Status.StartTime,
			InitContainerStatuses: trimContainers(pod.Status.Phase, pod.Status.InitContainerStatuses),
			ContainerStatuses:     trimContainers(pod.Status.Phase, pod.Status.ContainerStatuses),
		},
	}
	trimmed.Spec.NodeName = pod.Spec.NodeName
	if pod.DeletionTimestamp != nil { // They show what a terminating pod waits for.
		trimmed.Finalizers = pod.Finalizers
	}
	for _, c := range pod.Status.Conditions {
		if kept, ok := trimCondition(&c); ok {
			trimmed.Status.Conditions = append(trimmed.Status.Conditions, kept)
		}
	}
	return trimmed
}

// trimCondition returns what the controllers read from a condition, and false if that is nothing. An absent Ready
// condition means not ready, and any other absent condition means that nothing keeps the pod from a node, keeps it from
// starting, or disrupts it. The message of PodScheduled shows why no node fits.
func trimCondition(c *corev1.PodCondition) (corev1.PodCondition, bool) {
	kept := corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason}
	switch c.Type {
	case corev1.PodReady:
		kept.LastTransitionTime = c.LastTransitionTime
		return kept, c.Status == corev1.ConditionTrue
	case corev1.PodReadyToStartContainers:
		return kept, c.Status == corev1.ConditionFalse
	case corev1.PodScheduled, corev1.PodInitialized:
		kept.Message = c.Message
		return kept, c.Status == corev1.ConditionFalse
	case corev1.DisruptionTarget, pods.TerminationTarget:
		kept.Message = c.Message
		return kept, c.Status == corev1.ConditionTrue
	default:
		return kept, false
	}
}

// trimAnnotations keeps the annotations of the API groups of the kinds, and the pod deletion cost, which users set.
func (k PodOwners) trimAnnotations(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, func(key, _ string) bool { return key != corev1.PodDeletionCost && !k.isOwnKey(key) })
	return kept
}

// trimLabels keeps the labels of the API groups of the kinds that add to the rest of the pod. Most pods have none: a
// label repeats the annotation with the same key, unless an admission webhook has removed that, or it repeats the name
// or the UID of the controller.
func (k PodOwners) trimLabels(pod *corev1.Pod) map[string]string {
	var kept map[string]string
	owner := metav1.GetControllerOfNoCopy(pod)
	for key, value := range pod.Labels {
		_, annotated := pod.Annotations[key]
		if annotated || !k.isOwnKey(key) || owner != nil && (value == owner.Name || value == string(owner.UID)) {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = value
	}
	return kept
}

// isOwnKey reports whether the key of a label or an annotation has the API group of one of the kinds.
func (k PodOwners) isOwnKey(key string) bool {
	return slices.ContainsFunc(k.Kinds, func(kind schema.GroupVersionKind) bool { return strings.HasPrefix(key, kind.Group+"/") })
}

// running is the state of all containers that run and have not ended before. No controller reads their start time.
var running = &corev1.ContainerStateRunning{}

// trimContainers keeps the names, the restarts, and whether a container runs, or why it is waiting or has terminated.
// In a pod that runs, it drops the containers that run and have not restarted, unless another one has ended: they add
// nothing to the phase of the pod.
func trimContainers(phase corev1.PodPhase, statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var trimmed []corev1.ContainerStatus
	ended := slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool { return s.State.Terminated != nil })
	for i := range statuses {
		s := &statuses[i]
		if phase == corev1.PodRunning && !ended && s.State.Running != nil && s.RestartCount == 0 {
			continue
		}
		kept := corev1.ContainerStatus{
			Name:         s.Name,
			RestartCount: s.RestartCount,
			State:        corev1.ContainerState{Waiting: s.State.Waiting, Terminated: s.State.Terminated},
		}
		if s.State.Running != nil {
			kept.State.Running = running
		}
		if s.State.Waiting != nil { // A container with an ID was created, so it may have run.
			kept.ContainerID = s.ContainerID
		}
		if last := s.LastTerminationState.Terminated; last != nil { // The rest shows whether the container is in a crash loop.
			kept.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				StartedAt: last.StartedAt, FinishedAt: last.FinishedAt, ExitCode: last.ExitCode, Reason: last.Reason, ContainerID: last.ContainerID,
			}
			kept.State.Running = s.State.Running
		}
		trimmed = append(trimmed, kept)
	}
	return trimmed
}
