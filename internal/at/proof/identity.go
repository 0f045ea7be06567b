// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/pods"
)

// IsOwn reports whether the At controls a pod.
func IsOwn(at *cnatv1alpha1.At, pod *corev1.Pod) bool { return pods.OwnerUID(pod) == at.UID }

// IsOfPredecessor reports whether a pod belongs to a deleted At of the same name. Two Ats of the same name never exist at
// the same time, so the garbage collector will remove that pod.
func IsOfPredecessor(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "At" && owner.Name == at.Name && owner.UID != at.UID &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group == cnatv1alpha1.GroupVersion.Group
}

// IsGated reports whether a pod has the gate that keeps its attempt from starting.
func IsGated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == cnatv1alpha1.StartGate })
}

// Modified returns what admission changed in the identity of a pod, as the object of the sentence "admission changed
// ...", or "" if it left the identity alone. requested is the pod of the request, and got the whole pod of the
// response. Its first container runs the command.
func Modified(requested, got *corev1.Pod) string {
	command := requested.Spec.Containers[0].Name
	switch {
	case got.Name != requested.Name:
		return fmt.Sprintf("the name of pod %s to %s", requested.Name, got.Name)
	case pods.OwnerUID(got) != pods.OwnerUID(requested):
		return fmt.Sprintf("the controller reference of pod %s", requested.Name)
	case !IsGated(got):
		return fmt.Sprintf("pod %s so that it lacks the scheduling gate %s", requested.Name, cnatv1alpha1.StartGate)
	case !slices.ContainsFunc(got.Spec.Containers, func(c corev1.Container) bool { return c.Name == command }):
		return fmt.Sprintf("pod %s so that container %s, which runs the command, is missing", requested.Name, command)
	case mayRestart(&got.Spec):
		return fmt.Sprintf("pod %s so that its containers can be restarted", requested.Name)
	}
	return ""
}

// mayRestart reports whether the kubelet may run a container of a pod again, other than a sidecar.
func mayRestart(pod *corev1.PodSpec) bool {
	return pod.RestartPolicy != corev1.RestartPolicyNever || slices.ContainsFunc(pod.Containers, spec.MayRestart) ||
		slices.ContainsFunc(pod.InitContainers, pods.HasRestartRules)
}
