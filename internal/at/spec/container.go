// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

// MayRestart reports whether the kubelet may run a container again in the same pod despite the pod's restartPolicy.
func MayRestart(container corev1.Container) bool {
	policy := container.RestartPolicy
	return policy != nil && *policy != corev1.ContainerRestartPolicyNever || pods.HasRestartRules(container)
}

// DefaultContainer is the name of the container that runs the command of an At without a template.
const DefaultContainer = "busybox"

// ContainerName returns the name of the container that runs the command.
func ContainerName(at *cnatv1alpha1.AtSpec) string {
	if t := at.Template; t != nil && len(t.Spec.Containers) > 0 {
		return t.Spec.Containers[0].Name
	}
	return DefaultContainer
}
