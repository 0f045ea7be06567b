// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// servedWithin is how soon a namespace must be served after its permissions are restored.
const servedWithin = time.Minute

// F27: the manager starts without the permissions of one of two namespaces, and gets them back later.
func TestUnreadableNamespace(t *testing.T) {
	t.Parallel()
	binary := faults.Build(t.Context(), t)
	for name, revoke := range map[string]func(*rbacv1.Role){
		"no permission is left": func(r *rbacv1.Role) { r.Rules = nil },
		"pods cannot be listed": func(r *rbacv1.Role) { r.Rules = without(r.Rules, "pods", "list", "watch") },
		"Ats cannot be listed":  func(r *rbacv1.Role) { r.Rules = without(r.Rules, "ats", "list", "watch") },
		"Ats cannot be watched": func(r *rbacv1.Role) { r.Rules = without(r.Rules, "ats", "watch") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unreadable(t, binary, revoke)
		})
	}
}

func unreadable(t *testing.T, binary string, revoke func(*rbacv1.Role)) {
	shop, bank := faults.NewEnv(t, cluster, "F27", faults.Ours), faults.NewEnv(t, cluster, "F27", faults.Ours)
	user := "operator-of-" + bank.Namespace
	for _, e := range []*faults.Env{shop, bank} {
		e.RunKubelet(&faults.Kubelet{})
		grant(e, user)
	}
	added, err := cluster.Environment.AddUser(envtest.User{Name: user}, cluster.Config)
	bank.Must(err)
	kubeconfig, err := added.KubeConfig()
	bank.Must(err)
	p := shop.RunManager(binary, writeFile(t, "kubeconfig", kubeconfig), managerEnv(shop.Namespace, bank.Namespace), "--health-probe-bind-address=0")

	shop.Create(podSet("a", 2))
	bank.Create(podSet("a", 2), at("ran", "now", "echo YAY"))
	bank.AwaitAt("A4", "ran", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	bank.AwaitPods(3)
	shop.Settle()
	bank.Create(at("due", "now + 20 seconds", "echo YAY"))
	bank.AwaitAt("A4", "due", func(a *cnatv1alpha1.At) bool { return a.Status.ObservedGeneration == a.Generation })

	replacePods(bank, "a")

	faults.Edit(bank, roleOf(bank), revoke)
	bank.Must(p.Kill())
	gomega.NewWithT(t).Eventually(p.Starts).WithTimeout(faults.DefaultTimeout).Should(gomega.Equal(2))
	shop.Create(podSet("b", 1), at("b", "now", "echo YAY"))
	served, err := shop.PodAfter(time.Now(), "b-pod", 2*servedWithin)
	shop.Must(err)
	shop.Check("A3", served <= 10*time.Second, "the other namespace is served after %v", served)
	gomega.NewWithT(t).Eventually(func() int { return p.Lines("cannot be read and is not served") }).WithTimeout(faults.DefaultTimeout).Should(gomega.Equal(1))
	bank.Wait(25 * time.Second) // An informer that cannot list has retried, and the other At is due.
	// An At can start in a namespace whose pods cannot be listed: the name of its pod prevents a second run.
	ranOnce(bank)

	granted := roleOf(bank)
	bank.Must(bank.User.Get(bank.Context(), client.ObjectKeyFromObject(granted), granted))
	granted.Rules = managerRules(bank)
	bank.Must(bank.User.Update(bank.Context(), granted))
	again, err := bank.PodAfter(time.Now(), "due-pod", 3*servedWithin)
	bank.Must(err)
	t.Logf("the namespace was served %v after its permissions were restored", again.Round(10*time.Millisecond))
	bank.Check("A3", again <= servedWithin, "the namespace was served %v after its permissions were restored", again)
	for _, e := range []*faults.Env{shop, bank} {
		e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
		e.Settle()
	}
	bank.Check("A3", ranOnce(bank) == 2, "not both Ats ran")
	bank.Check("P3", p.Starts() == 2, "the process was started %d times", p.Starts())
}

// replacePods deletes the pods of a PodSet and holds their names until they are replaced. The names of the replacements are not those
// that an operator would choose that sees no pods.
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
	e.AwaitSet("P7", set, func(s *appv1alpha1.PodSet) bool {
		return len(s.Status.PodNames) == len(old) && !slices.ContainsFunc(old, func(p *corev1.Pod) bool { return slices.Contains(s.Status.PodNames, p.Name) })
	})
	for _, pod := range old {
		faults.Edit(e, pod, func(p *corev1.Pod) { p.Finalizers = nil })
	}
}

// grant gives a user the permissions of the manager's role in a namespace.
func grant(e *faults.Env, user string) {
	role := roleOf(e)
	role.Rules = managerRules(e)
	e.Must(e.User.Create(e.Context(), role))
	e.Must(e.User.Create(e.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
	}))
}

func roleOf(e *faults.Env) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "manager"}}
}

// managerRules are those of config/rbac/role.yaml.
func managerRules(e *faults.Env) []rbacv1.PolicyRule {
	data, err := os.ReadFile("../../config/rbac/role.yaml")
	e.Must(err)
	role := &rbacv1.ClusterRole{}
	e.Must(yaml.UnmarshalStrict(data, role))
	return role.Rules
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
