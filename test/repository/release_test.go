// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeScripts writes files to a new directory. All of them are executable.
func writeScripts(t *testing.T, contents map[string]string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("releases are built on Linux")
	}
	dir := t.TempDir()
	for name, content := range contents {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The release logs in to the registry of IMAGE_BASE, and the workflow contains no registry.
func TestRelease_login(t *testing.T) {
	const imageBase = "IMAGE_BASE=registry.example.com:5000/me/operator"
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "release-login", imageBase)
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "cosign login registry.example.com:5000 ") {
		t.Errorf("make release-login: %v\n%s", err, output)
	}
	steps := string(read(t, ".github/workflows/release.yaml"))
	if strings.Contains(steps, "quay.io") || !strings.Contains(steps, "make release-login") {
		t.Error("the workflow does not use the registry of IMAGE_BASE")
	}
}

// A version can be added to a channel after a newer one. Manual additions to the other entries remain.
func TestCatalog(t *testing.T) {
	dir := writeScripts(t, map[string]string{
		"hack/catalog.sh": string(read(t, "hack/catalog.sh")),
		"catalog/podset-operator/stable.yaml": "schema: olm.channel\npackage: podset-operator\nname: stable\nentries:\n" +
			"- name: podset-operator.v1.0.0\n- name: podset-operator.v2.0.0\n  skips: [podset-operator.v1.9.0] # it was withdrawn\n" +
			"  replaces: podset-operator.v1.0.0\n  skipRange: '>=1.0.0 <2.0.0'\n",
	})
	for _, version := range []string{"2.10.0", "1.0.1", "2.9.0", "1.0.1", "2.0.0", "2.10.0-rc.1"} {
		if output, err := exec.CommandContext(t.Context(), filepath.Join(dir, "hack/catalog.sh"), "add", "stable", version).CombinedOutput(); err != nil {
			t.Fatalf("adding %s: %v\n%s", version, err, output)
		}
	}
	want := "schema: olm.channel\npackage: podset-operator\nname: stable\nentries:\n- name: podset-operator.v1.0.0\n"
	previous := "1.0.0"
	for _, version := range []string{"1.0.1", "2.0.0", "2.9.0", "2.10.0-rc.1", "2.10.0"} {
		want += fmt.Sprintf("- name: podset-operator.v%s\n", version)
		want += fmt.Sprintf("  replaces: podset-operator.v%s\n  skipRange: '>=1.0.0 <%s'\n", previous, version)
		if version == "2.0.0" {
			want += "  skips: [podset-operator.v1.9.0] # it was withdrawn\n"
		}
		previous = version
	}
	got, err := os.ReadFile(filepath.Join(dir, "catalog/podset-operator/stable.yaml"))
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("the channel: %v (-want +got)\n%s", err, diff)
	}
}
