// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openshift

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/apiserver"
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
	environment := apiserver.New(root)
	environment.CRDDirectoryPaths = paths // The configuration has the CRDs of this repository.
	t.Cleanup(func() { _ = environment.Stop() })
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	config.WarningHandler = nil
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(admin, metav1.FieldValidationStrict)
}

// The API server has the kinds and rejects unknown fields.
func TestConfig(t *testing.T) {
	admin := cluster(t)
	objects := apply(t, admin, "config/openshift")
	find(t, objects, "ConsoleQuickStart")
	find(t, objects, "ConsoleYAMLSample")
	metricsAreVerified(t, objects)
	managerIsAdmitted(t, admin, objects)
}

// managerIsAdmitted checks the requirements of the SecurityContextConstraints restricted-v2 for the manager: its namespace enforces the
// restricted Pod Security Standard, so the API server rejects a pod that asks for more. In addition, OpenShift chooses the user and the
// groups.
func managerIsAdmitted(t *testing.T, admin client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, objects, "Deployment").Object, deployment); err != nil {
		t.Fatal(err)
	}
	spec := deployment.Spec.Template.Spec
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "openshift-user-critical"}, Value: 1_000_000_000} // as OpenShift has it
	if err := admin.Create(t.Context(), class); err != nil || spec.PriorityClassName != class.Name {
		t.Errorf("the manager has the priority class %q: %v", spec.PriorityClassName, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: "manager"}, Spec: spec}
	if err := admin.Create(t.Context(), pod); err != nil {
		t.Error(err)
	}
	security := ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{})
	if security.RunAsUser != nil || security.FSGroup != nil || security.SELinuxOptions != nil || spec.Containers[0].SecurityContext.RunAsUser != nil {
		t.Errorf("the manager sets a user, a group, or SELinux options: %v, %v", security, spec.Containers[0].SecurityContext)
	}
}

// apply creates the objects of a kustomization.
func apply(t *testing.T, admin client.Client, kustomization string) []*unstructured.Unstructured {
	t.Helper()
	objects := apiserver.Objects(t, resource.FilenameOptions{Kustomize: filepath.Join(root, kustomization)})
	for _, obj := range objects {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
	return objects
}

// OLM creates the manifests of the bundle in the order of their names: the service account must exist before its token.
func TestBundle(t *testing.T) {
	const dir = root + "/dist/openshift/bundle/manifests"
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no bundle for OpenShift: run make bundle-openshift")
	}
	admin := cluster(t)
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	objects := apiserver.Objects(t, resource.FilenameOptions{Filenames: []string{dir}})
	for _, obj := range objects {
		if obj.GetKind() == "ClusterServiceVersion" {
			continue // The kind belongs to OLM. The validators check it.
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
	metricsAreVerified(t, objects)
	for _, obj := range objects {
		switch obj.GetKind() {
		case "ServiceAccount":
			return
		case "Secret":
			t.Fatal("the token precedes its service account, so Kubernetes deletes it")
		}
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

// metricsAreVerified checks the requirements of OpenShift's user-workload monitoring: a ServiceMonitor must not refer to files of
// Prometheus, because the setting arbitraryFSAccessThroughSMs denies it. Prometheus verifies the certificate of the manager with the CA in
// a ConfigMap.
func metricsAreVerified(t *testing.T, objects []*unstructured.Unstructured) {
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
	for _, path := range [][]string{{"authorization", "credentials", "name"}, {"tlsConfig", "ca", "configMap", "name"}, {"tlsConfig", "serverName"}} {
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
