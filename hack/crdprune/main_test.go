// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The API server writes the defaults of a CRD into the objects that it serves. A new default in a newer Kubernetes API library would change
// the hash of templates that were not edited, and the operator would replace their pods.
func TestDefaults(t *testing.T) {
	for file, template := range templates(t) {
		for _, path := range defaults("template", template) {
			if !strings.HasSuffix(path, "ports.protocol") && !strings.HasSuffix(path, "imagePullSecrets.name") {
				t.Errorf("%s: %s has a default", file, path)
			}
		}
	}
}

// A field of a template stays in the CRD forever, so each field that a newer library adds must be reviewed. testdata/fields.txt has those
// that are stable, by the field that contains them.
func TestFields(t *testing.T) {
	data, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	judged := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		parent, fields, _ := strings.Cut(line, ":")
		for _, field := range strings.Fields(fields) {
			judged[parent+"."+field] = true
		}
	}
	for file, template := range templates(t) {
		found := map[string]bool{}
		add := func(parent string, schema any) {
			properties, _ := dig(schema, "properties")
			for field := range properties {
				found[parent+"."+field] = true
			}
		}
		add("template", template)
		eachProperty(template, func(name string, property map[string]any) {
			add(name, property)
			add(name, property["items"])
			add(name, property["additionalProperties"])
		})
		for field := range found {
			if !judged[field] {
				t.Errorf("%s: %s is new: if its feature gate is off by default, add it to unstable in main.go, else to testdata/fields.txt", file, field)
			}
		}
		for field := range judged {
			if !found[field] {
				t.Errorf("%s: %s is missing: OLM v1 rejects a CRD that lacks a field of a release; if none had it, remove it from testdata/fields.txt", file, field)
			}
		}
	}
}

// templates returns the schemas of the pod templates by CRD.
func templates(t *testing.T) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
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
			found[file] = template
		}
	}
	return found
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
