// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package atrun

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/pods"
)

// IsOwn reports whether the At controls a pod.
func IsOwn(at *cnatv1alpha1.At, pod *corev1.Pod) bool { return pods.OwnerUID(pod) == at.UID }

// IsPodName reports whether a pod of the At may have this name.
func IsPodName(at *cnatv1alpha1.At, name string) bool {
	for attempt := range MaxAttempts {
		if name == PodName(at, attempt) {
			return true
		}
	}
	return false
}

// IsOfOlderAt reports whether a pod belongs to a deleted At of the same name. Two Ats of the same name never exist at the same time, so
// the garbage collector will remove that pod.
func IsOfOlderAt(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "At" && owner.Name == at.Name && owner.UID != at.UID &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group == cnatv1alpha1.GroupVersion.Group
}

// Changed returns what admission changed in the identity of a pod, as the object of the sentence "admission changed ...", or "" if it left
// the identity alone. requested is the pod of the request, and got the pod of the response. Its first container runs the command.
func Changed(requested, got *corev1.Pod) string {
	command := requested.Spec.Containers[0].Name
	switch {
	case got.Name != requested.Name:
		return fmt.Sprintf("the name of pod %s to %s", requested.Name, got.Name)
	case pods.OwnerUID(got) != pods.OwnerUID(requested):
		return fmt.Sprintf("the controller reference of pod %s", requested.Name)
	case Lacks(got, command):
		return WithoutCommand(requested.Name, command)
	case MayRestart(&got.Spec):
		return fmt.Sprintf("pod %s so that its containers can be restarted", requested.Name)
	}
	return ""
}

// Lacks reports whether a pod does not have the container that runs the command.
func Lacks(pod *corev1.Pod, command string) bool {
	return !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == command })
}

// WithoutCommand is the result of Changed for a pod that lacks the container of its command.
func WithoutCommand(pod, command string) string {
	return fmt.Sprintf("pod %s so that container %s, which runs the command, is missing", pod, command)
}

// MayRestart reports whether the kubelet may run a container of a pod again, other than a sidecar.
func MayRestart(spec *corev1.PodSpec) bool {
	return spec.RestartPolicy != corev1.RestartPolicyNever || slices.ContainsFunc(spec.Containers, atspec.MayRestart) ||
		slices.ContainsFunc(spec.InitContainers, pods.HasRestartRules)
}

// KeepSpec returns what a cache must keep of a pod's spec: its deadline, its sidecars, the names of the containers of a pod of an At, and, as
// restartPolicy, whether its containers can be restarted: see MayRestart. KeepSpec is idempotent, because a cache may trim a pod twice.
func KeepSpec(pod *corev1.Pod) corev1.PodSpec {
	kept := corev1.PodSpec{RestartPolicy: pod.Spec.RestartPolicy, ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds}
	if MayRestart(&pod.Spec) {
		kept.RestartPolicy = corev1.RestartPolicyAlways
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "At" {
		for _, c := range pod.Spec.Containers {
			kept.Containers = append(kept.Containers, corev1.Container{Name: c.Name})
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if pods.IsSidecar(&c) {
			kept.InitContainers = append(kept.InitContainers, corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy})
		}
	}
	return kept
}
