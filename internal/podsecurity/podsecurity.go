// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podsecurity makes the operator's own pods pass the strictest rules that clusters enforce: the Pod Security
// Standard "restricted" (https://kubernetes.io/docs/concepts/security/pod-security-standards/) and OpenShift's security
// context constraint "restricted-v2".
package podsecurity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// nobody is the user that images and systems agree to be nobody.
const nobody = 65534

// Restrict takes from spec every right that the standard "restricted" takes, and the service account's token. With
// fixedUser the pod runs as the user nobody, for images whose own user is root; OpenShift refuses that, since it gives
// each namespace a range of users of its own.
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
