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

// fakeCosign records its arguments, and writes what the real one would write.
const fakeCosign = `#!/usr/bin/env bash
echo "$*" >>cosign.log
if [ "$1" = triangulate ]; then echo "${!#}@sha256:0"; fi
while [ $# -gt 0 ]; do
  if [ "$1" = --bundle ]; then echo '{}' >"$2"; fi
  shift
done
`

// Each published file has a signature, or a checksum in a file that has one. Each binary has an SBOM.
func TestRelease(t *testing.T) {
	dir := writeScripts(t, map[string]string{
		"hack/release.sh":                string(read(t, "hack/release.sh")),
		"fake/go":                        "#!/bin/sh\necho \"the SBOM of $5\"\n",
		"fake/git":                       "#!/bin/sh\necho 0123456789abcdef0123456789abcdef01234567\n",
		"bin/cosign":                     fakeCosign,
		"dist/install.yaml":              "install",
		"dist/policy.yaml":               "policy",
		"dist/podset-operator-1.2.3.tgz": "chart",
		"dist/schemas/at_v1alpha1.json":  "schema",
		"dist/plugin/kubectl-at_v1.2.3_linux_amd64.tar.gz":    "archive",
		"dist/plugin/kubectl-at_v1.2.3_linux_amd64.spdx.json": "SBOM",
		"dist/plugin/.krew.yaml":                              "krew",
	})
	env := []string{"VERSION=1.2.3", "REPOSITORY_URL=https://example.com/me/operator", "COSIGN_KEY="}
	for _, args := range [][]string{
		{"files", "dist/release", "amd64", "s390x"},
		{"sign", "dist/release", "manager:v1", "bundle:v1", "catalog:v1"},
	} {
		if output, err := runScript(t, dir, "hack/release.sh", env, args...); err != nil {
			t.Fatalf("release.sh %v: %v\n%s", args, err, output)
		}
	}

	content := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	published, err := os.ReadDir(filepath.Join(dir, "dist/release"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range published {
		names[file.Name()] = true
	}
	checksums := content("dist/release/checksums.txt")
	for name := range names {
		signed := names[name+".sigstore.json"] || strings.HasSuffix(name, ".sigstore.json")
		if !signed && !strings.Contains(checksums, "  "+name+"\n") {
			t.Errorf("nothing verifies %s", name)
		}
	}
	for _, name := range []string{
		"install.yaml", "policy.yaml", "podset-operator-1.2.3.tgz", "at_v1alpha1.json", "at.yaml", "kubectl-at_v1.2.3_linux_amd64.tar.gz", "kubectl-at_v1.2.3_linux_amd64.spdx.json",
		"manager-amd64.spdx.json", "manager-s390x.spdx.json",
		"checksums.txt.sigstore.json", "checksums.txt.provenance.sigstore.json", "images.txt.sigstore.json",
	} {
		if !names[name] {
			t.Errorf("the release has no %s", name)
		}
	}

	calls := content("cosign.log")
	for _, want := range []string{
		"attest-blob --yes --type slsaprovenance1 --predicate dist/provenance.json " +
			"--bundle dist/release/checksums.txt.provenance.sigstore.json dist/release/checksums.txt\n",
		"sign --yes --recursive catalog:v1@sha256:0\n",
		"attest --yes --type slsaprovenance1 --predicate dist/provenance.json manager:v1@sha256:0\n",
		"attest --yes --type spdxjson --predicate dist/release/manager-s390x.spdx.json manager:v1-s390x@sha256:0\n",
	} {
		if !strings.Contains(calls, want) {
			t.Errorf("cosign was not called with %s", want)
		}
	}
	if !strings.Contains(content("dist/release/images.txt"), "manager:v1-s390x@sha256:0\n") {
		t.Error("images.txt lacks an image")
	}
}

// release-verify compares every file that release-files writes. It detects an SBOM that depends on the machine.
func TestReleaseVerify(t *testing.T) {
	dir := writeScripts(t, map[string]string{
		"hack/release-verify.sh": string(read(t, "hack/release-verify.sh")),
		"bin/kustomize":          "",
		"fake/git":               "#!/bin/sh\ncase $1 in archive) tar -c -f - -T /dev/null ;; *) echo abc ;; esac\n",
		"fake/buildah":           "#!/bin/sh\nif [ \"$1\" = push ]; then echo sha256:0 >\"$4\"; fi\n",
		"fake/make": `#!/bin/sh
case "$*" in *release-files*)
  mkdir -p bin/image dist/release
  echo manager >bin/image/manager-amd64
  { echo SBOM; eval "$DIFFERENT"; } >dist/release/manager-amd64.spdx.json
esac
`,
	})
	const differ = "the two builds differ"
	for different, want := range map[string]string{
		"": "are equal in both builds", "pwd": differ, "umask": differ, `echo "$TZ"`: differ, `echo "$LC_ALL"`: differ,
	} {
		env := []string{"CONTAINER_TOOL=buildah", "DIFFERENT=" + different}
		output, err := runScript(t, dir, "hack/release-verify.sh", env, "ARCHES=amd64")
		if (err == nil) != (different == "") || !strings.Contains(output, want) {
			t.Errorf("release-verify with the difference %q: %v\n%s", different, err, output)
		}
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
		if output, err := runScript(t, dir, "hack/catalog.sh", nil, "add", "stable", version); err != nil {
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
