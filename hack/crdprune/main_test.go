// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The API server writes the defaults of a CRD into the objects that it serves. A new default in a newer Kubernetes API library would
// change the hash of templates that were not edited, and the operator would replace their pods.
func TestTheCRDsAddNothingToATemplateButTheKeysOfLists(t *testing.T) {
	for _, file := range []string{"app.example.com_podsets", "cnat.d2iq.com_ats"} {
		data, err := os.ReadFile("../../config/crd/bases/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			template, ok := dig(version.Schema.OpenAPIV3Schema, "properties", "spec", "properties", "template")
			if !ok {
				t.Fatalf("%s has no template", file)
			}
			for _, path := range defaults("template", template) {
				if !strings.HasSuffix(path, "ports.protocol") && !strings.HasSuffix(path, "imagePullSecrets.name") {
					t.Errorf("%s: %s has a default", file, path)
				}
			}
		}
	}
}

// defaults returns the paths of all properties below a schema that have a default.
func defaults(path string, schema any) []string {
	s, _ := schema.(map[string]any)
	var paths []string
	if _, ok := s["default"]; ok {
		paths = append(paths, path)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := s[key].(map[string]any); ok {
			paths = append(paths, defaults(path, below)...)
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		paths = append(paths, defaults(path+"."+name, property)...)
	}
	return paths
}
