// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The kubelet restarts a container that has ended with a back-off: the first time at once, then after firstRestart, which
// doubles up to lastRestart. A container that ran for at least ranLong starts with no back-off again.
const (
	firstRestart = 10 * time.Second
	lastRestart  = 5 * time.Minute
	ranLong      = 10 * time.Minute
)

// ManagerProcess is the manager binary in a process of its own, restarted as the kubelet restarts a container. It has no fault
// injector, so the log does not have its writes.
type ManagerProcess struct {
	binary string
	args   []string
	env    []string

	mu      sync.Mutex
	output  bytes.Buffer
	command *exec.Cmd
	starts  int
	waiting time.Duration // before the next restart
	ended   chan struct{} // closed when it is not restarted any more
}

// Build compiles the manager into a directory.
func Build(ctx context.Context, t testing.TB) (binary string) {
	t.Helper()
	if binary := os.Getenv("MANAGER"); binary != "" {
		return binary // a version to compare with
	}
	binary = filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "../..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, output)
	}
	return binary
}

// RunManager starts the manager and restarts it until the test ends.
func (e *Env) RunManager(binary, kubeconfig string, env []string, args ...string) *ManagerProcess {
	e.Helper()
	p := &ManagerProcess{
		binary: binary,
		args:   append([]string{"--kubeconfig=" + kubeconfig, "--metrics-bind-address=0"}, args...),
		env:    append(os.Environ(), env...), ended: make(chan struct{}),
	}
	e.background.Go(func() {
		defer close(p.ended)
		p.supervise(e.ctx)
	})
	e.Cleanup(func() {
		if e.Failed() {
			e.Logf("output of the manager:\n%s", p.Output())
		}
	})
	return p
}

// supervise restarts the process as the kubelet does.
func (p *ManagerProcess) supervise(ctx context.Context) {
	var backoff time.Duration
	for ctx.Err() == nil {
		start := time.Now()
		p.runOnce(ctx)
		if time.Since(start) > ranLong {
			backoff = 0
		}
		p.note(fmt.Sprintf("the process ended after %v and starts again in %v", time.Since(start).Round(10*time.Millisecond), backoff))
		p.mu.Lock()
		p.waiting = backoff
		p.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(backoff):
		}
		backoff = min(max(2*backoff, firstRestart), lastRestart)
	}
}

// runOnce runs the process until it ends.
func (p *ManagerProcess) runOnce(ctx context.Context) {
	command := exec.CommandContext(ctx, p.binary, p.args...)
	command.Env, command.Stdout, command.Stderr = p.env, p, p
	p.mu.Lock()
	p.command = command
	p.starts++
	err := command.Start()
	p.mu.Unlock()
	if err == nil {
		err = command.Wait()
	}
	p.note(fmt.Sprintf("exit: %v", err))
}

func (p *ManagerProcess) note(line string) {
	_, _ = fmt.Fprintf(p, "%s -- %s\n", time.Now().UTC().Format(time.RFC3339Nano), line)
}

// Write receives the output of the process.
func (p *ManagerProcess) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(data)
}

// Output returns what the process has written so far.
func (p *ManagerProcess) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// Starts returns how often the process was started.
func (p *ManagerProcess) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Lines returns how many lines of the output contain a text.
func (p *ManagerProcess) Lines(text string) int {
	n := 0
	for line := range strings.Lines(p.Output()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Kill sends SIGKILL to the process.
func (p *ManagerProcess) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.command.Process.Kill()
}

// PodAfter waits for a pod and returns how long after a moment a user could read it.
func (e *Env) PodAfter(start time.Time, name string, timeout time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(e.ctx, timeout)
	defer cancel()
	for {
		err := e.User.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: name}, &corev1.Pod{})
		if err == nil {
			return time.Since(start), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("no pod %s within %v: %w", name, timeout, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
