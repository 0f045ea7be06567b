// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle tests the directories bundle/ and catalog/, which OLM installs, without a cluster.
package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

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
