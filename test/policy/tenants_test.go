// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/apiserver"
)

// The administrator of a namespace can install the operator for it after a cluster administrator has installed the shared parts, and cannot
// grant the permissions of the manager elsewhere.
func TestTenants(t *testing.T) {
	const ns, other, user = "tenant", "not-the-tenant", "tenant-admin"
	apply(t, "", overlay(t, "resources", "config/components/tenants", "patches: [{target: {kind: CustomResourceDefinition}, "+
		"patch: '{$patch: delete, apiVersion: v1, kind: any, metadata: {name: any}}'}]")) // The API server has the CRDs.
	namespace(t, ns, nil)
	namespace(t, other, nil)
	// The role admin consists of these. There is no controller here that aggregates them.
	for _, role := range []string{"system:aggregate-to-admin", "system:aggregate-to-edit", "system:aggregate-to-view",
		"podset-operator-namespace-installer", "podset-operator-at-editor-role", "podset-operator-podset-editor-role"} {
		create(t, apiserver.RoleBinding(ns, user, "ClusterRole", role))
	}
	binding := func(namespace string) client.Object {
		return apiserver.RoleBinding(namespace, user, "ClusterRole", "podset-operator-namespace-manager")
	}
	// The API server sees the new permissions a moment later.
	gomega.NewWithT(t).Eventually(func() error { return as(t, user).Create(t.Context(), binding(ns), client.DryRunAll) }).WithTimeout(time.Minute).Should(gomega.Succeed())
	apply(t, user, overlay(t, "resources", "config/components/namespaced", "namespace: "+ns))
	if err := as(t, user).Create(t.Context(), binding(other)); !apierrors.IsForbidden(err) {
		t.Errorf("the tenant binds the role of the manager in another namespace: %v", err)
	}

	// The role for tenants is the role of the manager.
	want, err := apiserver.ManagerRole(root)
	if err != nil {
		t.Fatal(err)
	}
	got := &rbacv1.ClusterRole{}
	if err := as(t, "").Get(t.Context(), client.ObjectKey{Name: "podset-operator-namespace-manager"}, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Rules, got.Rules); diff != "" {
		t.Errorf("the role of the manager (-) and the one for tenants (+) differ:\n%s", diff)
	}
}
