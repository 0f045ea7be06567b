// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// permissionSet is the set of permissions of a user in a namespace, each as "verb resource.group/name".
type permissionSet map[string]bool

func (r permissionSet) add(verbs, groups, resources, names []string) {
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range verbs {
		for _, group := range groups {
			for _, resource := range resources {
				for _, name := range names {
					r[strings.TrimRight(fmt.Sprintf("%s %s.%s/%s", verb, resource, group, name), "./")] = true
				}
			}
		}
	}
}

func (r permissionSet) addRules(rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		r.add(rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames)
	}
}

// permissionsOf asks the cluster for the permissions of a service account in a namespace.
func permissionsOf(t *testing.T, g gomega.Gomega, account, namespace string) permissionSet {
	t.Helper()
	as := rest.CopyConfig(cluster)
	as.Impersonate = rest.ImpersonationConfig{UserName: account}
	c, err := client.New(as, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	g.Expect(c.Create(t.Context(), review)).To(gomega.Succeed())
	all := permissionSet{}
	for _, rule := range review.Status.ResourceRules {
		all.add(rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames)
	}
	return all
}

// hasOnlyThePermissionsOf checks that the operator in p has exactly the permissions of its ClusterServiceVersion in each namespace. In its
// own and the target namespaces, and under AllNamespaces everywhere, these include permissions. In other namespaces they are only
// clusterPermissions. The permissions of every service account, and those that OLM adds, do not count.
func (p *project) hasOnlyThePermissionsOf(csv *operatorsv1alpha1.ClusterServiceVersion, inside, outside []string) {
	p.t.Helper()
	strategy := csv.Spec.InstallStrategy.StrategySpec
	everywhere, granted := permissionSet{}, permissionSet{}
	for _, permission := range strategy.ClusterPermissions {
		everywhere.addRules(permission.Rules)
		granted.addRules(permission.Rules)
	}
	for _, permission := range strategy.Permissions {
		granted.addRules(permission.Rules)
	}
	account := "system:serviceaccount:" + p.name + ":" + strategy.Permissions[0].ServiceAccountName

	check := func(namespace string, want permissionSet) {
		want = maps.Clone(want)
		if len(outside) == 0 { // OLM lets an operator for all namespaces read namespaces.
			want.add([]string{"get", "list", "watch"}, []string{""}, []string{"namespaces"}, nil)
		}
		if namespace == p.name { // OLM lets every operator write its OperatorCondition.
			want.add([]string{"get", "update", "patch"}, []string{"operators.coreos.com"}, []string{"operatorconditions"}, []string{csv.Name})
		}
		var got permissionSet
		eventually(p.t, "the permissions in "+namespace, func(g gomega.Gomega) {
			got = permissionsOf(p.t, g, account, namespace)
			for common := range permissionsOf(p.t, g, "system:serviceaccount:"+p.name+":stranger", namespace) {
				delete(got, common)
			}
			diff := cmp.Diff(want, got)
			g.Expect(diff).To(gomega.BeEmpty(), "-in the ClusterServiceVersion +on the cluster")
		})
		p.t.Logf("permissions of %s in %s:\n  %s", account, namespace, strings.Join(slices.Sorted(maps.Keys(got)), "\n  "))
		p.types("kubectl auth can-i --list --as %s -n %s", account, namespace)
	}
	for _, namespace := range inside {
		check(namespace, granted)
	}
	for _, namespace := range outside {
		check(namespace, everywhere)
	}
}
