// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"

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
	if len(pod.Spec.Containers) == 0 {
		return field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")}
	}
	return nil
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
	for i := range min(len(allowed.Containers), len(updated.Spec.Containers)) {
		allowed.Containers[i].Image = updated.Spec.Containers[i].Image
	}
	if !equality.Semantic.DeepEqual(*allowed, updated.Spec) {
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), "pod updates may not change this field")}
	}
	return nil
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
	}
	pod.Spec.NodeName = node
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now()).Rfc3339Copy()})
	s.put(watch.Modified, pod)
	return nil
}
