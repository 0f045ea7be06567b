// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
	"github.com/redhat/podset-operator/test/sim"
)

// opened reports whether somebody else opened a pod, which no status has recorded.
func opened(pod *corev1.Pod, recorded bool) bool { return !recorded && !invariants.IsGated(pod) }

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// The defects of a start that has no lock but the gate, and of a stop that admission can refuse.
func init() {
	maps.Copy(defects, map[string]struct {
		operator sim.Operator
		violates string
		seldom   string
	}{
		"adopts a pod whose create was not answered": {with(sim.Defect{AdoptsUnanswered: true}), "A21", ""},
		"ends an At without a look at its name":      {with(sim.Defect{Hides: opened}), "", "A22"},
		"makes a pod again that somebody else opened": {with(sim.Defect{
			Replaces: true, Hides: func(pod *corev1.Pod, recorded bool) bool { return opened(pod, recorded) && hasEnded(pod) },
		}), "", "A1"},
		"does not say that a command did not run": {onStatus(func(status map[string]any) {
			conditions, _ := status["conditions"].([]any)
			for _, c := range conditions {
				c := c.(map[string]any)
				c["message"] = strings.ReplaceAll(c["message"].(string), "did not run", "may have run")
				if c["type"] == cnatv1alpha1.ConditionCommandRan {
					c["status"] = metav1.ConditionUnknown
				}
			}
		}), "A25", ""},
		"does not delete a pod that it cannot stop": {with(sim.Defect{KeepsBound: true}), "", "A3"},
		"deletes an unbound pod in any state": {with(sim.Defect{Delete: func(o *metav1.DeleteOptions) {
			if o.PropagationPolicy == nil { // That of an At has one.
				o.Preconditions.ResourceVersion = nil
			}
		}}), "", "A24"},
		"makes a budget for all pods with the labels of an At": {with(sim.Defect{Budget: func(budget *policyv1.PodDisruptionBudget) {
			budget.Spec.Selector.MatchLabels = budget.Labels
		}}), "A26", ""},
		"opens a pod although its budget is missing": {with(sim.Defect{Budget: func(budget *policyv1.PodDisruptionBudget) {
			budget.Spec.Selector.MatchLabels = map[string]string{"no": "pod"}
		}}), "A26", ""},
		"removes any gate": {with(sim.Defect{Patch: func(operations []map[string]any) []map[string]any {
			return slices.DeleteFunc(operations, func(o map[string]any) bool {
				path, _ := o["path"].(string)
				return strings.HasSuffix(path, "/name")
			})
		}}), "", "P4"},
	})
}
