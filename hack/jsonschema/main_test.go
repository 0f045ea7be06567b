// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// compiled returns the schemas of both kinds, by the name of the kind in lower case.
func compiled(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	dir := t.TempDir()
	crds, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(crds) != 2 {
		t.Fatalf("there are %d CRDs: %v", len(crds), err)
	}
	if err := run(dir, crds); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, kind := range []string{"podset", "at"} {
		if schemas[kind], err = jsonschema.NewCompiler().Compile(filepath.Join(dir, kind+"_v1alpha1.json")); err != nil {
			t.Fatal(err)
		}
	}
	return schemas
}

// validate validates one YAML document with the schema of its kind.
func validate(t *testing.T, schemas map[string]*jsonschema.Schema, document string) error {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := value.(map[string]any)["kind"].(string)
	schema := schemas[strings.ToLower(kind)]
	if schema == nil {
		return nil // a Service, for example
	}
	return schema.Validate(value)
}

func TestSchemas(t *testing.T) {
	schemas, valid := compiled(t), 0
	for _, pattern := range []string{"../../config/samples/*_*.yaml", "../../examples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for document := range strings.SplitSeq(string(text), "\n---\n") {
				if err := validate(t, schemas, document); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				valid++
			}
		}
	}
	if valid < 8 {
		t.Errorf("only %d documents were validated", valid)
	}
}

func TestSchemas_mistakes(t *testing.T) {
	schemas := compiled(t)
	const at, set = "kind: At\napiVersion: cnat.d2iq.com/v1alpha1\nmetadata: {name: a}\n", "kind: PodSet\napiVersion: app.example.com/v1alpha1\nmetadata: {name: a}\n"
	for document, want := range map[string]bool{
		at + "spec: {schedule: now, command: a}":                                true,
		at + "spec: {schedule: now, comand: a}":                                 false,
		at + "spec: {command: a}":                                               false,
		at + "spec: {schedule: now, suspend: 1}":                                false,
		set + "spec: {replicas: 3}":                                             true,
		set + "spec: {replicas: 11}":                                            false,
		set + "spec: {size: 3}":                                                 false,
		set + "spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 50%}}}":  true,
		set + "spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 1}}}":    true,
		set + "spec: {updateStrategy: {rollingUpdate: {maxUnavailable: true}}}": false,
		set + "spec: {template: {metadata: {creationTimestamp: null}, spec: {containers: [{name: a, image: b}]}}}": true,
		set + "spec: {template: {spec: {containers: [{name: a, image: b, ressources: {}}]}}}":                      false,
		strings.Replace(set, "v1alpha1", "v1", 1) + "spec: {replicas: 3}":                                          false,
	} {
		if err := validate(t, schemas, document); (err == nil) != want {
			t.Errorf("%s: %v", document, err)
		}
	}
}
