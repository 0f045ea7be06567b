// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// readFirst are the pages that the README leads a reader through, in this order, on one cluster. They share a namespace.
var readFirst = []string{"README.md", "docs/tutorial.md", "docs/how-to/migration.md"}

// TestCommands_run runs the blocks with the comment <!-- commands: demo -->, in one namespace for each other page. It applies a block of YAML
// with this comment. `make test-docs` starts the cluster. A manager runs for each page, for the namespaces that its commands say, or all.
func TestCommands_run(t *testing.T) {
	if os.Getenv("DOCS_CLUSTER") == "" {
		t.Skip("make test-docs starts a cluster for this test")
	}
	others := slices.DeleteFunc(pages(t), func(page string) bool { return slices.Contains(readFirst, page) })
	for n, page := range slices.Concat(readFirst, others) {
		content := string(read(t, page))
		if slices.ContainsFunc(blocks(content), block.isExecuted) {
			t.Run(page, func(t *testing.T) { runPage(t, fmt.Sprintf("page-%d", max(n, len(readFirst)-1)), content) })
		}
	}
}

var savedAs = regexp.MustCompile("Save this as\\s+`([\\w.-]+)`")

var watched = regexp.MustCompile(`(?m)^ +WATCH_NAMESPACE=(\S+) make run`)

// startManager runs the manager that the commands of a page start in another terminal, or one for all namespaces, until the test ends.
func startManager(t *testing.T, content string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin/manager"), "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if match := watched.FindStringSubmatch(content); match != nil {
		cmd.Env = append(os.Environ(), "WATCH_NAMESPACE="+match[1])
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the log of the manager:\n%s", log.String())
		}
	})
}

// runPage runs the blocks of a page in a namespace, which may be new.
func runPage(t *testing.T, namespace, content string) {
	t.Helper()
	startManager(t, content)
	dir := clone(t)
	run := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(dir, "kubeconfig"), "PATH="+os.Getenv("PATH")+":"+dir)
		output, err := cmd.CombinedOutput()
		t.Logf("%s\n%s", script, output)
		if err != nil {
			t.Fatal(err)
		}
	}
	run("kubectl get namespace " + namespace + " || kubectl create namespace " + namespace + "; kubectl config set-context --current --namespace " + namespace)
	if match := watched.FindStringSubmatch(content); match != nil { // Another page may create it too.
		defer run("kubectl delete namespace --ignore-not-found " + match[1])
	}
	for _, b := range blocks(content) {
		script, _ := b.script()
		if b.isYAML() {
			name := fmt.Sprintf("line-%d.yaml", b.line)
			if saved := savedAs.FindStringSubmatch(b.before); saved != nil {
				name = saved[1]
			}
			save(t, dir, name, b.text)
			script = "kubectl apply -f " + name
		}
		if b.isExecuted() {
			run(script)
		}
	}
}

// clone returns a directory that looks like a clone of the repository. Its kubeconfig is a copy, because each page has its own namespace.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"config", "examples"} {
		target, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	save(t, dir, "kubeconfig", string(kubeconfig))
	save(t, dir, "oc", "#!/bin/sh\nexec kubectl \"$@\"\n") // The pages describe both as interchangeable.
	return dir
}

func save(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
