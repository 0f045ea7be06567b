// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// root is the path of the repository from this directory.
const root = "../.."

// workflow is the part of a workflow of GitHub that the tests read.
type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Uses  string `json:"uses"`
		Steps []struct {
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

var pinned = regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)

// unpinned returns the actions that a workflow does not pin by the SHA of a commit.
func unpinned(w workflow) []string {
	var found []string
	for _, job := range w.Jobs {
		uses := []string{job.Uses}
		for _, step := range job.Steps {
			uses = append(uses, step.Uses)
		}
		for _, action := range uses {
			if action != "" && !strings.HasPrefix(action, "./") && !pinned.MatchString(action) {
				found = append(found, action)
			}
		}
	}
	return found
}

func TestActionsArePinnedByCommit(t *testing.T) {
	for _, file := range glob(t, ".github/workflows/*") {
		var w workflow
		if err := yaml.Unmarshal(read(t, file), &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, action := range unpinned(w) {
			t.Errorf("%s: %s is not pinned by the SHA of a commit", file, action)
		}
		if len(w.Permissions) == 0 {
			t.Errorf("%s gets all permissions, because it does not name those that it needs", file)
		}
	}
}

func TestUnpinnedActionsAreFound(t *testing.T) {
	for action, want := range map[string]int{
		"actions/checkout@v4":   1,
		"actions/checkout@main": 1,
		"actions/checkout":      1,
		"actions/checkout@0123456789abcdef0123456789abcdef0123456":  1,
		"actions/checkout@0123456789abcdef0123456789abcdef01234567": 0,
		"./local": 0,
	} {
		var w workflow
		if err := yaml.Unmarshal([]byte("jobs: {a: {steps: [{uses: "+action+"}]}}"), &w); err != nil {
			t.Fatal(err)
		}
		if found := unpinned(w); len(found) != want {
			t.Errorf("%s: %v", action, found)
		}
	}
}

// Every make target and script that a workflow runs exists.
func TestWorkflowsRunTargetsThatExist(t *testing.T) {
	targets := makeTargets(t)
	for _, file := range glob(t, ".github/workflows/*") {
		var w workflow
		if err := yaml.Unmarshal(read(t, file), &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				for line := range strings.Lines(step.Run) {
					for _, problem := range checkLine(strings.TrimSpace(line), targets) {
						t.Errorf("%s: %s", file, problem)
					}
				}
			}
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// glob returns the files that match, relative to the repository. No match is an error.
func glob(t *testing.T, patterns ...string) []string {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		matches, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(matches) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, match := range matches {
			name, err := filepath.Rel(root, match)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, name)
		}
	}
	return files
}
