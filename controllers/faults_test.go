// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// The faults that need a real API server. The simulation has all others.

// expectFailedCreate waits until a PodSet and an At report why their pods are not created, and that they are tried
// again.
func expectFailedCreate(t *testing.T, set *appv1alpha1.PodSet, at *cnatv1alpha1.At, reason, why string) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		degraded := meta.FindStatusCondition(refresh(g, ctx, set).Status.Conditions, appv1alpha1.ConditionDegraded)
		g.Expect(degraded).To(HaveField("Reason", appv1alpha1.ReasonFailedCreate))
		g.Expect(degraded.Message).To(ContainSubstring(why))
		scheduled := meta.FindStatusCondition(refresh(g, ctx, at).Status.Conditions, cnatv1alpha1.ConditionScheduled)
		g.Expect(scheduled).To(HaveField("Reason", reason))
		g.Expect(scheduled.Message).To(ContainSubstring(why))
		g.Expect(at.Status.Phase).To(Equal(cnatv1alpha1.PhasePending))
	}).WithTimeout(patience).Should(Succeed())
}

// F9: an admission webhook does not respond.
func TestFaults_webhook(t *testing.T) {
	namespace := newNamespace(t)
	match := creates(namespace)
	webhook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name:                    "broken.example.com",
		ClientConfig:            admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1")},
		NamespaceSelector:       match.NamespaceSelector,
		Rules:                   []admissionv1.RuleWithOperations{match.ResourceRules[0].RuleWithOperations},
		FailurePolicy:           ptr.To(admissionv1.Fail),
		SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
	}}}
	enforce(t, namespace, func(_ *corev1.Pod, err error) bool { return apierrors.IsInternalError(err) }, webhook)
	set, at := podSet(namespace, "a", 3), newAt(namespace, "a", "now", "echo YAY")
	create(t, set, at)
	expectFailedCreate(t, set, at, cnatv1alpha1.ReasonRequestFailed, "failed calling webhook")
	if c := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionStalled); c != nil {
		t.Errorf("the At waits for an edit: %+v", c)
	}
	if err := admin.Delete(t.Context(), webhook); err != nil {
		t.Fatal(err)
	}
	expectPods(t, set, 3)
	expectPhase(t, at, cnatv1alpha1.PhaseRunning)
}

// F15: the namespace is being deleted, but cannot be removed yet. The API server rejects creates in it.
func TestFaults_terminatingNamespace(t *testing.T) {
	namespace := newNamespace(t)
	set, at, keep := podSet(namespace, "a", 3), newAt(namespace, "a", "2020-01-30T10:02:00Z", "echo YAY"), podSet(namespace, "b", 2)
	at.Spec.Suspend = ptr.To(true)
	keep.Finalizers = []string{"example.com/keep"}
	create(t, set, at, keep)
	pods := append(expectPods(t, set, 3), expectPods(t, keep, 2)...)
	if err := admin.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), keep); err != nil {
		t.Fatal(err)
	}
	for i := range pods { // The namespace controller deletes them.
		if err := admin.Delete(t.Context(), &pods[i], client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	change(t, at, func(at *cnatv1alpha1.At) { at.Spec.Suspend = nil })
	expectFailedCreate(t, set, at, cnatv1alpha1.ReasonNamespaceTerminating, "because it is being terminated")
	writes := used.writesIn(namespace)
	<-time.After(2 * quiet)
	// The creates of the PodSet and of the At are rejected after 1, 3, and 7 s. Each leads to at most a status and an
	// event.
	atMost(t, "writes", used.writesIn(namespace)-writes, 12)
	expectFailedCreate(t, set, at, cnatv1alpha1.ReasonNamespaceTerminating, "because it is being terminated")
	NewWithT(t).Expect(podsIn(t.Context(), NewWithT(t), namespace)).To(BeEmpty())
	change(t, keep, func(set *appv1alpha1.PodSet) { set.Finalizers = nil })
	for _, object := range []client.Object{set, at} {
		if err := admin.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if rest := countWhile(t, namespace, "podset", func() {}); rest.writes > 2 {
		t.Errorf("%d writes without an object", rest.writes)
	}
}

// F10: a policy replaces the labels of pods, and adds a container. The owner reference shows whose pods they are.
func TestFaults_replacedLabels(t *testing.T) {
	namespace := newNamespace(t)
	name := metav1.ObjectMeta{Name: namespace}
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicySpec{
		MatchConstraints:   creates(namespace),
		ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		FailurePolicy:      ptr.To(admissionv1.Fail),
		Mutations: []admissionv1.Mutation{
			{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
				Expression: `[JSONPatch{op: "replace", path: "/metadata/labels", value: {"created-by": "policy"}}]`,
			}},
			{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{
				Expression: `Object{spec: Object.spec{containers: [Object.spec.containers{name: "sidecar", image: "sidecar"}]}}`,
			}},
		},
	}}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: namespace}}
	enforce(t, namespace, func(pod *corev1.Pod, _ error) bool { return len(pod.Spec.Containers) == 2 }, policy, binding)
	set, at := podSet(namespace, "a", 4), newAt(namespace, "a", "now", "echo YAY")
	create(t, set, at)
	for _, pod := range expectPods(t, set, 4) {
		if pod.Labels[appv1alpha1.LabelPodSet] != "" || len(pod.Spec.Containers) != 2 {
			t.Errorf("the policy has not changed %s", pod.Name)
		}
	}
	expectPhase(t, at, cnatv1alpha1.PhaseRunning)
	exit(t, podOf(t, at, "a-pod"), 0, "")
	expectPhase(t, at, cnatv1alpha1.PhaseDone)
	change(t, set, func(set *appv1alpha1.PodSet) { set.Spec.Replicas = ptr.To[int32](2) })
	expectPods(t, set, 2)
	if got := used.writesIn(namespace, newPod); got != 5 {
		t.Errorf("%d creates of pods", got)
	}
}

// creates matches creates of pods in a namespace.
func creates(namespace string) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}},
	}
}

// enforce creates the objects of an admission policy or webhook, and waits until dry runs show that the API server
// enforces it. It skips the test if the API server is too old for the kind.
func enforce(t *testing.T, namespace string, works func(*corev1.Pod, error) bool, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		err := admin.Create(t.Context(), object)
		if meta.IsNoMatchError(err) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.Background(), object) })
	}
	NewWithT(t).Eventually(func() error {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: namespace, Labels: map[string]string{appv1alpha1.LabelPodSet: "probe"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "one"}}},
		}
		if err := admin.Create(t.Context(), probe, client.DryRunAll); !works(probe, err) {
			return fmt.Errorf("it is not enforced: %w", err)
		}
		return nil
	}).WithTimeout(patience).Should(Succeed())
}
