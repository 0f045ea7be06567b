// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/test/repository"
)

// The API server accepts each PodSet and At of the documentation, and knows all of its fields.
func TestTheManifestsOfTheDocumentationAreValid(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/how-to/*.md"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, matches...)
	}
	strict := client.WithFieldValidation(admin, metav1.FieldValidationStrict)
	created := 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range repository.Manifests(string(content)) {
			var parsed any
			if err := yaml.Unmarshal([]byte(document), &parsed); err != nil {
				t.Errorf("%s: %v\n%s", page, err, document)
			}
			fields, _ := parsed.(map[string]any) // A part of a manifest can be a list.
			obj := &unstructured.Unstructured{Object: fields}
			if kind := obj.GetKind(); kind != "PodSet" && kind != "At" {
				continue
			}
			obj.SetNamespace("default")
			if err := strict.Create(t.Context(), obj, client.DryRunAll); err != nil {
				t.Errorf("%s: %v\n%s", page, err, document)
			}
			created++
		}
	}
	if created < 5 {
		t.Errorf("the documentation has only %d manifests", created)
	}
}
