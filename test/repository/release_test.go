// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lines returns the lines that a command prints in the repository.
func lines(t *testing.T, dir, command string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// The command of RELEASING.md lists every name of a registry, a repository, or an address that a fork must change.
func TestReleasing_names(t *testing.T) {
	command := regexp.MustCompile(`(?m)^ +(git grep -nE .*)$`).FindStringSubmatch(string(read(t, "RELEASING.md")))
	if command == nil {
		t.Fatal("RELEASING.md has no command that lists the names")
	}
	listed := lines(t, root, command[1])
	others := regexp.MustCompile(`(?i)\bgithub\.com/redhat/podset-operator|redhat-openshift-ecosystem|docs\.redhat\.com` +
		`|com\.redhat\.openshift|red_hat|LAB_REGISTRY/redhat|quay\.io/operator-framework|on quay\.io|'noreply'`)
	name := regexp.MustCompile(`(?i)redhat|quay\.io|noreply`)
	for _, line := range lines(t, root, "git grep -nIiE 'redhat|quay[.]io|noreply' -- ':!*go.mod' ':!*go.sum' ':!bundle*' "+
		"':!catalog' ':!test/repository/release_test.go'") {
		rest := others.ReplaceAllString(strings.ReplaceAll(line, "//github.com", "//URL"), "")
		if name.MatchString(rest) && !slices.Contains(listed, line) {
			t.Errorf("the command of RELEASING.md does not list %s", line)
		}
	}
}

// After `make set-version`, only the change log, the catalog, and other programs have the old version.
func TestMakeSetVersion(t *testing.T) {
	dir := t.TempDir()
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	lines(t, dir, `(cd '`+path+`' && git ls-files -z | xargs -0 tar c) | tar x; git init -q; git add -A`)
	version := strings.TrimPrefix(lines(t, dir, "grep '^VERSION ?= ' Makefile")[0], "VERSION ?= ")
	lines(t, dir, "env -u MAKEFLAGS -u MAKEOVERRIDES make --no-print-directory set-version VERSION=7.8.9")
	left := `git grep -nIwF '` + version + `' -- . ':!*go.mod' ':!*go.sum' ':!CHANGELOG.md' ':!bundle' ':!catalog' || echo none`
	if old := lines(t, dir, left); old[0] != "none" {
		t.Errorf("these have the old version:\n%s", strings.Join(old, "\n"))
	}
	if changed := lines(t, dir, "grep -rhoF 7.8.9 Makefile charts config docs | sort | uniq -c")[0]; !strings.HasSuffix(changed, " 7.8.9") {
		t.Errorf("no file has the new version: %s", changed)
	}
}

// docs/install.md says whether a version is released, and `make release-check` requires that it stops. The other pages refer to it.
func TestUnreleased(t *testing.T) {
	claim := regexp.MustCompile(`(?i)(?:no|nothing|no version|not)\s+(?:is|are)?\s*(?:yet )?(?:released|published)` +
		`|there (?:is|are) no (?:published|release)|no release exists|(?:after|before)\s+the\s+first\s+release|the first release has`)
	files := append(pages(t), glob(t, "*.yml", "charts/*/*.yaml", "charts/*/templates/*.txt", "config/manifests/bases/*.yaml")...)
	var found []string
	for _, file := range files {
		for _, match := range claim.FindAllString(string(read(t, file)), -1) {
			if file != "RELEASING.md" {
				found = append(found, file+": "+match)
			}
		}
	}
	if len(found) > 1 || len(found) == 1 && found[0] != "docs/install.md: No version is released" {
		t.Errorf("only docs/install.md says that no version is released, once; found:\n%s", strings.Join(found, "\n"))
	}
}

// The notes of a release are its section of the change log, with links that work outside of the repository.
func TestReleaseNotes(t *testing.T) {
	notes := strings.Join(lines(t, root, "REPOSITORY_URL=https://example.com/a VERSION=Unreleased hack/release.sh notes"), "\n")
	if !strings.HasPrefix(notes, "### ") || strings.Contains(notes, "\n## ") {
		t.Errorf("these are not the notes of one version:\n%s", notes)
	}
	// Without the empty line, Markdown makes a paragraph after a list a part of its last item.
	if joined := regexp.MustCompile(`(?m)^(- |  ).*\n[^-\s].*`).FindString(notes); joined != "" {
		t.Errorf("there is no empty line in:\n%s", joined)
	}
	found := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(notes, -1)
	for _, match := range found {
		if !strings.Contains(match[1], "://") {
			t.Errorf("the link %s works only in the repository", match[1])
		}
	}
	if len(found) == 0 {
		t.Error("the notes have no links")
	}
	lines(t, root, "! VERSION=9.9.9 REPOSITORY_URL= hack/release.sh notes")
}
