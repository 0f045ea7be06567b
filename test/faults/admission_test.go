// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// degraded reports whether a condition shows that creates fail, and why.
func degraded(why string) func(*appv1alpha1.PodSet) bool {
	return func(s *appv1alpha1.PodSet) bool {
		c := meta.FindStatusCondition(s.Status.Conditions, appv1alpha1.ConditionDegraded)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == appv1alpha1.ReasonFailedCreate && strings.Contains(c.Message, why)
	}
}

// eventually waits for a state that the observer does not watch.
func eventually(e *faults.Env, f func() error) {
	e.Helper()
	gomega.NewWithT(e).Eventually(f).WithTimeout(faults.DefaultTimeout).WithPolling(100 * time.Millisecond).Should(gomega.Succeed())
}

// F9: all creates of pods fail, because an admission webhook does not respond.
func TestBrokenWebhook(t *testing.T) {
	t.Parallel()
	e := faults.NewEnv(t, cluster, "F9")
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	match := podsOf(e)
	webhook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name:                    "broken.example.com",
		ClientConfig:            admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1")},
		NamespaceSelector:       match.NamespaceSelector,
		Rules:                   []admissionv1.RuleWithOperations{match.ResourceRules[0].RuleWithOperations},
		FailurePolicy:           ptr.To(admissionv1.Fail),
		SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
	}}}
	enforce(e, apierrors.IsInternalError, webhook)
	e.Supervise()
	e.Create(podSet("a", 3), at("a", "now", "echo YAY"))
	e.WaitForSet("P9", "a", degraded("failed calling webhook"))
	e.WaitForAt("A4", "a", func(a *cnatv1alpha1.At) bool {
		c := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionScheduled)
		return c != nil && c.Reason == cnatv1alpha1.ReasonRequestFailed && strings.Contains(c.Message, "failed calling webhook") &&
			meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionStalled) == nil
	})
	e.Delete(webhook)
	e.ExpectIdle()
	e.ExpectCounts(faults.Counts{Creates: 4})
}

// podsOf matches creates of pods in the namespace.
func podsOf(e *faults.Env) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Namespace}},
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}},
	}
}

// enforce creates the objects of an admission policy or webhook and waits until a dry run shows that it is enforced.
func enforce(e *faults.Env, works func(error) bool, objects ...client.Object) {
	e.Helper()
	for _, object := range objects {
		gomega.NewWithT(e).Expect(e.User.Create(e.Context(), object)).To(gomega.Succeed())
		e.Cleanup(func() { _ = e.Cluster.Admin.Delete(e.Context(), object) })
	}
	eventually(e, func() error {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: e.Namespace, Labels: map[string]string{appv1alpha1.LabelPodSet: "probe"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "one"}}},
		}
		if err := e.User.Create(e.Context(), probe, client.DryRunAll); !works(err) && len(probe.Spec.Containers) == 1 {
			return fmt.Errorf("the policy is not enforced: %w", err)
		}
		return nil
	})
}

// F10, F32: admission changes pods, or their names.
func TestMutatedPods(t *testing.T) {
	runCases(t, "F10", map[string]testCase{
		"labels removed, container added": func(e *faults.Env) {
			mutatePods(e, `[JSONPatch{op: "replace", path: "/metadata/labels", value: {"created-by": "policy"}}]`)
			e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			e.Supervise()
			e.Create(podSet("a", 4), at("a", "now", "echo YAY"))
			e.Settle()
			scale(e, "a", 2)
			e.ExpectIdle()
			e.ExpectCounts(faults.Counts{Creates: 5, Deletes: 2})
			for _, pod := range e.Pods() {
				e.Check("P1", len(pod.Spec.Containers) == 2, "pod %s was not changed", pod.Name)
			}
		},
		// Each pod is deleted again. An At ends, and a PodSet waits before the next create.
		"a generated name": func(e *faults.Env) {
			e.ChangesIdentity = true
			mutatePods(e, `[JSONPatch{op: "remove", path: "/metadata/name"},
				JSONPatch{op: "add", path: "/metadata/generateName", value: object.metadata.name + "-"}]`)
			e.Supervise()
			e.Create(podSet("a", 3), at("b", "now", "echo YAY"))
			e.WaitForAt("A3", "b", done(cnatv1alpha1.ReasonPodModified))
			e.WaitForSet("P9", "a", degraded("admission changed the name of pod a-pod"))
			e.Wait(8 * time.Second) // creates after 0, 1, 3, and 7 s
			creates := e.Log.Calls(faults.Creates)
			e.Check("P9", len(creates) <= 5, "%d creates of pods were sent", len(creates))
			gomega.NewWithT(e).Eventually(func() int { return len(e.Pods()) }).WithTimeout(e.Timeout).Should(gomega.BeZero(), "P15: pods that stay")
		},
	})
}

// mutatePods changes new pods by a JSON patch, and adds a container.
func mutatePods(e *faults.Env, patch string) {
	e.Helper()
	name := metav1.ObjectMeta{Name: e.Namespace}
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicySpec{
		MatchConstraints:   podsOf(e),
		ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		FailurePolicy:      ptr.To(admissionv1.Fail),
		Mutations: []admissionv1.Mutation{
			{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: patch}},
			{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{
				Expression: `Object{spec: Object.spec{containers: [Object.spec.containers{name: "sidecar", image: "sidecar"}]}}`,
			}},
		},
	}}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: e.Namespace}}
	enforce(e, func(error) bool { return false }, policy, binding)
}
