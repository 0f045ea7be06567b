// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/pods"
)

// templateProblem returns why the pods of a template would not keep running, or "" if they would. Admission rejects the same templates.
// This function is for a PodSet that was stored before the CRD had these checks.
func templateProblem(template *corev1.PodTemplateSpec) string {
	if template == nil {
		return ""
	}
	spec := &template.Spec
	switch {
	case len(spec.Containers) == 0:
		return "spec.template.spec.containers must name at least one container"
	case spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyAlways:
		return "spec.template.spec.restartPolicy must be Always, or absent: a PodSet keeps its pods running"
	case spec.ActiveDeadlineSeconds != nil:
		return "spec.template.spec.activeDeadlineSeconds must be absent: a PodSet keeps its pods running"
	case slices.ContainsFunc(spec.Containers, mayEnd):
		return "spec.template.spec.containers must not set restartPolicy other than Always, nor restartPolicyRules: a PodSet keeps its pods running"
	case slices.ContainsFunc(spec.InitContainers, mayFail):
		return "spec.template.spec.initContainers must not set restartPolicy Never, nor restartPolicyRules: a PodSet keeps its pods running"
	}
	return ""
}

// mayEnd reports whether the kubelet may leave a container stopped after its exit.
func mayEnd(container corev1.Container) bool {
	policy := container.RestartPolicy
	return policy != nil && *policy != corev1.ContainerRestartPolicyAlways || pods.HasRestartRules(container)
}

// mayFail reports whether an init container that fails ends its pod instead of being retried.
func mayFail(container corev1.Container) bool {
	policy := container.RestartPolicy
	return policy != nil && *policy == corev1.ContainerRestartPolicyNever || pods.HasRestartRules(container)
}
