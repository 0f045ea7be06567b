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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// firstRefusalStep is the operator's.
const firstRefusalStep = time.Second

// F8: the quota is full, then raised.
func TestQuota(t *testing.T) {
	try(t, "F8", map[string]trial{
		"of a set": quotaOfSet,
		"of an At": func(w *faults.World) {
			w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			quota := limitPods(w, "0")
			w.Supervise()
			start := time.Now()
			w.Create(at("a", "now", "echo YAY"))
			w.AwaitAt("P9", "a", func(a *cnatv1alpha1.At) bool {
				c := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionScheduled)
				return c != nil && c.Reason == cnatv1alpha1.ReasonFailedCreate && strings.Contains(c.Message, "quota")
			})
			w.Pass(5 * time.Second)
			w.Refused(start, firstRefusalStep)
			raise(w, quota, "9")
			w.Rest()
			w.Costs(faults.Counts{Creates: 1})
		},
	})
}

func quotaOfSet(w *faults.World) {
	quota := limitPods(w, "3")
	w.Supervise()
	start := time.Now()
	w.Create(podSet("a", 5))
	w.AwaitPods(3)
	w.AwaitSet("P9", "a", degraded("quota"))
	w.Pass(5 * time.Second)
	w.Refused(start, firstRefusalStep)
	raise(w, quota, "9")
	w.Rest()
	w.Costs(faults.Counts{Creates: 5})
}

// degraded finds a condition that says that creates fail, and why.
func degraded(why string) func(*appv1alpha1.PodSet) bool {
	return func(s *appv1alpha1.PodSet) bool {
		c := meta.FindStatusCondition(s.Status.Conditions, appv1alpha1.ConditionDegraded)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == appv1alpha1.ReasonFailedCreate && strings.Contains(c.Message, why)
	}
}

// limitPods makes a quota and waits until it is in force.
func limitPods(w *faults.World, n string) *corev1.ResourceQuota {
	w.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse(n)}},
	}
	w.Create(quota)
	awaitQuota(w, quota)
	return quota
}

func raise(w *faults.World, quota *corev1.ResourceQuota, n string) {
	w.Helper()
	faults.Edit(w, quota, func(q *corev1.ResourceQuota) { q.Spec.Hard[corev1.ResourcePods] = resource.MustParse(n) })
	awaitQuota(w, quota)
}

func awaitQuota(w *faults.World, quota *corev1.ResourceQuota) {
	w.Helper()
	eventually(w, func() error {
		if err := w.User.Get(w.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if q, ok := quota.Status.Hard[corev1.ResourcePods]; !ok || !q.Equal(quota.Spec.Hard[corev1.ResourcePods]) {
			return fmt.Errorf("the quota is not in force")
		}
		return nil
	})
}

// eventually waits for something that the witness does not watch.
func eventually(w *faults.World, f func() error) {
	w.Helper()
	gomega.NewWithT(w).Eventually(f).WithTimeout(faults.Patience).WithPolling(100 * time.Millisecond).Should(gomega.Succeed())
}

// F9: Pod Security "restricted", and a policy that denies.
func TestDeniedPods(t *testing.T) {
	try(t, "F9", map[string]trial{
		"default pods pass the standard restricted": func(w *faults.World) {
			restrict(w)
			w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			w.Supervise()
			w.Create(podSet("a", 3), at("a", "now", "echo YAY"))
			w.Rest()
			w.Costs(faults.Counts{Creates: 4})
		},
		"a template that the standard refuses": func(w *faults.World) {
			restrict(w)
			w.Supervise()
			start := time.Now()
			set := podSet("a", 3)
			set.Spec.Template = template("one")
			w.Create(set)
			w.AwaitSet("P9", "a", degraded("violates PodSecurity"))
			w.Pass(5 * time.Second)
			w.Refused(start, firstRefusalStep)
			faults.Edit(w, set, func(s *appv1alpha1.PodSet) { s.Spec.Template = nil })
			w.Rest()
			w.Costs(faults.Counts{Creates: 3})
		},
		"a policy that denies, and is withdrawn": func(w *faults.World) {
			withdraw := denyPods(w)
			w.Supervise()
			start := time.Now()
			w.Create(podSet("a", 3))
			w.AwaitSet("P9", "a", degraded("no pods today"))
			w.Pass(5 * time.Second)
			w.Refused(start, firstRefusalStep)
			withdraw()
			w.Rest()
			w.Costs(faults.Counts{Creates: 3})
		},
	})
}

func restrict(w *faults.World) {
	w.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	faults.Edit(w, namespace, func(n *corev1.Namespace) {
		n.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	})
}

// podsOf picks creates of pods in the world's namespace.
func podsOf(w *faults.World) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.Namespace}},
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}},
	}
}

// denyPods denies all pods of the world until the returned function is called.
func denyPods(w *faults.World) (withdraw func()) {
	w.Helper()
	name := metav1.ObjectMeta{Name: w.Namespace}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: podsOf(w),
		Validations:      []admissionv1.Validation{{Expression: "false", Message: "no pods today"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: w.Namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	inForce(w, policy, binding, func(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) })
	return func() {
		w.Delete(binding)
		w.Delete(policy)
	}
}

// inForce makes a policy and waits until a dry run shows that it works.
func inForce(w *faults.World, policy, binding client.Object, works func(error) bool) {
	w.Helper()
	for _, object := range []client.Object{policy, binding} {
		gomega.NewWithT(w).Expect(w.User.Create(w.Context(), object)).To(gomega.Succeed())
		w.Cleanup(func() { _ = w.Cluster.Admin.Delete(w.Context(), object) })
	}
	eventually(w, func() error {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: w.Namespace, Labels: map[string]string{appv1alpha1.LabelPodSet: "probe"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "one"}}},
		}
		if err := w.User.Create(w.Context(), probe, client.DryRunAll); !works(err) && len(probe.Spec.Containers) == 1 {
			return fmt.Errorf("the policy is not in force: %w", err)
		}
		return nil
	})
}

// F10: admission changes our pods: our labels are gone, a container is added.
func TestMutatedPods(t *testing.T) {
	try(t, "F10", map[string]trial{
		"labels dropped, container added": func(w *faults.World) {
			mutatePods(w)
			w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			w.Supervise()
			w.Create(podSet("a", 4), at("a", "now", "echo YAY"))
			w.Settle()
			scale(w, "a", 2)
			w.Rest()
			w.Costs(faults.Counts{Creates: 5, Deletes: 2})
			for _, pod := range w.Pods() {
				w.Check("P1", len(pod.Spec.Containers) == 2, "pod %s was not changed", pod.Name)
			}
		},
	})
}

func mutatePods(w *faults.World) {
	w.Helper()
	name := metav1.ObjectMeta{Name: w.Namespace}
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicySpec{
		MatchConstraints:   podsOf(w),
		ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		FailurePolicy:      ptr.To(admissionv1.Fail),
		Mutations: []admissionv1.Mutation{
			{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
				Expression: `[JSONPatch{op: "replace", path: "/metadata/labels", value: {"made-by": "policy"}}]`,
			}},
			{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{
				Expression: `Object{spec: Object.spec{containers: [Object.spec.containers{name: "sidecar", image: "sidecar"}]}}`,
			}},
		},
	}}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: w.Namespace}}
	inForce(w, policy, binding, func(error) bool { return false })
}
