// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openshift

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	root      = "../.."
	namespace = "podset-operator-system"
)

// cluster starts an API server with the CRDs of OpenShift.
func cluster(t *testing.T) client.Client {
	t.Helper()
	paths, err := CRDs(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(startCluster(t, paths).Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(admin, metav1.FieldValidationStrict)
}

// startCluster tries again if the API server does not create the namespace default within the 10 s that envtest waits. A busy machine may
// need longer.
func startCluster(t *testing.T, crds []string) *envtest.Environment {
	t.Helper()
	var err error
	for range 5 {
		environment := &envtest.Environment{
			CRDInstallOptions:        envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true, MaxTime: time.Minute},
			ControlPlaneStartTimeout: 2 * time.Minute,
		}
		if _, err = environment.Start(); err == nil {
			environment.Config.WarningHandler = nil
			t.Cleanup(func() { _ = environment.Stop() })
			return environment
		}
		_ = environment.Stop()
	}
	t.Fatal("starting etcd and kube-apiserver: ", err)
	return nil
}

// The API server knows the kinds and rejects fields that they do not have.
func TestTheConfigurationForOpenShiftIsValid(t *testing.T) {
	admin := cluster(t)
	objects := apply(t, admin, "config/openshift")
	has(t, objects)
	metricsAreVerified(t, objects, "configMap")

	for kind, field := range map[string][]string{"ServiceMonitor": {"spec", "endpoint"}, "ConsoleQuickStart": {"spec", "titel"}} {
		mistake := find(t, objects, kind).DeepCopy()
		mistake.SetResourceVersion("")
		mistake.SetName("mistake")
		if err := unstructured.SetNestedField(mistake.Object, "x", field...); err != nil {
			t.Fatal(err)
		}
		if err := admin.Create(t.Context(), mistake); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s with the unknown field %v: %v", kind, field, err)
		}
	}
}

// The certificate of cert-manager has the name that Prometheus verifies, and the manager serves it.
func TestTheConfigurationForCertManagerIsValid(t *testing.T) {
	objects := apply(t, cluster(t), "config/monitoring")
	metricsAreVerified(t, objects, "secret")
	endpoints, _, _ := unstructured.NestedSlice(find(t, objects, "ServiceMonitor").Object, "spec", "endpoints")
	name, _, _ := unstructured.NestedString(endpoints[0].(map[string]any), "tlsConfig", "serverName")
	ca, _, _ := unstructured.NestedString(endpoints[0].(map[string]any), "tlsConfig", "ca", "secret", "name")
	certificate := find(t, objects, "Certificate")
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	issuer, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name")
	volumes, _, _ := unstructured.NestedSlice(find(t, objects, "Deployment").Object, "spec", "template", "spec", "volumes")
	mounted, _, _ := unstructured.NestedString(volumes[0].(map[string]any), "secret", "secretName")
	if !slices.Contains(names, name) || secret != ca || secret != mounted || issuer != find(t, objects, "Issuer").GetName() {
		t.Errorf("Prometheus verifies %s with the Secret %s; the certificate of %s is for %s, in the Secret %s; the manager serves that of %s",
			name, ca, issuer, names, secret, mounted)
	}
}

// apply creates the objects of a kustomization.
func apply(t *testing.T, admin client.Client, kustomization string) []*unstructured.Unstructured {
	t.Helper()
	built, err := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), "kustomize", filepath.Join(root, kustomization)).Output()
	if err != nil {
		t.Fatal(err)
	}
	objects := decode(t, bytes.NewReader(built))
	for _, obj := range objects {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
	return objects
}

// OLM creates the manifests of the bundle in the order of their names: the service account must exist before its token.
func TestTheBundleForOpenShiftIsValid(t *testing.T) {
	const dir = root + "/dist/openshift/bundle/manifests"
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no bundle for OpenShift: run make bundle-openshift")
	}
	if err != nil {
		t.Fatal(err)
	}
	admin := cluster(t)
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range decode(t, bytes.NewReader(content)) {
			objects = append(objects, obj)
			if obj.GetKind() == "ClusterServiceVersion" {
				continue // The kind is that of OLM. The validators check it.
			}
			if namespaced, err := admin.IsObjectNamespaced(obj); err != nil {
				t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
			} else if namespaced {
				obj.SetNamespace(namespace)
			}
			if err := admin.Create(t.Context(), obj); err != nil {
				t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
			}
		}
	}
	has(t, objects)
	metricsAreVerified(t, objects, "configMap")
	for _, obj := range objects {
		switch obj.GetKind() {
		case "ServiceAccount":
			return
		case "Secret":
			t.Fatal("the token comes before its service account, so Kubernetes deletes it")
		}
	}
}

// has checks that the objects contain every kind that only OpenShift and the Prometheus operator have.
func has(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, kind := range []string{"ConsoleQuickStart", "ConsoleYAMLSample", "ServiceMonitor", "PrometheusRule"} {
		find(t, objects, kind)
	}
}

func find(t *testing.T, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	for _, obj := range objects {
		if obj.GetKind() == kind {
			return obj
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// metricsAreVerified checks what the user-workload monitoring of OpenShift requires: a ServiceMonitor that names no file of Prometheus.
// OpenShift rejects such a ServiceMonitor, because its setting arbitraryFSAccessThroughSMs denies it. And Prometheus verifies the
// certificate of the manager with a CA in a ConfigMap or a Secret.
func metricsAreVerified(t *testing.T, objects []*unstructured.Unstructured, ca string) {
	t.Helper()
	endpoints, _, err := unstructured.NestedSlice(find(t, objects, "ServiceMonitor").Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 {
		t.Fatalf("endpoints: %v, %v", endpoints, err)
	}
	endpoint := endpoints[0].(map[string]any)
	for _, path := range [][]string{{"bearerTokenFile"}, {"tlsConfig", "caFile"}, {"tlsConfig", "certFile"}, {"tlsConfig", "keyFile"}, {"tlsConfig", "insecureSkipVerify"}} {
		if value, found, _ := unstructured.NestedFieldNoCopy(endpoint, path...); found {
			t.Errorf("%s is %v", strings.Join(path, "."), value)
		}
	}
	for _, path := range [][]string{{"authorization", "credentials", "name"}, {"tlsConfig", "ca", ca, "name"}, {"tlsConfig", "serverName"}} {
		if value, _, err := unstructured.NestedString(endpoint, path...); err != nil || value == "" {
			t.Errorf("%s is missing: %v", strings.Join(path, "."), err)
		}
	}
	for _, obj := range objects {
		if _, found := obj.GetLabels()["openshift.io/cluster-monitoring"]; found {
			t.Errorf("%s %s has a label that is reserved for components of OpenShift", obj.GetKind(), obj.GetName())
		}
	}
}

func decode(t *testing.T, reader io.Reader) (objects []*unstructured.Unstructured) {
	t.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(reader, 4096); ; {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		if len(obj.Object) > 0 {
			objects = append(objects, obj)
		}
	}
}
