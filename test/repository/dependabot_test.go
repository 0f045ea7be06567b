// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// The module with the oldest Kubernetes stays at its version. Dependabot updates all others.
func TestDependabot(t *testing.T) {
	var config struct {
		Updates []struct {
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	if err := yaml.Unmarshal(read(t, ".github/dependabot.yml"), &config); err != nil {
		t.Fatal(err)
	}
	entries := map[string]int{}
	for _, entry := range config.Updates {
		for _, directory := range entry.Directories {
			entries[directory]++
		}
	}
	for _, file := range glob(t, "go.mod", "hack/tools/*/go.mod") {
		directory, want := filepath.Join("/", filepath.Dir(file)), 1
		if directory == "/hack/tools/oldest" {
			want = 0
		}
		if entries[directory] != want {
			t.Errorf("%d entries of dependabot.yml have the directory %s, want %d", entries[directory], directory, want)
		}
	}
}
