// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestMakePlan_invalidTemplate(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(1).Template(func(*corev1.PodTemplateSpec) {})
	plan := MakePlan(Observation{Set: set.Obj(), Now: now, Pods: ready(testutil.MakePodSet("a").Image("v1"), 2)})
	if len(plan.Create) != 0 || len(plan.Delete) != 1 {
		t.Errorf("%d pods are created and %d deleted", len(plan.Create), len(plan.Delete))
	}
}

// Admission rejects these templates first; TestAdmission_templates in controllers has the same rows.
func TestTemplateProblem(t *testing.T) {
	rules := []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}
	container := func(policy corev1.ContainerRestartPolicy, rules ...corev1.ContainerRestartRule) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "second", RestartPolicy: &policy, RestartPolicyRules: rules})
		}
	}
	initial := func(policy corev1.ContainerRestartPolicy, rules ...corev1.ContainerRestartRule) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) {
			t.Spec.InitContainers = []corev1.Container{{Name: "first"}, {Name: "init", RestartPolicy: &policy, RestartPolicyRules: rules}}
		}
	}
	for title, tc := range map[string]struct {
		edit func(*corev1.PodTemplateSpec)
		want string
	}{
		"no containers":                         {func(t *corev1.PodTemplateSpec) { t.Spec.Containers = nil }, "spec.template.spec.containers must name"},
		"a pod with Always":                     {func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyAlways }, ""},
		"a pod with Never":                      {func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyNever }, "spec.template.spec.restartPolicy"},
		"a pod with a deadline":                 {func(t *corev1.PodTemplateSpec) { t.Spec.ActiveDeadlineSeconds = ptr.To[int64](9) }, "spec.template.spec.activeDeadlineSeconds"},
		"a container with Always":               {container(corev1.ContainerRestartPolicyAlways), ""},
		"a container with OnFailure":            {container(corev1.ContainerRestartPolicyOnFailure), "spec.template.spec.containers must not"},
		"a container with Never":                {container(corev1.ContainerRestartPolicyNever), "spec.template.spec.containers must not"},
		"a container with a rule":               {container(corev1.ContainerRestartPolicyAlways, rules...), "spec.template.spec.containers must not"},
		"a sidecar":                             {initial(corev1.ContainerRestartPolicyAlways), ""},
		"a sidecar with a rule":                 {initial(corev1.ContainerRestartPolicyAlways, rules...), "spec.template.spec.initContainers"},
		"an init container that is tried again": {initial(corev1.ContainerRestartPolicyOnFailure), ""},
		"an init container with Never":          {initial(corev1.ContainerRestartPolicyNever), "spec.template.spec.initContainers"},
	} {
		t.Run(title, func(t *testing.T) {
			before := testutil.MakePodSet("a").Replicas(3).Image("v1")
			set := testutil.MakePodSet("a").Replicas(3).Image("v1").Template(tc.edit).Obj()
			o := Observation{Set: set, Now: now, Pods: ready(before, 2)}
			plan := MakePlan(o)
			degraded := meta.FindStatusCondition(newStatus(o, Outcome{}).Conditions, appv1alpha1.ConditionDegraded)
			switch {
			case tc.want == "" && len(plan.Create) != 1:
				t.Errorf("%d pods are created: %v", len(plan.Create), degraded)
			case tc.want != "" && !plan.IsEmpty():
				t.Errorf("the plan is not empty: %v", plan)
			case tc.want != "" && (degraded.Reason != appv1alpha1.ReasonInvalidTemplate || !strings.HasPrefix(degraded.Message, tc.want)):
				t.Errorf("condition: %v", degraded)
			}
		})
	}
}
