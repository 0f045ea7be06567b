// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// punctual is the maximum delay of an At's pod.
const punctual = 5 * time.Second

// An upgrade through the channel waits for an At that is due soon, then proceeds. It changes no pods, and an At that is due later runs
// once, on time. Then the test removes the operator as the documentation describes.
func TestUpgrade(t *testing.T) {
	skipInShortMode(t)
	p := newProject(t)
	p.offer(previous)
	p.subscribe(previous, p.name)
	t.Cleanup(p.removeRest)
	kept := newRecord(p)

	// The newer version needs manual approval, so the test determines the time of the upgrade.
	subscription := &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: operatorName, Namespace: p.name}}
	change(t, subscription, func(s *operatorsv1alpha1.Subscription) { s.Spec.InstallPlanApproval = operatorsv1alpha1.ApprovalManual })
	source := &operatorsv1alpha1.CatalogSource{ObjectMeta: metav1.ObjectMeta{Name: operatorName, Namespace: p.name}}
	change(t, source, func(s *operatorsv1alpha1.CatalogSource) { s.Spec.Image = next.catalog })
	plan := &operatorsv1alpha1.InstallPlan{}
	eventually(t, "the newer version is offered", func(g gomega.Gomega) {
		refresh(t.Context(), g, subscription)
		g.Expect(subscription.Status.CurrentCSV).To(gomega.Equal(next.csv()))
		g.Expect(subscription.Status.InstallPlanRef).NotTo(gomega.BeNil())
		key := client.ObjectKey{Namespace: p.name, Name: subscription.Status.InstallPlanRef.Name}
		g.Expect(admin.Get(t.Context(), key, plan)).To(gomega.Succeed())
		g.Expect(plan.Spec.ClusterServiceVersionNames).To(gomega.ConsistOf(next.csv()))
		g.Expect(plan.Status.Phase).To(gomega.Equal(operatorsv1alpha1.InstallPlanPhaseRequiresApproval))
	})

	soon := p.newAt("soon", "now + 63 seconds", "echo soon")
	later := p.newAt("later", "now + 170 seconds", "echo later")
	eventually(t, "the operator asks OLM to wait", func(g gomega.Gomega) {
		g.Expect(p.upgradeable(g, previous)).To(gomega.Equal("False DueSoon"))
	})
	change(t, plan, func(plan *operatorsv1alpha1.InstallPlan) { plan.Spec.Approved = true })
	upgrade := p.csv(next)
	eventually(t, "the upgrade waits", func(g gomega.Gomega) {
		refresh(t.Context(), g, upgrade)
		g.Expect(upgrade.Status.Reason).To(gomega.Equal(operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable), upgrade.Status.Message)
	})
	pending(t, soon)
	p.types("kubectl get csv,at,operatorconditions -o wide; kubectl get operatorcondition %s -o yaml; kubectl get csv %s -o jsonpath='{.status.message}'", previous.csv(), next.csv())

	done(t, soon)
	waited := time.Now()
	p.succeeded(next)
	t.Logf("the upgrade finished %.0f s after the At", time.Since(waited).Seconds())
	pending(t, later)
	refresh(t.Context(), gomega.NewWithT(t), upgrade)
	for _, step := range upgrade.Status.Conditions {
		if step.Phase == operatorsv1alpha1.CSVPhaseInstallReady && step.LastTransitionTime.Before(soon.Status.StartTime) {
			t.Errorf("the upgrade began at %s, before the At started at %s", step.LastTransitionTime, soon.Status.StartTime)
		}
	}
	kept.compare(t)

	done(t, later)
	for _, at := range []*cnatv1alpha1.At{soon, later} {
		if late := at.Status.StartTime.Sub(at.Status.ScheduledTime.Time); late > punctual {
			t.Errorf("At %s started %s late", at.Name, late)
		}
	}
	gone(t, p.csv(previous))
	p.hasOnlyThePermissionsOf(next, []string{p.name}, []string{metav1.NamespaceDefault}) // with the role for the lease, which both versions own
	p.types("kubectl get csv,podset,at,operatorconditions -o wide; kubectl get pods -o custom-columns=NAME:.metadata.name,UID:.metadata.uid")
	p.types("kubectl describe at later")

	t.Run("without the operator, the objects and the pods remain", func(t *testing.T) {
		p := p.of(t)
		p.unsubscribe()
		kept.compare(t)
		p.types("kubectl get podset,at,pods; kubectl get crd " + crdNames[0] + " " + crdNames[1])
	})
	t.Run("the remaining objects are removed", func(t *testing.T) {
		p := p.of(t)
		p.removeRest()
		p.types("kubectl delete catalogsource " + operatorName)
		p.leavesNothing()
	})
}

// upgradeable returns the status and the reason of the condition that the operator reports to OLM.
func (p *project) upgradeable(g gomega.Gomega, r release) string {
	condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Name: r.csv(), Namespace: p.name}}
	refresh(p.t.Context(), g, condition)
	observed := meta.FindStatusCondition(condition.Status.Conditions, operatorsv2.Upgradeable)
	g.Expect(observed).NotTo(gomega.BeNil())
	return string(observed.Status) + " " + observed.Reason
}
