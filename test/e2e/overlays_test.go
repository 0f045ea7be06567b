// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// With config/components/namespaced, the operator serves its own namespace and has no permission in any other.
func TestDeploy_namespaced(t *testing.T) {
	skipInShortMode(t)
	outside := newProject(t)
	system := outside.newSystem("make undeploy DEPLOY=config/components/namespaced; kubectl delete --ignore-not-found -k config/components/tenants")
	system.types("kubectl apply -k config/components/tenants")
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system.name, Labels: labelled(partOf, restricted)}})
	system.types("make deploy DEPLOY=config/components/namespaced IMG=" + next.manager)
	outside.ask()
	system.ask()
	eventually(t, "the manager runs", func(g gomega.Gomega) { system.runs(t.Context(), g, next) })
	settled(t, system.podSet("web"))
	done(t, system.at("hello"))
	outside.isIgnored()

	g := system.grants(next)
	system.hasOnly(g.account, system.name, g.served, g.own)
	system.hasOnly(g.account, outside.name)
	output := system.types("kubectl get clusterrolebindings -o name | grep podset || true")
	if output != "" {
		t.Errorf("there are permissions in the cluster:\n%s", output)
	}
	system.types("kubectl delete podset,at --all -n " + system.name)
	system.types("make undeploy DEPLOY=config/components/namespaced; kubectl delete -k config/components/tenants; kubectl delete lease podset-operator -n podset-operator-system")
	system.types("kubectl delete namespace podset-operator-system --timeout 120s")
	outside.leavesNothing()
}

// With config/components/ha, a second manager takes over when the leader is evicted, and the PodDisruptionBudget allows only one eviction
// at a time. A PodDisruptionBudget also works for the pods of a PodSet.
func TestDeploy_highAvailability(t *testing.T) {
	skipInShortMode(t)
	p := newProject(t)
	system := p.newSystem("make undeploy DEPLOY=config/components/ha")
	system.types("make deploy DEPLOY=config/components/ha IMG=" + next.manager)
	eventually(t, "two managers run", func(g gomega.Gomega) { system.runs(t.Context(), g, next) })
	leader := ""
	eventually(t, "one manager leads", func(g gomega.Gomega) {
		leader = system.leader(g)
		g.Expect(leader).NotTo(gomega.BeEmpty())
	})
	at := p.newAt("meanwhile", "now + 2 seconds", "echo once")
	system.evictsOneAtATime("podset-operator-controller-manager", leader)
	eventually(t, "another leader", func(g gomega.Gomega) {
		g.Expect(system.leader(g)).NotTo(gomega.Or(gomega.BeEmpty(), gomega.Equal(leader)))
	})
	done(t, at)
	eventually(t, "two managers run", func(g gomega.Gomega) { system.runs(t.Context(), g, next) })

	set := p.newPodSet("web", 3)
	pods := settled(t, set)
	create(t, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: p.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromString("60%")), // a percentage of spec.replicas, which Kubernetes reads from the subresource scale
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	})
	for victim := range pods {
		p.evictsOneAtATime("web", victim)
		eventually(t, "the evicted pod is replaced", func(g gomega.Gomega) { g.Expect(settled(t, set)).NotTo(gomega.HaveKey(victim)) })
		break
	}
	p.types("kubectl get pdb,podset,pods -o wide; kubectl get pdb,pods -o wide -n " + system.name)
}

// evictsOneAtATime evicts a pod, and checks that the next eviction is rejected until the pod is replaced.
func (p *project) evictsOneAtATime(budget, victim string) {
	p.t.Helper()
	evict := func(name string) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.name}}
		return admin.SubResource("eviction").Create(p.t.Context(), pod, &policyv1.Eviction{ObjectMeta: pod.ObjectMeta})
	}
	found := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: budget, Namespace: p.name}}
	eventually(p.t, "one pod may be evicted", func(g gomega.Gomega) {
		g.Expect(refresh(p.t.Context(), g, found).Status.DisruptionsAllowed).To(gomega.BeEquivalentTo(1))
	})
	if err := evict(victim); err != nil {
		p.t.Fatal(err)
	}
	pods := &corev1.PodList{}
	if err := admin.List(p.t.Context(), pods, client.InNamespace(p.name), client.MatchingLabels(found.Spec.Selector.MatchLabels)); err != nil {
		p.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Name == victim || !ready(&pod) {
			continue
		}
		if err := evict(pod.Name); !apierrors.IsTooManyRequests(err) {
			p.t.Errorf("a second pod was evicted: %v", err)
		}
		return
	}
	p.t.Error("no other pod is ready")
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
