// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package atspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

// CommandProblem returns why the command cannot run, or "" if it can. Admission rejects the same specs. This function and TemplateProblem
// are for an At that was stored before the CRD had these checks.
func CommandProblem(at *cnatv1alpha1.AtSpec) string {
	switch {
	case at.Command == "" && at.Template == nil:
		return "spec.command is required without a template: set spec.command to the program to run, or set spec.template, " +
			"whose first container then runs its own command or the entrypoint of its image"
	case at.Command == "":
		return ""
	}
	if _, err := SplitCommand(at.Command); err != nil {
		return "spec.command: " + err.Error()
	}
	return ""
}

// TemplateProblem returns why the template cannot run the command exactly once, or "" if it can. Admission rejects the same
// templates.
func TemplateProblem(at *cnatv1alpha1.AtSpec) string {
	if at.Template == nil {
		return ""
	}
	spec := &at.Template.Spec
	switch {
	case len(spec.Containers) == 0:
		return "spec.template.spec.containers must name at least one container: the first one runs the command"
	case spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyNever:
		return "spec.template.spec.restartPolicy must be Never, or absent: an At runs its command once"
	case at.Command != "" && len(spec.Containers[0].Command)+len(spec.Containers[0].Args) > 0:
		return "spec.template.spec.containers[0] must not set command or args, because it runs spec.command: remove them, or remove spec.command"
	case slices.ContainsFunc(spec.Containers, MayRestart):
		return "spec.template.spec.containers must not set restartPolicy other than Never, nor restartPolicyRules: an At runs its command once"
	case slices.ContainsFunc(spec.InitContainers, pods.HasRestartRules):
		return "spec.template.spec.initContainers must not set restartPolicyRules, which can restart all containers: an At runs its command once"
	}
	return ""
}

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
