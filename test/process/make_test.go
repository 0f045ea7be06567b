// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/redhat/podset-operator/test/apiserver"
)

func TestMakeRun(t *testing.T) {
	t.Parallel()
	kubeconfig, shop := administrator(t, cluster), namespace(t, admin)
	for title, lines := range map[string][]string{
		"while the controllers start": {"\tStarting\t"},
		"when both controllers work":  {"\tStarting workers\t", "\tStarting workers\t"},
	} {
		t.Run(title, func(t *testing.T) {
			log := interrupted(t, kubeconfig, shop, lines)
			for line := range strings.Lines(log) {
				for _, unwanted := range []string{"{", "make: ***", "make[", "exit status", "signal: ", "Error", "podset-operator:"} {
					if strings.HasPrefix(line, unwanted) {
						t.Errorf("unexpected line in the output: %s", line)
					}
				}
				if strings.Contains(line, "\tERROR\t") || strings.Contains(line, "*** ") {
					t.Errorf("an error line: %s", line)
				}
			}
			if t.Failed() {
				t.Log(log)
			}
		})
	}
}

// interrupted runs `make run`, interrupts it once its output contains these texts in order, and returns the output.
func interrupted(t *testing.T, kubeconfig, namespace string, texts []string) string {
	t.Helper()
	printed := &output{}
	cmd := exec.CommandContext(t.Context(), "make", "run", "ARGS=--metrics-bind-address=0 --health-probe-bind-address=0")
	// With these variables, which `make test` sets, make reports that another make has called it.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKELEVEL=") || strings.HasPrefix(variable, "MAKEFLAGS=") || strings.HasPrefix(variable, "MFLAGS=")
	})
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig, "WATCH_NAMESPACE="+namespace)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, printed, printed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // Its status is that of a program that Ctrl-C has ended.
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })

	g := NewWithT(t)
	reached := func() bool {
		rest := printed.String()
		for _, text := range texts {
			_, after, found := strings.Cut(rest, text)
			if !found {
				return false
			}
			rest = after
		}
		return true
	}
	g.Eventually(reached).WithTimeout(patience).Should(BeTrue())
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // A terminal sends Ctrl-C to the whole process group.
	g.Eventually(ended).WithTimeout(patience).Should(BeClosed())
	return printed.String()
}

// A signal while the controllers start is not a failure. They start within half a second after the probes are served.
func TestSignal(t *testing.T) {
	t.Parallel()
	kubeconfig, env := administrator(t, cluster), []string{"WATCH_NAMESPACE=" + namespace(t, admin)}
	g := NewWithT(t)
	for n := range 10 {
		probes := apiserver.FreeAddress(t)
		p := start(t, env, "--kubeconfig="+kubeconfig, "--health-probe-bind-address="+probes, "--metrics-bind-address=0")
		served := func() int { code, _ := get(t, http.DefaultClient, "http://"+probes+"/healthz", ""); return code }
		g.Eventually(served).WithTimeout(time.Minute).Should(Equal(http.StatusOK))
		moment := time.Duration(n) * 60 * time.Millisecond
		<-time.After(moment)
		if log := p.terminate(t); strings.Contains(log, `"level":"error"`) {
			t.Errorf("after %v:\n%s", moment, log)
		}
	}
}
