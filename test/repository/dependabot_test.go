// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// moduleUpdates is one entry of .github/dependabot.yml.
type moduleUpdates struct {
	Directories []string `json:"directories"`
	Allow       []struct {
		Name string `json:"dependency-name"`
		Type string `json:"dependency-type"`
	} `json:"allow"`
	Groups map[string]struct {
		Patterns []string `json:"patterns"`
	} `json:"groups"`
}

// allows says whether Dependabot updates the module of this package although go.mod marks the module as indirect.
func (u moduleUpdates) allows(goPackage string) bool {
	for _, allowed := range u.Allow {
		if allowed.Name != "" && allowed.Type == "all" && strings.HasPrefix(goPackage, strings.TrimSuffix(allowed.Name, "*")) {
			return true
		}
	}
	return false
}

// toolLine is a line of go.mod that names a tool: it has a package and no version.
var toolLine = regexp.MustCompile(`(?m)^(?:tool |\t)([\w./-]+)$`)

func TestDependabotUpdatesEveryModuleExceptTheOldest(t *testing.T) {
	var config struct {
		Updates []moduleUpdates `json:"updates"`
	}
	if err := yaml.Unmarshal(read(t, ".github/dependabot.yml"), &config); err != nil {
		t.Fatal(err)
	}
	entries := map[string][]moduleUpdates{}
	for _, entry := range config.Updates {
		for _, directory := range entry.Directories {
			entries[directory] = append(entries[directory], entry)
		}
	}
	for _, file := range glob(t, "go.mod", "hack/tools/*/go.mod") {
		directory := filepath.Join("/", filepath.Dir(file))
		want := 1
		if directory == "/hack/tools/oldest" {
			want = 0
		}
		if len(entries[directory]) != want {
			t.Errorf("%d entries have the directory %s, want %d", len(entries[directory]), directory, want)
			continue
		}
		for _, entry := range entries[directory] {
			for _, tool := range toolLine.FindAllStringSubmatch(string(read(t, file)), -1) {
				if !entry.allows(tool[1]) {
					t.Errorf("%s: no entry of allow names the module of the tool %s", directory, tool[1])
				}
			}
		}
	}

	// The operator and the cluster of the tests move to another Kubernetes in one pull request.
	for _, entry := range entries["/"] {
		if directory := "/hack/tools/cluster"; !slices.Contains(entry.Directories, directory) {
			t.Errorf("the entry of / does not have %s", directory)
		}
		if !slices.Contains(entry.Groups["kubernetes"].Patterns, "k8s.io/*") || !entry.allows("k8s.io/api") {
			t.Error("no group updates all modules of k8s.io together")
		}
	}
}
