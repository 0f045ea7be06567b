// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// defaultGrace is the grace period of a pod that sets none.
const defaultGrace = 30

// setPodDefaults sets the defaults of a pod that the operator or the invariants read.
func setPodDefaults(pod *corev1.Pod) {
	if pod.Spec.RestartPolicy == "" {
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	pod.Spec.TerminationGracePeriodSeconds = ptr.To(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, defaultGrace))
}

// validatePod applies the rules of pods that scenarios can break.
func validatePod(pod *corev1.Pod) field.ErrorList {
	switch {
	case len(pod.Spec.Containers) == 0:
		return field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")}
	case len(pod.Spec.SchedulingGates) > 0 && pod.Spec.NodeName != "":
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "nodeName"), "cannot be set until all schedulingGates have been cleared")}
	case pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds < 1:
		return field.ErrorList{field.Invalid(field.NewPath("spec", "activeDeadlineSeconds"), *pod.Spec.ActiveDeadlineSeconds, "must be at least 1")}
	}
	return nil
}

// setGated sets the condition of a new pod that has gates.
func setGated(pod *corev1.Pod, now time.Time) {
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		}}
	}
}

func withoutScheduled(conditions []corev1.PodCondition) []corev1.PodCondition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
}

// updatePod restores what an update of a pod, or of its status, must not change, and validates the rest.
func updatePod(current, updated *corev1.Pod, status bool) field.ErrorList {
	if status {
		updated.Spec, updated.OwnerReferences = *current.Spec.DeepCopy(), current.OwnerReferences
		return nil
	}
	updated.Status = *current.Status.DeepCopy()
	setPodDefaults(updated)
	allowed := current.Spec.DeepCopy()
	if before, after := allowed.ActiveDeadlineSeconds, updated.Spec.ActiveDeadlineSeconds; before == nil || after != nil && *after <= *before {
		allowed.ActiveDeadlineSeconds = after
	}
	if !slices.ContainsFunc(updated.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return !slices.Contains(allowed.SchedulingGates, g) }) {
		allowed.SchedulingGates = updated.Spec.SchedulingGates
	}
	for i := range min(len(allowed.Containers), len(updated.Spec.Containers)) {
		allowed.Containers[i].Image = updated.Spec.Containers[i].Image
	}
	if !equality.Semantic.DeepEqual(*allowed, updated.Spec) {
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), "pod updates may not change this field")}
	}
	return validatePod(updated)
}

// Bind binds a pod to a node, as the scheduler does.
func (s *Store) Bind(name, node string) error {
	current, ok := s.objects[storeKey{pods, name}]
	if !ok {
		return apierrors.NewNotFound(groupResources[pods], name)
	}
	pod := CopyOf(current).(*corev1.Pod)
	binding := schema.GroupResource{Resource: "pods/binding"}
	switch {
	case pod.DeletionTimestamp != nil:
		return apierrors.NewConflict(binding, name, fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", name))
	case pod.Spec.NodeName != "":
		return apierrors.NewConflict(binding, name, fmt.Errorf("pod %s is already assigned to node %q", name, pod.Spec.NodeName))
	case len(pod.Spec.SchedulingGates) > 0:
		return apierrors.NewConflict(binding, name, fmt.Errorf("pod %s has non-empty .spec.schedulingGates", name))
	}
	pod.Spec.NodeName = node
	pod.Status.Conditions = append(withoutScheduled(pod.Status.Conditions), corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now()).Rfc3339Copy()})
	s.put(watch.Modified, pod)
	return nil
}
