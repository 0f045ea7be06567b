// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
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
	"sigs.k8s.io/yaml"
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

// grants are the permissions of the operator, apart from those that OLM adds.
type grants struct {
	account    string        // the service account
	everywhere permissionSet // clusterPermissions
	served     permissionSet // permissions, in the namespaces of the install mode
	own        permissionSet // a Role of the bundle, in the namespace of the operator
}

// grants reads the permissions of the operator in p from the bundle of a release.
func (p *project) grants(r release) grants {
	p.t.Helper()
	csv, role := &operatorsv1alpha1.ClusterServiceVersion{}, &rbacv1.Role{}
	for name, obj := range map[string]any{
		"podset-operator.clusterserviceversion.yaml":                                  csv,
		"rbac.authorization.k8s.io_v1_role_podset-operator-leader-election-role.yaml": role,
	} {
		content, err := os.ReadFile(filepath.Join(root, r.dir, "bundle/manifests", name))
		if err != nil {
			p.t.Fatal(err)
		}
		if err := yaml.Unmarshal(content, obj); err != nil {
			p.t.Fatal(err)
		}
	}
	g := grants{everywhere: permissionSet{}, served: permissionSet{}, own: permissionSet{}}
	strategy := csv.Spec.InstallStrategy.StrategySpec
	for _, permission := range strategy.ClusterPermissions {
		g.everywhere.addRules(permission.Rules)
	}
	for _, permission := range strategy.Permissions {
		g.served.addRules(permission.Rules)
	}
	g.own.addRules(role.Rules)
	g.account = "system:serviceaccount:" + p.name + ":" + strategy.Permissions[0].ServiceAccountName
	return g
}

// hasOnly checks that the operator in p has exactly the wanted permissions in a namespace, besides those of every service account.
func (p *project) hasOnly(account, namespace string, want ...permissionSet) {
	p.t.Helper()
	all := permissionSet{}
	for _, set := range want {
		maps.Copy(all, set)
	}
	var got permissionSet
	eventually(p.t, "the permissions in "+namespace, func(g gomega.Gomega) {
		got = permissionsOf(p.t, g, account, namespace)
		for common := range permissionsOf(p.t, g, "system:serviceaccount:"+p.name+":stranger", namespace) {
			delete(got, common)
		}
		diff := cmp.Diff(all, got)
		g.Expect(diff).To(gomega.BeEmpty(), "-in the bundle +on the cluster")
	})
	p.t.Logf("permissions of %s in %s:\n  %s", account, namespace, strings.Join(slices.Sorted(maps.Keys(got)), "\n  "))
	p.types("kubectl auth can-i --list --as %s -n %s", account, namespace)
}

// readsNamespaces is what OLM adds to the permissions of an operator for all namespaces.
func readsNamespaces() permissionSet {
	set := permissionSet{}
	set.add([]string{"get", "list", "watch"}, []string{""}, []string{"namespaces"}, nil)
	return set
}

// hasOnlyThePermissionsOf checks that the operator in p, which OLM v0 installed, has exactly the permissions of the bundle in each
// namespace. Its own and the target namespaces are inside, which with AllNamespaces are all namespaces.
func (p *project) hasOnlyThePermissionsOf(r release, inside, outside []string) {
	p.t.Helper()
	g := p.grants(r)
	olm := permissionSet{}
	if len(outside) == 0 {
		olm = readsNamespaces()
	}
	for _, namespace := range inside {
		want := []permissionSet{g.everywhere, g.served, olm}
		if namespace == p.name { // OLM lets every operator write its OperatorCondition.
			condition := permissionSet{}
			condition.add([]string{"get", "update", "patch"}, []string{"operators.coreos.com"}, []string{"operatorconditions"}, []string{r.csv()})
			want = append(want, g.own, condition)
		}
		p.hasOnly(g.account, namespace, want...)
	}
	for _, namespace := range outside {
		p.hasOnly(g.account, namespace, g.everywhere, olm)
	}
}
