// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The API server writes the defaults of a CRD into the objects that it serves. A new default in a newer Kubernetes API library would change
// the hash of templates that were not edited, and the operator would replace their pods.
func TestDefaults(t *testing.T) {
	for file, template := range templates(t) {
		text, err := json.Marshal(template)
		if _, after, found := strings.Cut(string(text), `"default":`); err != nil || found {
			t.Errorf("%s: a template has a default: %.40s, %v", file, after, err)
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
		walk("template", template, func(name string, s *schema) {
			for field := range cmp.Or(itemsOf(s), s).Properties {
				if name != "" {
					found[name+"."+field] = true
				}
			}
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
func templates(t *testing.T) map[string]*schema {
	t.Helper()
	found := map[string]*schema{}
	for _, file := range []string{"app.example.com_podsets", "cnat.d2iq.com_ats"} {
		crd, err := read("../../config/crd/bases/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			template, ok := version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["template"]
			if !ok {
				t.Fatalf("%s has no template", file)
			}
			found[file] = &template
		}
	}
	return found
}
