// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/apiserver"
)

// F27: the manager starts without the permissions of one of two namespaces, and gets them back later.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	for name, revoke := range map[string]func(*rbacv1.Role){
		"no permission is left": func(r *rbacv1.Role) { r.Rules = nil },
		"pods cannot be listed": func(r *rbacv1.Role) { r.Rules = without(r.Rules, "pods", "list", "watch") },
		"Ats cannot be listed":  func(r *rbacv1.Role) { r.Rules = without(r.Rules, "ats", "list", "watch") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unreadable(t, revoke)
		})
	}
}

func unreadable(t *testing.T, revoke func(*rbacv1.Role)) {
	g, shop, bank := NewWithT(t), namespace(t, admin), namespace(t, admin)
	user := "operator-of-" + bank
	for _, namespace := range []string{shop, bank} {
		g.Expect(apiserver.GrantManagerRole(t.Context(), admin, root, user, namespace)).To(Succeed())
	}
	metrics, expectGauge := unreadableGauge(t, user)
	p := runContainer(t, kubeconfig(t, cluster, user), managerEnv(shop, bank), "--metrics-bind-address="+metrics)
	ran, due := at(bank, "ran", "now"), at(bank, "due", "now + 12 seconds")
	create(t, admin, podSet(bank, "a", 2), ran)
	g.Eventually(func() cnatv1alpha1.Phase { return read(t, ran).Status.Phase }).WithTimeout(time.Minute).Should(Equal(cnatv1alpha1.PhaseRunning))
	g.Eventually(pods(t, admin, bank)).WithTimeout(time.Minute).Should(Equal(3))
	set := replacePods(t, bank)
	create(t, admin, due)
	g.Eventually(func() int64 { return read(t, due).Status.ObservedGeneration }).WithTimeout(10 * time.Second).Should(Equal(due.Generation))

	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: bank, Name: "manager"}}
	rules := read(t, role).DeepCopy().Rules
	revoke(role)
	g.Expect(admin.Update(t.Context(), role)).To(Succeed())
	g.Expect(p.Kill()).To(Succeed())
	g.Eventually(p.Starts).WithTimeout(time.Minute).Should(Equal(2))
	create(t, admin, podSet(shop, "b", 1), at(shop, "b", "now"))
	g.Eventually(pods(t, admin, shop)).WithTimeout(20*time.Second).Should(Equal(2), "the other namespace is served")
	g.Eventually(func() int { return p.Lines("cannot be read and is not served") }).WithTimeout(time.Minute).Should(Equal(1))
	expectGauge(bank, "1")
	expectGauge(shop, "0")
	<-time.After(8 * time.Second) // An informer that cannot list has retried, and the other At is due.

	g.Expect(podNames(t, bank)).To(ContainElements("ran-pod", set[0], set[1]))
	change(t, role, func(r *rbacv1.Role) { r.Rules = rules })
	g.Eventually(func() cnatv1alpha1.Phase { return read(t, due).Status.Phase }).WithTimeout(time.Minute).Should(Equal(cnatv1alpha1.PhaseRunning))
	expectGauge(bank, "0")
	// Without a view of its pods, the PodSet may have got others.
	g.Eventually(pods(t, admin, bank)).WithTimeout(time.Minute).Should(Equal(4))
	g.Expect(podNames(t, bank)).To(ContainElements("ran-pod", "due-pod"))
	g.Expect(p.Lines("can be read again")).To(Equal(1))
	g.Expect([]int32{read(t, ran).Status.Attempts, due.Status.Attempts}).To(HaveEach(int32(1)), "how often the Ats ran")
	g.Expect(p.Starts()).To(Equal(2))
}

// unreadableGauge returns an address for the metrics of a user's manager, and a function that waits until
// podset_operator_namespace_unreadable has a value for a namespace.
func unreadableGauge(t *testing.T, user string) (address string, expect func(namespace, value string)) {
	t.Helper()
	// The manager asks the API server which clients may read its metrics.
	create(t, admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
	})
	token, web := scraper(t, admin), insecure()
	address = apiserver.FreeAddress(t)
	return address, func(namespace, value string) {
		t.Helper()
		NewWithT(t).Eventually(func() string { _, body := get(t, web, "https://"+address+"/metrics", token); return body }).
			WithTimeout(time.Minute).Should(ContainSubstring(`podset_operator_namespace_unreadable{target_namespace="` + namespace + `"} ` + value + "\n"))
	}
}

// replacePods deletes the pods of the only PodSet of a namespace, and holds their names until they are replaced. The names of the
// replacements differ from those that an operator without a view of the pods would choose.
func replacePods(t *testing.T, namespace string) (replacements []string) {
	t.Helper()
	list := &corev1.PodList{}
	if err := admin.List(t.Context(), list, client.InNamespace(namespace), client.HasLabels{"app.example.com/podset"}); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		change(t, &list.Items[i], func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/keep"} })
		if err := admin.Delete(t.Context(), &list.Items[i], client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	NewWithT(t).Eventually(pods(t, admin, namespace)).WithTimeout(time.Minute).Should(Equal(5))
	for i := range list.Items {
		change(t, read(t, &list.Items[i]), func(pod *corev1.Pod) { pod.Finalizers = nil })
	}
	return slices.DeleteFunc(podNames(t, namespace), func(name string) bool { return name == "ran-pod" })
}

// podNames returns the names of the pods of a namespace, in order.
func podNames(t *testing.T, namespace string) []string {
	t.Helper()
	list := &corev1.PodList{}
	if err := admin.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// change edits an object as the administrator.
func change[T client.Object](t *testing.T, object T, edit func(T)) {
	t.Helper()
	base := object.DeepCopyObject().(client.Object)
	edit(object)
	if err := admin.Patch(t.Context(), object, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}

// without removes the permission to use verbs on a resource.
func without(rules []rbacv1.PolicyRule, resource string, verbs ...string) []rbacv1.PolicyRule {
	for i, rule := range rules {
		if fmt.Sprint(rule.Resources) != fmt.Sprint([]string{resource}) {
			continue
		}
		rules[i].Verbs = nil
		for _, verb := range rule.Verbs {
			if !slices.Contains(verbs, verb) {
				rules[i].Verbs = append(rules[i].Verbs, verb)
			}
		}
	}
	return rules
}
