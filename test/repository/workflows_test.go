// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the path of the repository from this directory.
const root = "../.."

// A tag or a branch of an action can move to another commit.
func TestWorkflows_pinned(t *testing.T) {
	pinned := regexp.MustCompile(`^(\./.*|[^@]+@[0-9a-f]{40})$`)
	for _, file := range glob(t, ".github/workflows/*") {
		content := string(read(t, file))
		for _, use := range regexp.MustCompile(`\buses: *(\S+)`).FindAllStringSubmatch(content, -1) {
			if !pinned.MatchString(use[1]) {
				t.Errorf("%s: %s is not pinned by the SHA of a commit", file, use[1])
			}
		}
		if !strings.Contains(content, "\npermissions:") {
			t.Errorf("%s does not set its permissions, so it gets all of them", file)
		}
	}
}

// Every make target and script that a workflow runs exists.
func TestWorkflows(t *testing.T) {
	targets := makeTargets(t)
	for _, file := range glob(t, ".github/workflows/*") {
		for line := range strings.Lines(string(read(t, file))) {
			for _, problem := range problemsOf(strings.TrimSpace(line), targets) {
				t.Errorf("%s: %s", file, problem)
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
