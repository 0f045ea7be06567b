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

// runScript runs a script of hack in a directory, with the programs of its directory fake first in the PATH.
func runScript(t *testing.T, dir, script string, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, script), args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "fake")+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

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

// macOS has bash 3.2, whose read also returns 1 for a timeout. Every build goes through hack/build.sh.
func TestBuild_oldBash(t *testing.T) {
	dir := writeScripts(t, map[string]string{
		"hack/build.sh": string(read(t, "hack/build.sh")),
		"fake/go":       "#!/bin/sh\nsleep 2\necho some/package >&2\nsleep 1\necho another/package >&2\n",
		"old":           "read() { builtin read \"$@\"; local s=$?; [ $s -gt 128 ] && return 1; return $s; }\n",
	})
	if output, err := runScript(t, dir, "hack/build.sh", []string{"BASH_ENV=" + filepath.Join(dir, "old")}, "bin/x", dir, "."); err != nil || !strings.Contains(output, "built bin/x in ") {
		t.Errorf("%v\n%s", err, output)
	}
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

// The two repositories of OperatorHub have the same files. Only the catalogs differ: one for each version of OpenShift, or one for all clusters.
func TestCommunity(t *testing.T) {
	for name, c := range map[string]struct{ catalogs, versions, want string }{
		"OpenShift":                   {"v4.17 v4.18 v4.22 v4.23", "v4.18-v4.22", "[v4.18, v4.22]"},
		"OpenShift, without an end":   {"v4.17 v4.18 v4.23", "v4.18", "[v4.18, v4.23]"},
		"Kubernetes":                  {"latest", "v4.18-v4.22", "[latest]"},
		"a directory without a clone": {"", "v4.18-v4.22", "[v4.18, v4.19]"},
	} {
		files := map[string]string{
			"hack/community.sh": string(read(t, "hack/community.sh")), "hack/catalog.sh": string(read(t, "hack/catalog.sh")),
			"bin/operator-sdk": "#!/bin/sh\n", "bin/opm": "#!/bin/sh\n",
			"bundle/manifests/podset-operator.clusterserviceversion.yaml": "spec:\n  version: 1.2.3\n", "bundle/metadata/a": "", "bundle/tests/a": "",
			"catalog/podset-operator/package.yaml": "schema: olm.package\n", "catalog/podset-operator/stable.yaml": "entries:\n- name: podset-operator.v1.2.3\n",
		}
		for catalog := range strings.FieldsSeq(c.catalogs) {
			files["clone/catalogs/"+catalog+"/a"] = ""
		}
		dir := writeScripts(t, files)
		env := []string{"VERSION=1.2.3", "CHANNELS=stable,candidate", "OPENSHIFT_VERSIONS=" + c.versions, "OPENSHIFT_CATALOGS=v4.18 v4.19"}
		output, err := runScript(t, dir, "hack/community.sh", env, "clone")
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, output)
			continue
		}
		got := ""
		for _, file := range []string{"ci.yaml", "1.2.3/release-config.yaml", "catalog-templates/basic.yaml"} {
			text, err := os.ReadFile(filepath.Join(dir, "clone/operators/podset-operator", file))
			if err != nil {
				t.Error(err)
			}
			got += string(text)
		}
		want := "fbc:\n  enabled: true\n  catalog_mapping:\n  - template_name: basic.yaml\n    catalog_names: " + c.want + "\n    type: olm.template.basic\n" +
			"catalog_templates:\n- template_name: basic.yaml\n  channels: [stable, candidate]\n" +
			"schema: olm.template.basic\nentries:\n- schema: olm.package\n"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
