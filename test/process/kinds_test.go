// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// The manager serves each kind as soon as its custom resource definition is installed, even after its own start.
func TestKinds(t *testing.T) {
	t.Parallel()
	server, admin := startServer(t)
	shop := namespace(t, admin)
	p := start(t, managerEnv(shop, "does-not-exist"), append(noPorts, "--kubeconfig="+administrator(t, server))...)
	g := NewWithT(t)
	g.Eventually(func() int { return p.log.Lines("does not serve a kind yet") }).WithTimeout(time.Minute).Should(Equal(2), "one line for each kind")

	podSet, at := samples(t, shop)
	for _, tc := range []struct {
		crd    string
		object client.Object
		pods   int // in total
	}{
		{"app.example.com_podsets.yaml", podSet, 3},
		{"cnat.d2iq.com_ats.yaml", at, 4},
	} {
		if _, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{Paths: []string{root + "/config/crd/bases/" + tc.crd}}); err != nil {
			t.Fatal(err)
		}
		g.Eventually(func() error { return admin.Create(t.Context(), tc.object) }).WithTimeout(time.Minute).Should(Succeed())
		g.Eventually(pods(t, admin, shop)).WithTimeout(30*time.Second).Should(Equal(tc.pods), tc.crd)
	}
	p.terminate(t)
	if p.log.Lines("serves the kind now") != 2 || p.log.Lines(`"level":"error"`) > 0 {
		t.Errorf("want one line for each kind and no error:\n%s", p.log)
	}
}
