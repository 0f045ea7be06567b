// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command jsonschema writes a JSON schema for each version of the given CRD files, for editors and kubeconform. The rules of a CRD are not
// in it: JSON Schema cannot express them.
//
//	jsonschema DIRECTORY CRD...
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "jsonschema:", err)
		os.Exit(1)
	}
}

// run writes the schemas of the CRD files to KIND_VERSION.json in the directory.
func run(directory string, files []string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		schemas, err := convert(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for name, schema := range schemas {
			if err := os.WriteFile(filepath.Join(directory, name), schema, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// convert returns the schemas of a CRD by the name of their file.
func convert(crd []byte) (map[string][]byte, error) {
	var parsed struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(crd, &parsed); err != nil {
		return nil, err
	}
	schemas := map[string][]byte{}
	for _, version := range parsed.Spec.Versions {
		schema := version.Schema.OpenAPIV3Schema
		adapt(schema)
		schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		schema["required"] = []string{"apiVersion", "kind", "metadata"}
		properties := schema["properties"].(map[string]any)
		properties["apiVersion"].(map[string]any)["const"] = parsed.Spec.Group + "/" + version.Name
		properties["kind"].(map[string]any)["const"] = parsed.Spec.Names.Kind
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return nil, err
		}
		schemas[strings.ToLower(parsed.Spec.Names.Kind)+"_"+version.Name+".json"] = append(text, '\n')
	}
	return schemas, nil
}

// adapt converts a schema of a CRD, and all schemas in it, to JSON Schema: it rejects unknown fields as `kubectl apply` does, and converts
// nullable to a type.
func adapt(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, ok := s["properties"].(map[string]any); ok && s["x-kubernetes-preserve-unknown-fields"] != true {
			s["additionalProperties"] = false
		}
		if s["nullable"] == true {
			s["type"] = []any{s["type"], "null"}
			delete(s, "nullable")
		}
		for name, below := range s {
			if strings.HasPrefix(name, "x-kubernetes-") {
				delete(s, name)
				continue
			}
			adapt(below)
		}
	case []any:
		for _, below := range s {
			adapt(below)
		}
	}
}
