// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// subscribe installs a release from its catalog into the project, for these namespaces, or for all if none is given.
func (p *project) subscribe(r release, targets ...string) {
	p.t.Helper()
	meta := metav1.ObjectMeta{Name: operatorName, Namespace: p.name}
	create(p.t,
		&operatorsv1.OperatorGroup{ObjectMeta: meta, Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: targets}},
		&operatorsv1alpha1.Subscription{ObjectMeta: meta, Spec: &operatorsv1alpha1.SubscriptionSpec{
			Package: operatorName, Channel: "stable", CatalogSource: operatorName, CatalogSourceNamespace: p.name,
			InstallPlanApproval: operatorsv1alpha1.ApprovalAutomatic,
		}},
	)
	p.succeeded(r)
}

// offer sets the catalog of the project to the catalog of a release.
func (p *project) offer(r release) {
	p.t.Helper()
	create(p.t, &operatorsv1alpha1.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Name: operatorName, Namespace: p.name},
		Spec: operatorsv1alpha1.CatalogSourceSpec{
			SourceType: operatorsv1alpha1.SourceTypeGrpc,
			Image:      r.catalog,
			GrpcPodConfig: &operatorsv1alpha1.GrpcPodConfig{
				SecurityContextConfig: operatorsv1alpha1.Restricted,
				ExtractContent:        &operatorsv1alpha1.ExtractContentConfig{CatalogDir: "/configs"},
			},
		},
	})
}

// csv returns the ClusterServiceVersion of a release in the project, to be read into.
func (p *project) csv(r release) *operatorsv1alpha1.ClusterServiceVersion {
	return &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: r.csv(), Namespace: p.name}}
}

// succeeded waits until a release is installed and is the only one that runs.
func (p *project) succeeded(r release) {
	p.t.Helper()
	ctx := p.t.Context()
	csv := p.csv(r)
	eventually(p.t, csv.Name+" has succeeded", func(g gomega.Gomega) {
		refresh(ctx, g, csv)
		g.Expect(csv.Status.Phase).To(gomega.Equal(operatorsv1alpha1.CSVPhaseSucceeded), csv.Status.Message)
		all := &operatorsv1alpha1.ClusterServiceVersionList{}
		g.Expect(admin.List(ctx, all, client.InNamespace(p.name), client.MatchingLabels{operatorLabel(p.name): ""})).To(gomega.Succeed())
		g.Expect(all.Items).To(gomega.HaveLen(1))
		p.runs(ctx, g, r)
	})
	p.types("kubectl get csv,deployments,pods -o wide")
}

// operatorLabel is the label that OLM sets on the objects that a Subscription in namespace installs.
func operatorLabel(namespace string) string {
	return "operators.coreos.com/" + operatorName + "." + namespace
}

// runs checks that one manager runs, is Ready, and has the image of the release.
func (p *project) runs(ctx context.Context, g gomega.Gomega, r release) {
	deployment := &appsv1.Deployment{}
	g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: p.name, Name: deploymentName}, deployment)).To(gomega.Succeed())
	g.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(gomega.Equal(r.manager))
	g.Expect(deployment.Status.ObservedGeneration).To(gomega.Equal(deployment.Generation))
	g.Expect(deployment.Status.UpdatedReplicas).To(gomega.Equal(*deployment.Spec.Replicas))
	g.Expect(deployment.Status.ReadyReplicas).To(gomega.Equal(*deployment.Spec.Replicas))
	g.Expect(deployment.Status.Replicas).To(gomega.Equal(*deployment.Spec.Replicas))
}

// unsubscribe removes the operator as docs/uninstall.md describes. The CRDs, the objects, and their pods remain.
func (p *project) unsubscribe() {
	p.t.Helper()
	p.explain()
	p.types("kubectl delete subscription " + operatorName)
	p.types("kubectl delete csv -l " + operatorLabel(p.name))
	p.types("kubectl delete operatorgroup " + operatorName)
	gone(p.t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: deploymentName, Namespace: p.name}})
	// If the garbage collector has not deleted the InstallPlan, OLM gives it to the next Subscription, and then installs nothing.
	eventually(p.t, "the InstallPlan is deleted", func(g gomega.Gomega) {
		plans := &operatorsv1alpha1.InstallPlanList{}
		g.Expect(admin.List(context.Background(), plans, client.InNamespace(p.name))).To(gomega.Succeed())
		g.Expect(plans.Items).To(gomega.BeEmpty())
	})
}

// removeRest removes the remaining objects as docs/uninstall.md describes.
func (p *project) removeRest() {
	p.t.Helper()
	p.explain()
	p.deletesObjects()
	p.types("kubectl delete crd --ignore-not-found --timeout 60s " + strings.Join(crdNames, " "))
	p.types("kubectl delete clusterrole -l app.kubernetes.io/name=podset-operator")
	p.types("kubectl delete role,rolebinding -l app.kubernetes.io/name=podset-operator")
	p.types("kubectl delete lease podset-operator --ignore-not-found")
}

// deletesObjects deletes all objects with their pods, if the CRDs exist. If a CRD is removed before the garbage collector has seen the end
// of an object, it leaves the pods.
func (p *project) deletesObjects() {
	p.t.Helper()
	p.types("kubectl get crd --ignore-not-found -o name %s | cut -d / -f 2 | xargs -r -I {} kubectl delete {} --all --all-namespaces --cascade=foreground --timeout 120s",
		strings.Join(crdNames, " "))
}

func gone(t *testing.T, objects ...client.Object) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // A cleanup runs after the end of the test.
	for _, obj := range objects {
		eventually(t, obj.GetName()+" is gone", func(g gomega.Gomega) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			g.Expect(client.IgnoreNotFound(err)).To(gomega.Succeed())
			g.Expect(err).To(gomega.HaveOccurred())
		})
	}
}

// leavesNothing checks that nothing of the operator is left on the cluster.
func (p *project) leavesNothing() {
	p.t.Helper()
	eventually(p.t, "nothing of the operator is left", func(g gomega.Gomega) {
		// grep fails if it finds nothing.
		output, _ := execute(p.kubeconfig, `
			kubectl get crd -o name | grep -E 'app.example.com|cnat.d2iq.com'
			kubectl get clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings -o name |
				grep -E 'podset|app.example.com|cnat.d2iq.com' | grep -v /olm.og. # OLM forgets its own roles for OperatorGroups at times
			kubectl get deployments,pods,services,serviceaccounts,configmaps,secrets,leases,roles,rolebindings -o name -A | grep podset
			kubectl get subscriptions,installplans,csv,catalogsources,operatorgroups,operatorconditions --no-headers --ignore-not-found`)
		g.Expect(output).To(gomega.BeEmpty())
	})
}
