// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openshift

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/test/apiserver"
)

const root = "../.."

func TestConfig(t *testing.T) {
	objects := apiserver.Objects(t, resource.FilenameOptions{Kustomize: filepath.Join(root, "config/openshift")})
	validate(t, objects)
	find(t, objects, "ConsoleQuickStart")
	find(t, objects, "ConsoleYAMLSample")
	metricsAreVerified(t, objects)
	managerIsAdmitted(t, objects)
}

// OLM creates the manifests of the bundle in the order of their names: the service account must exist before its token.
func TestBundle(t *testing.T) {
	const dir = root + "/dist/openshift/bundle/manifests"
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no bundle for OpenShift: run make bundle-openshift")
	}
	objects := apiserver.Objects(t, resource.FilenameOptions{Filenames: []string{dir}})
	validate(t, objects)
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

// validate checks that OpenShift and Kubernetes have the kinds and all fields of objects, and that the values fit.
func validate(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	scheme, crds := apiserver.Scheme(), schemas(t)
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, obj := range objects {
		var err error
		if properties := crds[obj.GroupVersionKind()]; properties != nil {
			err = check(obj, properties)
		} else if obj.GetKind() != "ClusterServiceVersion" { // The kind belongs to OLM. The validators check it.
			data, marshalErr := obj.MarshalJSON()
			_, _, err = strict.Decode(data, nil, nil)
			err = errors.Join(marshalErr, err)
		}
		if err != nil {
			t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// check checks an object with the schema of a CRD, as the API server does.
func check(obj *unstructured.Unstructured, properties *apiextensions.JSONSchemaProps) error {
	structural, err := structuralschema.NewStructural(properties)
	if err != nil {
		return err
	}
	validator, _, err := validation.NewSchemaValidator(properties)
	if err != nil {
		return err
	}
	if err := validation.ValidateCustomResource(nil, obj.Object, validator).ToAggregate(); err != nil {
		return err
	}
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	if unknown := pruning.PruneWithOptions(obj.DeepCopy().Object, structural, true, options); len(unknown) > 0 {
		return fmt.Errorf("unknown fields: %v", unknown)
	}
	return nil
}

// schemas reads the schemas of the CRDs.
func schemas(t *testing.T) map[schema.GroupVersionKind]*apiextensions.JSONSchemaProps {
	t.Helper()
	paths, err := CRDs(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	found := map[schema.GroupVersionKind]*apiextensions.JSONSchemaProps{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			properties := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, properties, nil); err != nil {
				t.Fatal(err)
			}
			found[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = properties
		}
	}
	return found
}

// managerIsAdmitted checks the requirements of the SecurityContextConstraints restricted-v2 for the manager: the restricted Pod Security
// Standard. In addition, OpenShift chooses the user and the groups.
func managerIsAdmitted(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, objects, "Deployment").Object, deployment); err != nil {
		t.Fatal(err)
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	template := deployment.Spec.Template
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)); !result.Allowed {
		t.Error(result.ForbiddenDetail())
	}
	security := ptr.Deref(template.Spec.SecurityContext, corev1.PodSecurityContext{})
	if security.RunAsUser != nil || security.FSGroup != nil || security.SELinuxOptions != nil || template.Spec.Containers[0].SecurityContext.RunAsUser != nil {
		t.Errorf("the manager sets a user, a group, or SELinux options: %v, %v", security, template.Spec.Containers[0].SecurityContext)
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
