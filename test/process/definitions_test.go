// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers"
	"github.com/redhat/podset-operator/internal/kube/write"
	"github.com/redhat/podset-operator/test/apiserver"
)

// definition is a custom resource definition of this repository, and a field of the status that its older version does not have.
type definition struct{ file, name, field string }

var (
	podSetDefinition = definition{"app.example.com_podsets.yaml", "podsets.app.example.com", "terminatingReplicas"}
	atDefinition     = definition{"cnat.d2iq.com_ats.yaml", "ats.cnat.d2iq.com", "podUID"}
)

// install installs the definition, or replaces the one that is installed. It returns when the API server serves it.
func (d definition) install(t *testing.T, config *rest.Config, older bool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "config", "crd", "bases", d.file))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		t.Fatal(err)
	}
	if older {
		status := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
		delete(status.Properties, d.field)
		status.Required = nil
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"] = status
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatal(err)
	}
}

// isNamed returns a function that counts the errors in the log of a process that contain the definition and the field.
func (d definition) isNamed(p *operator) func() int {
	return func() int {
		n := 0
		for line := range strings.Lines(p.log.String()) {
			if strings.Contains(line, `"level":"error"`) && strings.Contains(line, d.name+" is older") && strings.Contains(line, "status."+d.field) {
				n++
			}
		}
		return n
	}
}

// With a definition of an older release, the API server would drop the record of a run.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	server, admin := startServer(t)
	g := NewWithT(t)
	for _, d := range []definition{podSetDefinition, atDefinition} {
		d.install(t, server.Config, true)
	}
	shop := namespace(t, admin)
	set, timer := podSet("a", 2), at("b", "now")
	set.Namespace, timer.Namespace = shop, shop
	create(t, admin, set, timer)
	checkNoFieldIsDropped(t, server.Config, set, timer)

	p := start(t, managerEnv(shop), append(noPorts, "--kubeconfig="+administrator(t, server))...)
	for _, d := range []definition{podSetDefinition, atDefinition} {
		g.Eventually(d.isNamed(p)).WithTimeout(time.Minute).Should(Equal(1), d.name)
	}
	g.Consistently(pods(t, admin, shop)).WithTimeout(7 * time.Second).Should(BeZero())
	podSetDefinition.install(t, server.Config, false)
	g.Eventually(pods(t, admin, shop)).WithTimeout(30*time.Second).Should(Equal(2), "the PodSet is served")
	atDefinition.install(t, server.Config, false)
	g.Eventually(pods(t, admin, shop)).WithTimeout(30*time.Second).Should(Equal(3), "the At is served")
	for _, d := range []definition{podSetDefinition, atDefinition} {
		g.Expect(d.isNamed(p)()).To(Equal(1), d.name)
	}

	for _, d := range []definition{podSetDefinition, atDefinition} {
		logged := d.isNamed(p)()
		d.install(t, server.Config, true)
		var exit *exec.ExitError
		g.Expect(errors.As(p.wait(t), &exit) && exit.ExitCode() == 1).To(BeTrue(), "an older %s", d.name)
		g.Expect(p.log.Lines(`"The manager ends","error":"the custom resource definition `+d.name+" is older")).To(Equal(1), p.log.String())
		g.Expect(d.isNamed(p)()).To(Equal(logged+1), "the reason is logged again")
		p = start(t, managerEnv(shop), append(noPorts, "--kubeconfig="+administrator(t, server))...)
		g.Eventually(d.isNamed(p)).WithTimeout(time.Minute).Should(Equal(1), d.name)
		d.install(t, server.Config, false)
		g.Eventually(func() int { return p.log.Lines("serves the kind now") }).WithTimeout(time.Minute).Should(Equal(1), d.name)
	}
	g.Expect(pods(t, admin, shop)()).To(Equal(3))
	p.terminate(t)
}

// checkNoFieldIsDropped checks that the API server rejects a status of the operator if the definition lacks some of its fields.
func checkNoFieldIsDropped(t *testing.T, config *rest.Config, set *appv1alpha1.PodSet, timer *cnatv1alpha1.At) {
	t.Helper()
	options := ctrl.Options{Scheme: apiserver.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}}
	controllers.ConfigureCaches(&options, nil)
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		t.Fatal(err)
	}
	for field, tc := range map[string]struct {
		object client.Object
		status any
	}{
		"terminatingReplicas": {set.DeepCopy(), appv1alpha1.PodSetStatus{PodNames: []string{}, TerminatingReplicas: 1}},
		"podUID":              {timer.DeepCopy(), cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning, PodUID: "1"}},
	} {
		_, err := write.Status(t.Context(), mgr.GetClient(), tc.object, tc.status)
		if err == nil || !strings.Contains(err.Error(), `unknown field "status.`+field+`"`) {
			t.Errorf("%s: %v", field, err)
		}
	}
	g := NewWithT(t)
	for _, object := range []client.Object{set, timer} {
		version := object.GetResourceVersion()
		g.Expect(mgr.GetAPIReader().Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
		g.Expect(object.GetResourceVersion()).To(Equal(version), "nothing is written")
	}
}
