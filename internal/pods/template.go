// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

const (
	// LabelManagedBy is a label that Kubernetes recommends. Every pod has it, with the value ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy identifies this operator.
	ManagedBy = "podset-operator"
	// nobody is the UID of the user without permissions.
	nobody = 65534
)

// FromTemplate returns a pod from a template, controlled by owner. The pod shares no memory with the template. Its
// labels and annotations are never nil.
func FromTemplate(template *corev1.PodTemplateSpec, name string, owner metav1.Object, kind schema.GroupVersionKind) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Namespace:       owner.GetNamespace(),
			Labels:          map[string]string{},
			Annotations:     map[string]string{},
			Finalizers:      slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	maps.Copy(pod.Labels, template.Labels)
	maps.Copy(pod.Annotations, template.Annotations)
	pod.Labels[LabelManagedBy] = ManagedBy
	return pod
}

// OnLinux restricts the pod to Linux nodes, which its image needs.
func OnLinux(spec *corev1.PodSpec) {
	spec.OS = &corev1.PodOS{Name: corev1.Linux}
	spec.NodeSelector = map[string]string{corev1.LabelOSStable: string(corev1.Linux)}
}

// Restrict makes spec pass the Pod Security Standard "restricted"
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/) and OpenShift's security context constraint
// "restricted-v2", and removes the service account token. With fixedUser the pod runs as the user nobody, for images
// whose own user is root. OpenShift rejects a fixed user, since it assigns a range of users to each namespace.
func Restrict(spec *corev1.PodSpec, fixedUser bool) {
	spec.AutomountServiceAccountToken = ptr.To(false)
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if fixedUser {
		spec.SecurityContext.RunAsUser = ptr.To[int64](nobody)
	}
	for i := range spec.Containers {
		spec.Containers[i].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
}
