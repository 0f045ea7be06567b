// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle tests the directories bundle/ and catalog/, which OLM installs, without a cluster.
package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// root is the path of the repository from this directory.
const root = "../.."

// csvFile is the path of the ClusterServiceVersion that operator-sdk writes.
const csvFile = "bundle/manifests/podset-operator.clusterserviceversion.yaml"

func TestValidators(t *testing.T) {
	bundle, err := manifests.GetBundleFromDir(filepath.Join(root, "bundle"))
	if err != nil {
		t.Fatal(err)
	}
	validators := validation.DefaultBundleValidators.WithValidators(
		validation.ObjectValidator,
		validation.OperatorHubV2Validator,
		validation.StandardCapabilitiesValidator,
		validation.StandardCategoriesValidator,
		validation.AlphaDeprecatedAPIsValidator,
		validation.GoodPracticesValidator,
	)
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, finding := range slices.Concat(result.Errors, result.Warnings) {
			t.Errorf("%s: %v", result.Name, finding)
		}
	}
}

func TestSize(t *testing.T) {
	bundle, err := manifests.GetBundleFromDir(filepath.Join(root, "bundle"))
	if err != nil {
		t.Fatal(err)
	}
	// OLM stores a compressed bundle in a ConfigMap. etcd and the API server limit objects to about 1 MiB.
	if limit := int64(256 << 10); bundle.CompressedSize > limit {
		t.Errorf("the bundle has %d bytes compressed, more than %d", bundle.CompressedSize, limit)
	}
	// `kubectl apply` stores an object as JSON in an annotation. All annotations together are limited to 256 KiB.
	for name := range readCRDs(t, "bundle/manifests") {
		compact, err := yaml.YAMLToJSON(read(t, filepath.Join("bundle/manifests", name)))
		if err != nil {
			t.Fatal(err)
		}
		if limit := 200 << 10; len(compact) > limit {
			t.Errorf("%s has %d bytes as JSON, more than %d", name, len(compact), limit)
		}
	}
}

func TestCRDs(t *testing.T) {
	if diff := cmp.Diff(readCRDs(t, "config/crd/bases"), readCRDs(t, "bundle/manifests")); diff != "" {
		t.Errorf("config/crd/bases (-) and bundle/manifests (+) differ; run make bundle:\n%s", diff)
	}
}

