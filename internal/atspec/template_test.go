// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package atspec_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/testutil"
)

// Admission rejects these templates first; TestAdmission_templates in controllers has the same rows.
func TestTemplateProblem(t *testing.T) {
	rules := []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}
	container := func(i int, policy corev1.ContainerRestartPolicy, rules ...corev1.ContainerRestartRule) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[i].RestartPolicy, t.Spec.Containers[i].RestartPolicyRules = ptr.To(policy), rules
		}
	}
	initial := func(policy corev1.ContainerRestartPolicy, rules ...corev1.ContainerRestartRule) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) {
			t.Spec.InitContainers = []corev1.Container{{Name: "first"}, {Name: "init", RestartPolicy: &policy, RestartPolicyRules: rules}}
		}
	}
	for name, test := range map[string]struct {
		edit func(*corev1.PodTemplateSpec)
		want string
	}{
		"a pod with Never":                      {func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyNever }, ""},
		"a pod with OnFailure":                  {func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }, "spec.template.spec.restartPolicy"},
		"a main container with Always":          {container(0, corev1.ContainerRestartPolicyAlways), "spec.template.spec.containers"},
		"a main container with OnFailure":       {container(0, corev1.ContainerRestartPolicyOnFailure), "spec.template.spec.containers"},
		"a main container with a rule":          {container(0, corev1.ContainerRestartPolicyNever, rules...), "spec.template.spec.containers"},
		"a main container with Never":           {container(0, corev1.ContainerRestartPolicyNever), ""},
		"a second container with Always":        {container(1, corev1.ContainerRestartPolicyAlways), "spec.template.spec.containers"},
		"a second container with a rule":        {container(1, corev1.ContainerRestartPolicyNever, rules...), "spec.template.spec.containers"},
		"a second container with Never":         {container(1, corev1.ContainerRestartPolicyNever), ""},
		"a sidecar":                             {initial(corev1.ContainerRestartPolicyAlways), ""},
		"a sidecar with a rule":                 {initial(corev1.ContainerRestartPolicyAlways, rules...), "spec.template.spec.initContainers"},
		"an init container that is tried again": {initial(corev1.ContainerRestartPolicyOnFailure), ""},
		"an init container with a rule":         {initial(corev1.ContainerRestartPolicyNever, rules...), "spec.template.spec.initContainers"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := testutil.MakeAt("a").Template(test.edit, "main", "second").Obj().Spec
			if got := atspec.TemplateProblem(&spec); (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Admission rejects these specs first; TestAdmission_commands in controllers has the same rows.
func TestCommandProblem(t *testing.T) {
	ownCommand := func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Command = []string{"own"} }
	ownArgs := func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Args = []string{"own"} }
	a := func() *testutil.AtBuilder { return testutil.MakeAt("a") }
	for name, test := range map[string]struct {
		at                *testutil.AtBuilder
		command, template string // the beginning of the problem, or "" for none
	}{
		"neither command nor template": {a().Command(""), "spec.command is required without a template: set spec.command ", ""},
		"two commands":                 {a().Template(ownCommand, "main"), "", "spec.template.spec.containers[0] must not set command or args"},
		"a command and args":           {a().Template(ownArgs, "main"), "", "spec.template.spec.containers[0] must not set command or args"},
		"a template without a command": {a().Command("").Template(nil, "main"), "", ""},
		"the template's own command":   {a().Command("").Template(ownCommand, "main"), "", ""},
		"the template's own args":      {a().Command("").Template(ownArgs, "main"), "", ""},
	} {
		spec := test.at.Obj().Spec
		for _, p := range []struct{ got, want string }{{atspec.CommandProblem(&spec), test.command}, {atspec.TemplateProblem(&spec), test.template}} {
			if (p.got == "") != (p.want == "") || !strings.HasPrefix(p.got, p.want) {
				t.Errorf("%s: got %q, want %q", name, p.got, p.want)
			}
		}
	}
}

// The API server drops fields that the CRDs do not have, so what a template can do is what these types can. A field that a
// newer library adds must be reviewed before it is added here: can it repeat the command of an At, or end the pods of a PodSet?
func TestTemplateProblem_fields(t *testing.T) {
	for _, test := range []struct {
		of   any
		want string
	}{
		{corev1.PodSpec{}, `activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy
			enableServiceLinks ephemeralContainers evictionResponders hostAliases hostIPC hostNetwork hostPID hostUsers hostname
			hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority
			priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates
			schedulingGroup securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
			terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes`},
		{corev1.Container{}, `args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe
			resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce
			terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir`},
		{corev1.Lifecycle{}, "postStart preStop stopSignal"},
	} {
		want := map[string]bool{}
		for _, name := range strings.Fields(test.want) {
			want[name] = true
		}
		got, of := map[string]bool{}, reflect.TypeOf(test.of)
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			got[name] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-reviewed +got):\n%s", of, diff)
		}
	}
}
