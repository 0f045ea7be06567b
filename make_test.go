// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// patience is how long a slow machine may take to compile the manager and to start it.
const patience = 10 * time.Minute

func TestMakeRunLogsForPeopleAndCtrlCEndsItWithoutAnErrorLine(t *testing.T) {
	c := startCluster(t)
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: []string{"config/crd/bases"}, MaxTime: patience}); err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }() // The file is read by its name.
	printed := func() string {
		content, err := os.ReadFile(output.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	cmd := exec.CommandContext(t.Context(), "make", "run", "ARGS=--metrics-bind-address=0 --health-probe-bind-address=0")
	// With these variables, which `make test` sets, make prints that it is called by another make.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKELEVEL=") || strings.HasPrefix(variable, "MAKEFLAGS=") || strings.HasPrefix(variable, "MFLAGS=")
	})
	cmd.Env = append(cmd.Env, "KUBECONFIG="+c.kubeconfig("maker", "system:masters"))
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // Its status is that of a program that Ctrl-C has ended.
	interrupt := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })

	g := NewWithT(t)
	// Until both controllers have started, controller-runtime reports an interruption as a failure of its caches.
	started := func() int { return strings.Count(printed(), "Starting workers") }
	g.Eventually(started).WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Equal(2))
	interrupt() // A terminal sends Ctrl-C to the whole process group.
	g.Eventually(ended).WithTimeout(patience).Should(BeClosed())

	log := printed()
	for line := range strings.Lines(log) {
		for _, unwanted := range []string{"{", "make: ***", "make[", "exit status", "signal: ", "Error"} {
			if strings.HasPrefix(line, unwanted) {
				t.Errorf("a person does not want to read: %s", line)
			}
		}
		if strings.Contains(line, "\tERROR\t") || strings.Contains(line, "*** ") {
			t.Errorf("an error line: %s", line)
		}
	}
	if t.Failed() {
		t.Log(log)
	}
}
