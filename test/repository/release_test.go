// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
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

// release-verify compares every file that release-files writes. It finds an SBOM that depends on the machine.
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

// The user of an image is not the user who builds it, so the modes in an image do not depend on the umask.
func TestImage_umask(t *testing.T) {
	dir := writeScripts(t, map[string]string{
		"hack/image.sh":     string(read(t, "hack/image.sh")),
		"fake/podman":       "#!/bin/sh\nfor context; do :; done\ncd \"$context\" && find . -printf '%m %P\\n' | sort -k 2\n",
		"Dockerfile":        "FROM scratch\nARG TARGETARCH\nCOPY bin/manager-${TARGETARCH} /manager\nCOPY bundle/manifests /manifests/\n",
		"bin/manager-amd64": "", "bin/manager-arm64": "", "bundle/manifests/crd.yaml": "",
	})
	if err := os.Chmod(filepath.Join(dir, "bundle/manifests/crd.yaml"), 0o660); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "umask 077 && hack/image.sh build localhost/x Dockerfile amd64")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CONTAINER_TOOL=podman", "PATH="+filepath.Join(dir, "fake")+":"+os.Getenv("PATH"))
	output, err := cmd.CombinedOutput()
	const want = "755 \n755 bin\n755 bin/manager-amd64\n755 bundle\n755 bundle/manifests\n644 bundle/manifests/crd.yaml\n"
	if err != nil || string(output) != want {
		t.Errorf("image.sh: %v, the image contains\n%swant\n%s", err, output, want)
	}
}

// A clone can be in any directory.
func TestMake_directory(t *testing.T) {
	const kustomize = "#!/bin/sh\n[ \"$1\" != build ] || [ -e \"$2\" ]\n"
	files := map[string]string{
		"bin/kustomize": kustomize, "fake/podman": "#!/bin/sh\n", "dist/digests/bundle.Dockerfile": "FROM scratch\nCOPY bundle /\n",
		"dist/digests/bundle/x": "", "config/default/x": "",
	}
	for _, name := range append(glob(t, "hack/make/*.mk"), "Makefile", "hack/image.sh") {
		files[name] = string(read(t, name))
	}
	for _, file := range glob(t, "hack/tools/*/go.mod") {
		files[file] = string(read(t, file))
	}
	written := writeScripts(t, files)
	dir := filepath.Join(filepath.Dir(written), `it's a "clone" & more`)
	if err := os.Rename(written, dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "make", "-o", "bin/kustomize", "build-installer", "deploy", "undeploy", "bundle-build",
		"KUBECTL=true", "CONTAINER_TOOL=podman", "BUNDLE_DIR=dist/digests")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+filepath.Join(dir, "fake")+":"+os.Getenv("PATH"))
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("make in %s: %v\n%s", dir, err, output)
	}
}

// The release logs in to the registry of IMAGE_BASE, and the workflow names no registry.
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
		t.Error("the workflow does not take the registry from IMAGE_BASE")
	}
}