func TestExamples(t *testing.T) {
	csv := readCSV(t)
	var examples []map[string]any
	if err := json.Unmarshal([]byte(csv.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	byName := map[string]map[string]any{}
	for _, example := range examples {
		byName[nameOf(example)] = example
	}
	if diff := cmp.Diff(readSamples(t), byName); diff != "" {
		t.Errorf("config/samples (-) and alm-examples (+) differ; run make bundle:\n%s", diff)
	}
	for _, kind := range csv.Spec.CustomResourceDefinitions.Owned {
		if !slices.ContainsFunc(examples, func(example map[string]any) bool { return example["kind"] == kind.Kind }) {
			t.Errorf("%s has no example", kind.Kind)
		}
	}
}

func TestDescriptors(t *testing.T) {
	samples := readSamples(t)
	schemas := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, crd := range readCRDs(t, "bundle/manifests") {
		schemas[crd.Spec.Names.Kind] = *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	owned := readCSV(t).Spec.CustomResourceDefinitions.Owned
	if len(owned) != len(schemas) {
		t.Errorf("the CSV owns %d kinds, the bundle has %d CRDs", len(owned), len(schemas))
	}
	for _, kind := range owned {
		if kind.DisplayName == "" || kind.Description == "" || len(kind.Resources) == 0 {
			t.Errorf("%s lacks a display name, a description, or resources", kind.Kind)
		}
		var spec, status []string
		for _, d := range kind.SpecDescriptors {
			spec = append(spec, d.Path)
			checkDescriptor(t, schemas[kind.Kind].Properties["spec"], kind.Kind+".spec", d.Path, d.DisplayName, d.Description, d.XDescriptors)
		}
		for _, d := range kind.StatusDescriptors {
			status = append(status, d.Path)
			checkDescriptor(t, schemas[kind.Kind].Properties["status"], kind.Kind+".status", d.Path, d.DisplayName, d.Description, d.XDescriptors)
		}
		for name, sample := range samples {
			for key := range sample["spec"].(map[string]any) {
				if sample["kind"] == kind.Kind && !slices.Contains(spec, key) {
					t.Errorf("%s.spec.%s is in the sample %s and has no descriptor", kind.Kind, key, name)
				}
			}
		}
		for key := range schemas[kind.Kind].Properties["status"].Properties {
			if !slices.Contains(status, key) {
				t.Errorf("%s.status.%s has no descriptor", kind.Kind, key)
			}
		}
	}
}

// checkDescriptor checks that a descriptor is complete and that its field exists.
func checkDescriptor(t *testing.T, schema apiextensionsv1.JSONSchemaProps, of, path, displayName, description string, xDescriptors []string) {
	t.Helper()
	if displayName == "" || description == "" || len(xDescriptors) == 0 {
		t.Errorf("%s: the descriptor of %s lacks a display name, a description, or x-descriptors", of, path)
	}
	for key := range strings.SplitSeq(path, ".") {
		next, ok := schema.Properties[key]
		if !ok {
			t.Errorf("%s: the descriptor of %s has no field", of, path)
			return
		}
		schema = next
	}
}

func TestLabels(t *testing.T) {
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	unmarshal(t, "bundle/metadata/annotations.yaml", &metadata)
	labels := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^LABEL ([^=\n]+)=(.*)$`).FindAllStringSubmatch(string(read(t, "bundle.Dockerfile")), -1) {
		labels[line[1]] = strings.Trim(line[2], `"`)
	}
	if diff := cmp.Diff(metadata.Annotations, labels); diff != "" {
		t.Errorf("bundle/metadata/annotations.yaml (-) and the labels of bundle.Dockerfile (+) differ:\n%s", diff)
	}
}

func TestScorecard(t *testing.T) {
	var config, bundled v1alpha3.Configuration
	unmarshal(t, "config/scorecard/config.yaml", &config)
	unmarshal(t, "bundle/tests/scorecard/config.yaml", &bundled)
	if diff := cmp.Diff(config, bundled); diff != "" {
		t.Errorf("config/scorecard (-) and bundle/tests/scorecard (+) differ; run make bundle:\n%s", diff)
	}
}

func TestIcon(t *testing.T) {
	var pkg struct {
		Icon struct {
			Base64data []byte `json:"base64data"`
			Mediatype  string `json:"mediatype"`
		} `json:"icon"`
	}
	unmarshal(t, "catalog/podset-operator/package.yaml", &pkg)
	icons := readCSV(t).Spec.Icon
	if len(icons) != 1 {
		t.Fatalf("the CSV has %d icons, want one", len(icons))
	}
	bundled, err := base64.StdEncoding.DecodeString(icons[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	drawing := read(t, "docs/icon.svg")
	if !bytes.Equal(bundled, drawing) || !bytes.Equal(pkg.Icon.Base64data, drawing) {
		t.Error("the icon of the CSV or of the catalog is not docs/icon.svg")
	}
	if icons[0].MediaType != "image/svg+xml" || pkg.Icon.Mediatype != "image/svg+xml" {
		t.Errorf("the media types are %q and %q", icons[0].MediaType, pkg.Icon.Mediatype)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func unmarshal(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, file), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func readCSV(t *testing.T) *operatorsv1alpha1.ClusterServiceVersion {
	t.Helper()
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	unmarshal(t, csvFile, csv)
	return csv
}

// readCRDs reads the CRDs in dir by the names of their files.
func readCRDs(t *testing.T, dir string) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, name := range []string{"app.example.com_podsets.yaml", "cnat.d2iq.com_ats.yaml"} {
		var crd apiextensionsv1.CustomResourceDefinition
		unmarshal(t, filepath.Join(dir, name), &crd)
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{} // operator-sdk writes an empty status
		crds[name] = crd
	}
	return crds
}

func nameOf(object map[string]any) string {
	return object["metadata"].(map[string]any)["name"].(string)
}

// readSamples reads the samples that config/samples lists, by name.
func readSamples(t *testing.T) map[string]map[string]any {
	t.Helper()
	var list struct {
		Resources []string `json:"resources"`
	}
	unmarshal(t, "config/samples/kustomization.yaml", &list)
	samples := map[string]map[string]any{}
	for _, name := range list.Resources {
		var sample map[string]any
		unmarshal(t, filepath.Join("config/samples", name), &sample)
		samples[nameOf(sample)] = sample
	}
	if len(samples) != len(list.Resources) {
		t.Errorf("config/samples has two samples of a name: %v", slices.Collect(maps.Keys(samples)))
	}
	return samples
}
