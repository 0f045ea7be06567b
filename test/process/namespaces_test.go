// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/apiserver"
	"github.com/redhat/podset-operator/test/faults"
)

// servedWithin is how soon a namespace must be served after its permissions are restored.
const servedWithin = time.Minute

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
	shop, bank := faults.NewEnv(t, cluster, "F27"), faults.NewEnv(t, cluster, "F27")
	user := "operator-of-" + bank.Namespace
	for _, e := range []*faults.Env{shop, bank} {
		e.RunKubelet(&faults.Kubelet{})
		e.Must(apiserver.GrantManagerRole(t.Context(), e.User, root, user, e.Namespace))
	}
	metrics, gauge := unreadableGauge(t, user)
	p := runContainer(shop, kubeconfig(t, cluster.Environment, user), managerEnv(shop.Namespace, bank.Namespace), "--metrics-bind-address="+metrics)

	shop.Create(podSet("a", 2))
	bank.Create(podSet("a", 2), at("ran", "now"))
	bank.WaitForAt("A4", "ran", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	bank.WaitForPods(3)
	shop.Settle()
	bank.Create(at("due", "now + 20 seconds"))
	bank.WaitForAt("A4", "due", func(a *cnatv1alpha1.At) bool { return a.Status.ObservedGeneration == a.Generation })

	replacePods(bank, "a")

	faults.Edit(bank, roleOf(bank), revoke)
	bank.Must(p.Kill())
	gomega.NewWithT(t).Eventually(p.Starts).WithTimeout(faults.DefaultTimeout).Should(gomega.Equal(2))
	shop.Create(podSet("b", 1), at("b", "now"))
	served := podAfter(shop, time.Now(), "b-pod", 2*servedWithin)
	shop.Check("A3", served <= 10*time.Second, "the other namespace is served after %v", served)
	gomega.NewWithT(t).Eventually(func() int { return p.Lines("cannot be read and is not served") }).WithTimeout(faults.DefaultTimeout).Should(gomega.Equal(1))
	gauge(bank, "1")
	gauge(shop, "0")
	bank.Wait(25 * time.Second) // An informer that cannot list has retried, and the other At is due.
	// An At can start in a namespace whose pods cannot be listed: the name of its pod prevents a second run.
	ranOnce(bank)

	role, err := apiserver.ManagerRole(root)
	bank.Must(err)
	faults.Edit(bank, roleOf(bank), func(r *rbacv1.Role) { r.Rules = role.Rules })
	again := podAfter(bank, time.Now(), "due-pod", 3*servedWithin)
	t.Logf("the namespace was served %v after its permissions were restored", again.Round(10*time.Millisecond))
	bank.Check("A3", again <= servedWithin, "the namespace was served %v after its permissions were restored", again)
	gauge(bank, "0")
	bank.Check("P3", p.Lines("can be read again") == 1, "the log does not report exactly once that the namespace can be read again")
	for _, e := range []*faults.Env{shop, bank} {
		e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
		e.Settle()
	}
	bank.Check("A3", ranOnce(bank) == 2, "not both Ats ran")
	bank.Check("P3", p.Starts() == 2, "the process was started %d times", p.Starts())
}

// unreadableGauge returns an address for the metrics of a user's manager, and a function that waits until
// podset_operator_namespace_unreadable has a value for a namespace.
func unreadableGauge(t *testing.T, user string) (address string, waitFor func(e *faults.Env, value string)) {
	t.Helper()
	// The manager asks the API server which clients may read its metrics.
	create(t, cluster.Admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
	})
	token, web := scraper(t, cluster.Admin), insecure()
	address = apiserver.FreeAddress(t)
	return address, func(e *faults.Env, value string) {
		t.Helper()
		gomega.NewWithT(t).Eventually(func() string { _, body := get(t, web, "https://"+address+"/metrics", token); return body }).
			WithTimeout(faults.DefaultTimeout).Should(gomega.ContainSubstring(`podset_operator_namespace_unreadable{target_namespace="` + e.Namespace + `"} ` + value + "\n"))
	}
}

// replacePods deletes the pods of a PodSet and holds their names until they are replaced. The names of the replacements differ from those
// that an operator without a view of the pods would choose.
func replacePods(e *faults.Env, set string) {
	e.Helper()
	var old []*corev1.Pod
	for _, pod := range e.Pods() {
		if pod.Labels[appv1alpha1.LabelPodSet] == set {
			pod = pod.DeepCopy() // The observer reads its own.
			old = append(old, pod)
			faults.Edit(e, pod, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/keep"} })
			e.Delete(pod)
		}
	}
	e.WaitForSet("P7", set, func(s *appv1alpha1.PodSet) bool {
		return len(s.Status.PodNames) == len(old) && !slices.ContainsFunc(old, func(p *corev1.Pod) bool { return slices.Contains(s.Status.PodNames, p.Name) })
	})
	for _, pod := range old {
		faults.Edit(e, pod, func(p *corev1.Pod) { p.Finalizers = nil })
	}
}

func roleOf(e *faults.Env) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "manager"}}
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
