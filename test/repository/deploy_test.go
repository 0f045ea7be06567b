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

// writeScripts writes files to a new directory. All of them are executable.
func writeScripts(t *testing.T, contents map[string]string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the scripts are for Linux")
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

// makeWith returns a directory with the Makefile, in which bin/kustomize and kubectl are these scripts, and a function that runs make there.
func makeWith(t *testing.T, kustomize, kubectl string) (dir string, run func(args ...string) (string, error)) {
	t.Helper()
	dir = writeScripts(t, map[string]string{"bin/kustomize": "#!/bin/sh\n" + kustomize + "\n", "kubectl": "#!/bin/sh\n" + kubectl + "\n"})
	for _, name := range []string{"Makefile", "hack"} {
		target, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", "-C", dir, "KUBECTL=./kubectl"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // A make that runs the tests exports IMG.
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// docs/install.md writes the settings of an installation to deploy/kustomization.yaml. The next `make deploy` does not reset them, and does
// not ignore an image.
func TestMakeDeploy(t *testing.T) {
	dir, run := makeWith(t, "if [ $1 = build ]; then echo 'image: mine:1'; fi", "cat")
	expect := func(kustomization string) {
		t.Helper()
		for _, target := range []string{"deploy", "undeploy"} {
			if out, err := run("-n", target); err != nil || !strings.Contains(out, kustomization+"'") {
				t.Errorf("make %s does not use %s: %v\n%s", target, kustomization, err, out)
			}
		}
	}
	expect("config/default")
	if err := os.Mkdir(filepath.Join(dir, "deploy"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "deploy/kustomization.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect("deploy")
	for _, args := range [][]string{{"deploy"}, {"deploy", "IMG=mine:1"}, {"deploy", "BUSYBOX_IMG=mine:1"}} {
		if out, err := run(args...); err != nil {
			t.Errorf("make %s: %v\n%s", args, err, out)
		}
	}
	for _, variable := range []string{"IMG=mine:2", "BUSYBOX_IMG=mine:2"} {
		if out, err := run("deploy", variable); err == nil || !strings.Contains(out, "deploy: the kustomization deploy sets another image than mine:2") {
			t.Errorf("make deploy %s: %v\n%s", variable, err, out)
		}
	}
}

// The manager runs only on nodes for which its image was built.
func TestMakeDeploy_architectures(t *testing.T) {
	const patch, failing = `[ "$1 $2" != 'edit add' ] || echo "$@" >>kustomization.yaml`, `! grep -q 'edit add' kustomization.yaml || exit 1`
	for name, c := range map[string]struct{ built, then, want string }{
		"nothing was built":             {"", "", ""},
		"another image was built":       {"mine:10 s390x", "", ""},
		"this image was built":          {"mine:1 s390x", "", `/values","value":["s390x"]}]`},
		"this image was built for two":  {"mine:1 amd64 arm64", "", `/values","value":["amd64","arm64"]}]`},
		"the affinity has another form": {"mine:1 s390x", failing, ""},
	} {
		dir, run := makeWith(t, "touch kustomization.yaml\n"+patch+"\nif [ $1 = build ]; then echo '  image: mine:1'\n"+c.then+"\nfi", "cat")
		if c.built != "" {
			if err := os.MkdirAll(filepath.Join(dir, "bin/image"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "bin/image/built"), []byte(c.built+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := run("deploy")
		if err != nil && c.then == "" {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		got, err := os.ReadFile(filepath.Join(dir, "bin/overlay/deploy/kustomization.yaml"))
		if err != nil || c.want == "" && len(got) > 0 || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: the overlay has %q, want %q\n%s", name, got, c.want, out)
		}
	}
}

// Whoever removes the operator does not delete all PodSets and Ats by accident.
func TestMakeUndeploy(t *testing.T) {
	for name, c := range map[string]struct {
		built, crd, objects, variable, want string
		fails                               bool
	}{
		"objects exist":               {built: "  name: ats.cnat.d2iq.com", crd: "x", objects: "shop tonight", want: "shop tonight\nundeploy: these objects exist", fails: true},
		"objects exist, and may go":   {built: "  name: ats.cnat.d2iq.com", crd: "x", objects: "shop tonight", variable: "yes", want: "gone"},
		"no object exists":            {built: "  name: ats.cnat.d2iq.com", crd: "x", want: "gone"},
		"the CRDs do not exist":       {built: "  name: ats.cnat.d2iq.com", objects: "an error", want: "gone"},
		"the CRDs are not in the set": {built: "  name: manager", crd: "x", objects: "shop tonight", want: "gone"},
	} {
		kubectl := "case \"$*\" in\n'get crd '*) echo '" + c.crd + "' ;;\nget*) echo '" + c.objects + "' ;;\ndelete*) echo gone ;;\nesac"
		_, run := makeWith(t, "echo '"+c.built+"'", kubectl)
		for _, target := range []string{"undeploy", "uninstall"} {
			if out, err := run(target, "DELETE_OBJECTS="+c.variable); (err != nil) != c.fails || !strings.Contains(out, c.want) || strings.Contains(out, "gone") == c.fails {
				t.Errorf("make %s, %s: %v\n%s", target, name, err, out)
			}
		}
	}
}
