// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/test/apiserver"
)

// Without permission to use its lease, a manager never leads and serves nothing, so it must not be Ready. When it gets the permission, it
// leads without a restart. When it ends, it releases the lease.
func TestLease(t *testing.T) {
	t.Parallel()
	home, shop := namespace(t, admin), namespace(t, admin)
	user := "operator-of-" + shop
	g := NewWithT(t)
	g.Expect(apiserver.GrantManagerRole(t.Context(), admin, root, user, shop)).To(Succeed())
	podSet, _ := samples(t, shop)
	create(t, admin, podSet)
	probes := apiserver.FreeAddress(t)
	p := start(t, append(managerEnv(shop), "POD_NAMESPACE="+home),
		"--kubeconfig="+kubeconfig(t, cluster, user), "--leader-elect", "--health-probe-bind-address="+probes, "--metrics-bind-address=0")

	readyz := func() string {
		code, body := get(t, http.DefaultClient, "http://"+probes+"/readyz", "")
		return http.StatusText(code) + ": " + body
	}
	g.Eventually(readyz).WithTimeout(time.Minute).Should(And(HavePrefix("Service Unavailable"),
		ContainSubstring("the lease cannot be used: "), ContainSubstring("/namespaces/"+home+"/leases/podset-operator: 403 Forbidden")))
	code, _ := get(t, http.DefaultClient, "http://"+probes+"/healthz", "")
	g.Expect(code).To(Equal(http.StatusOK), "a restart does not help")

	role := electionRole(t, home)
	create(t, admin, role, apiserver.RoleBinding(home, user, "Role", role.Name))
	g.Eventually(readyz).WithTimeout(time.Minute).Should(HavePrefix("OK"))
	g.Eventually(pods(t, admin, shop)).WithTimeout(time.Minute).Should(Equal(3))
	g.Expect(p.terminate(t)).To(ContainSubstring("cannot get resource \\\"leases\\\""), "the missing permission")
	lease := &coordinationv1.Lease{}
	g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "podset-operator"}, lease)).To(Succeed())
	g.Expect(ptr.Deref(lease.Spec.HolderIdentity, "")).To(BeEmpty(), "the lease is not released")
}

// electionRole returns the role of config/rbac in a namespace.
func electionRole(t *testing.T, namespace string) *rbacv1.Role {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "config", "rbac", "leader-election", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{}
	if err := yaml.UnmarshalStrict(data, role); err != nil {
		t.Fatal(err)
	}
	role.Namespace = namespace
	return role
}
