// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/internal/watchnamespace"
	"github.com/redhat/podset-operator/test/apiserver"
)

// Without permission to use its lease, a manager never leads and serves nothing, so it must not be Ready. When it has the permission,
// it leads without a restart.
func TestAManagerThatMayNotUseItsLeaseIsNotReady(t *testing.T) {
	c, admin := startClusterWithCRDs(t)
	for _, name := range []string{"home", "shop"} {
		create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	create(t, admin, managerRole(t), managerBinding("shop", "operator"), sample(t, "app_v1alpha1_podset.yaml", "shop"))
	t.Setenv(watchnamespace.EnvVar, "shop")
	t.Setenv("POD_NAMESPACE", "home")
	t.Setenv("POD_UID", "uid")
	probes := apiserver.FreeAddress(t)
	p := start(t, "--kubeconfig="+c.kubeconfig("operator"), "--leader-elect", "--health-probe-bind-address="+probes, "--metrics-bind-address=0")

	g := NewWithT(t)
	readyz := func() string {
		code, body := get(t, http.DefaultClient, "http://"+probes+"/readyz", "")
		return http.StatusText(code) + ": " + body
	}
	g.Eventually(readyz).WithTimeout(time.Minute).Should(And(HavePrefix("Service Unavailable"),
		ContainSubstring("the lease home/podset-operator cannot be used"), ContainSubstring("forbidden")))
	code, _ := get(t, http.DefaultClient, "http://"+probes+"/healthz", "")
	g.Expect(code).To(Equal(http.StatusOK), "a restart does not help")

	create(t, admin, electionRole(t), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "election"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "leader-election-role"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "operator"}},
	})
	g.Eventually(readyz).WithTimeout(time.Minute).Should(HavePrefix("OK"))
	g.Eventually(func() int {
		list := &corev1.PodList{}
		g.Expect(admin.List(t.Context(), list, client.InNamespace("shop"))).To(Succeed())
		return len(list.Items)
	}).WithTimeout(time.Minute).Should(Equal(3))
	log := p.terminate(t)
	g.Expect(log).To(ContainSubstring("serves nothing"))
}

// electionRole returns the role of config/rbac in the namespace home.
func electionRole(t *testing.T) *rbacv1.Role {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("config", "rbac", "leader-election", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{}
	if err := yaml.UnmarshalStrict(data, role); err != nil {
		t.Fatal(err)
	}
	role.Namespace = "home"
	return role
}
