// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// Without OLM, `make deploy` installs the operator and `make undeploy` removes it completely. The operator works with the permissions of
// its own service account, and continues after the loss of its pod.
func TestDeploy(t *testing.T) {
	p := newProject(t)
	system := p.newSystem("make undeploy")
	system.types("make deploy IMG=" + next.manager)
	eventually(t, "the manager runs", func(g gomega.Gomega) { system.runs(t.Context(), g, next) })
	system.types("kubectl get all -n podset-operator-system")

	t.Run("the tutorial", func(t *testing.T) { newProject(t).followsTheTutorial() })
	t.Run("the plugin kubectl at", func(t *testing.T) { newProject(t).usesThePlugin() })
	t.Run("deletion", func(t *testing.T) { newProject(t).deletes() })
	t.Run("a namespace for restricted pods", func(t *testing.T) { newProject(t, restricted).isRestricted() })
	t.Run("foreign pods", func(t *testing.T) { newProject(t).hasForeignPods() })
	t.Run("a user without permission to create pods", func(t *testing.T) { newProject(t).rejectsUsersWithoutPodPermission() })
	t.Run("metrics", func(t *testing.T) { newProject(t).showsMetrics(system) })
	t.Run("the operator restarts", func(t *testing.T) { newProject(t).outlivesARestart(system.of(t)) })
	t.Run("the leader fails", func(t *testing.T) { newProject(t).outlivesTheLeader(system.of(t)) })

	system.types("make undeploy")
	gone(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system.name}})
	p.leavesNothing()
}

// isRestricted checks that pods without a template run under the restricted Pod Security Standard, and that the status of a PodSet
// with a template that does not comply reports it.
func (p *project) isRestricted() {
	settled(p.t, p.newPodSet("web", 2))
	done(p.t, p.newAt("hello", "now", "echo hello"))

	rooted := p.newPodSet("rooted", 1)
	change(p.t, rooted, func(set *appv1alpha1.PodSet) {
		set.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "main", Image: "busybox"}}}}
	})
	eventually(p.t, "the PodSet is degraded", func(g gomega.Gomega) {
		degraded := meta.FindStatusCondition(refresh(p.t.Context(), g, rooted).Status.Conditions, appv1alpha1.ConditionDegraded)
		g.Expect(degraded).NotTo(gomega.BeNil())
		g.Expect(degraded.Reason).To(gomega.Equal(appv1alpha1.ReasonFailedCreate))
		g.Expect(degraded.Message).To(gomega.ContainSubstring("violates PodSecurity"))
	})
}

// hasForeignPods checks that the operator neither counts nor deletes a foreign pod with the labels of a PodSet.
func (p *project) hasForeignPods() {
	set := p.newPodSet("web", 2)
	ours := settled(p.t, set)
	var name string
	for name = range ours {
		break
	}
	foreign := &corev1.Pod{}
	if err := admin.Get(p.t.Context(), client.ObjectKey{Namespace: p.name, Name: name}, foreign); err != nil {
		p.t.Fatal(err)
	}
	foreign.ObjectMeta = metav1.ObjectMeta{Name: "foreign", Namespace: p.name, Labels: foreign.Labels, Annotations: foreign.Annotations}
	foreign.Spec.NodeName = ""
	create(p.t, foreign)

	for _, replicas := range []int32{3, 1} {
		change(p.t, set, func(set *appv1alpha1.PodSet) { set.Spec.Replicas = &replicas })
		if _, counted := settled(p.t, set)["foreign"]; counted {
			p.t.Error("the foreign pod is counted")
		}
	}
	p.types("kubectl delete podset web --cascade=foreground --timeout 60s")
	now := &corev1.Pod{}
	if err := admin.Get(p.t.Context(), client.ObjectKeyFromObject(foreign), now); err != nil || now.UID != foreign.UID || now.DeletionTimestamp != nil {
		p.t.Errorf("the foreign pod has changed: %v", err)
	}
}

// outlivesARestart deletes the pod of the operator while an At becomes due and a pod of a PodSet is lost, and checks that the next
// pod of the operator handles both.
func (p *project) outlivesARestart(system *project) {
	kept := newRecord(p)
	lost := p.newPodSet("lost", 2)
	before := settled(p.t, lost)
	at := p.newAt("meanwhile", "now + 3 seconds", "echo once")

	system.types("kubectl delete pod -n %s -l control-plane=controller-manager --wait=false", system.name)
	var victim string
	for victim = range before {
		break
	}
	p.types("kubectl delete pod --wait=false " + victim)
	done(p.t, at)
	eventually(p.t, "the lost pod is replaced", func(g gomega.Gomega) {
		g.Expect(settled(p.t, lost)).NotTo(gomega.HaveKey(victim))
	})
	eventually(p.t, "the manager runs", func(g gomega.Gomega) { system.runs(p.t.Context(), g, next) })
	kept.compare(p.t)
}

// outlivesTheLeader kills the leader and checks that the standby takes over, and that everything is done exactly once.
func (p *project) outlivesTheLeader(system *project) {
	system.types("kubectl scale -n %s deployment/%s --replicas 2", system.name, deploymentName)
	eventually(p.t, "two managers run", func(g gomega.Gomega) { system.runs(p.t.Context(), g, next) })
	kept := newRecord(p)
	leader := system.leader(gomega.NewWithT(p.t))
	at := p.newAt("meanwhile", "now + 2 seconds", "echo once")
	set := p.newPodSet("meanwhile", 3)

	system.types("kubectl delete pod -n %s %s --grace-period 0 --force --wait=false", system.name, leader)
	eventually(p.t, "another leader", func(g gomega.Gomega) {
		g.Expect(system.leader(g)).NotTo(gomega.Or(gomega.BeEmpty(), gomega.Equal(leader)))
	})
	done(p.t, at)
	settled(p.t, set)
	kept.compare(p.t)
	system.types("kubectl scale -n %s deployment/%s --replicas 1", system.name, deploymentName)
	eventually(p.t, "the standby is gone", func(g gomega.Gomega) { system.runs(p.t.Context(), g, next) })
}

// leader returns the pod that holds the lease.
func (p *project) leader(g gomega.Gomega) string {
	lease := &coordinationv1.Lease{}
	g.Expect(admin.Get(context.Background(), client.ObjectKey{Namespace: p.name, Name: operatorName}, lease)).To(gomega.Succeed())
	g.Expect(lease.Spec.HolderIdentity).NotTo(gomega.BeNil())
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod
}
