// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/pods"
)

// templateProblem returns why a template cannot run the command exactly once, "" if it can. Admission rejects the same
// templates. This function is for an At that was stored before the CRD had these checks.
func templateProblem(template *corev1.PodTemplateSpec) string {
	if template == nil {
		return ""
	}
	spec := &template.Spec
	switch {
	case len(spec.Containers) == 0:
		return "template.spec.containers must name at least one container: the first one runs spec.command"
	case spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyNever:
		return "template.spec.restartPolicy must be Never, or absent: an At runs its command once"
	case len(spec.Containers[0].Command)+len(spec.Containers[0].Args) > 0:
		return "template.spec.containers[0] must not set command or args: it runs spec.command"
	case slices.ContainsFunc(spec.Containers, mayRestart):
		return "template.spec.containers must not set restartPolicy other than Never, nor restartPolicyRules: an At runs its command once"
	case slices.ContainsFunc(spec.InitContainers, pods.HasRestartRules):
		return "template.spec.initContainers must not set restartPolicyRules, which can restart all containers: an At runs its command once"
	}
	return ""
}

// mayRestart tells whether the kubelet may run a container again in the same pod despite the restartPolicy of the pod.
func mayRestart(container corev1.Container) bool {
	policy := container.RestartPolicy
	return policy != nil && *policy != corev1.ContainerRestartPolicyNever || pods.HasRestartRules(container)
}
