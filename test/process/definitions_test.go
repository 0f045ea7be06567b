// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// securityContextConstraints make the cluster look like OpenShift.
const securityContextConstraints = `
metadata: {name: securitycontextconstraints.security.openshift.io}
spec:
  group: security.openshift.io
  scope: Cluster
  names: {kind: SecurityContextConstraints, plural: securitycontextconstraints}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]`

// A manager of all namespaces ends if a custom resource definition is missing, or is older and lacks a field. It outlives definitions that
// are removed later, and serves their kinds when they are back. The API server is like one of OpenShift, and does not stream lists.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	server := &envtest.Environment{CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience}, ControlPlaneStartTimeout: patience}
	server.ControlPlane.GetAPIServer().Configure().Append("feature-gates", "WatchList=false")
	t.Cleanup(func() { _ = server.Stop() })
	user, err := startServer(server)
	if err != nil {
		t.Fatal(err)
	}
	g, args := NewWithT(t), slices.Concat(noPorts, []string{"--kubeconfig=" + administrator(t, server)})
	g.Expect(runExpectingError(t, nil, args...)).To(ContainSubstring("the API server does not serve podsets.app.example.com: install the custom resource definitions"))

	sets, ats := crd(t, "app.example.com_podsets.yaml", "terminatingReplicas"), crd(t, "cnat.d2iq.com_ats.yaml", "podUID")
	install(t, server, sets, ats)
	g.Expect(runExpectingError(t, nil, args...)).To(ContainSubstring("podsets.app.example.com is older than this manager: it lacks the field status.terminatingReplicas."))
	install(t, server, crd(t, "app.example.com_podsets.yaml", ""))
	g.Expect(runExpectingError(t, nil, args...)).To(ContainSubstring("ats.cnat.d2iq.com is older than this manager: it lacks the field status.podUID."))
	openShift := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.Unmarshal([]byte(securityContextConstraints), openShift)).To(Succeed())
	install(t, server, crd(t, "cnat.d2iq.com_ats.yaml", ""), openShift)

	p, shop := start(t, nil, args...), namespace(t, user)
	for want := range 2 {
		set, timer := samples(t, shop)
		set.SetName("set" + string(rune('a'+want)))
		timer.SetName("timer" + string(rune('a'+want)))
		create(t, user, set, timer)
		g.Eventually(pods(t, user, shop)).WithTimeout(time.Minute).Should(Equal(4 * (want + 1)))
		if want == 0 {
			g.Expect(envtest.UninstallCRDs(server.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{sets, ats}})).To(Succeed())
			g.Consistently(p.ended).WithTimeout(2 * time.Second).ShouldNot(Receive())
			install(t, server, crd(t, "app.example.com_podsets.yaml", ""), crd(t, "cnat.d2iq.com_ats.yaml", ""))
		}
	}
	p.terminate(t)
	// OpenShift chooses the user of a pod, and its SecurityContextConstraints restricted-v2 reject any other user.
	list := &corev1.PodList{}
	g.Expect(user.List(t.Context(), list, client.InNamespace(shop))).To(Succeed())
	for _, pod := range list.Items {
		g.Expect(pod.Spec.SecurityContext.RunAsUser).To(BeNil(), pod.Name)
	}
}

// crd reads a custom resource definition of this repository, without a field of the status.
func crd(t *testing.T, file, without string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "config", "crd", "bases", file))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		t.Fatal(err)
	}
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	status := properties["status"]
	delete(status.Properties, without)
	status.Required = nil
	properties["status"] = status
	return crd
}

// install installs definitions, or replaces those that are installed. It returns when the API server has published their schemas.
func install(t *testing.T, server *envtest.Environment, crds ...*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if _, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		version := crd.Spec.Versions[0]
		var served struct {
			Components struct {
				Schemas map[string]*apiextensionsv1.JSONSchemaProps
			}
		}
		NewWithT(t).Eventually(func(g Gomega) {
			data, err := client.RESTClient().Get().AbsPath("/openapi/v3/apis", crd.Spec.Group, version.Name).SetHeader("Accept", "application/json").DoRaw(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(json.Unmarshal(data, &served)).To(Succeed())
			for name, schema := range served.Components.Schemas {
				if strings.HasSuffix(name, "."+crd.Spec.Names.Kind) {
					g.Expect(schema.Properties["status"].Properties).To(HaveLen(len(version.Schema.OpenAPIV3Schema.Properties["status"].Properties)))
					return
				}
			}
			g.Expect(served).To(BeNil(), "the kind is not in the schema")
		}).WithTimeout(time.Minute).Should(Succeed(), crd.Name)
	}
}
