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

// What the kubelet waits before it restarts a container that has ended: nothing the first time, then this, doubling. A
// container that ran for long enough starts over.
const (
	firstRestart = 10 * time.Second
	lastRestart  = 5 * time.Minute
	ranLong      = 10 * time.Minute
)

// ManagerProcess is the real manager as a process of its own, restarted as the kubelet restarts a container. No injector is around
// it, so the log has nothing of what it writes.
type ManagerProcess struct {
	binary string
	args   []string
	env    []string

	mu      sync.Mutex
	output  bytes.Buffer
	command *exec.Cmd
	starts  int
	waiting time.Duration // before the next restart
	ended   chan struct{} // closed when nothing of it runs any more
}

// Build compiles the manager into a directory.
func Build(ctx context.Context, t testing.TB) (binary string) {
	t.Helper()
	if binary := os.Getenv("MANAGER"); binary != "" {
		return binary // another version of it, to compare
	}
	binary = filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "../..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, output)
	}
	return binary
}

// RunManager starts the manager for some namespaces and restarts it until the world ends.
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
			e.Logf("what the process wrote:\n%s", p.Output())
		}
	})
	return p
}

// supervise is the kubelet.
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

// runOnce runs the process to its end.
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

// Write takes what the process writes.
func (p *ManagerProcess) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(data)
}

// Output is what the process has written so far.
func (p *ManagerProcess) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// Starts is how often it was started.
func (p *ManagerProcess) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Lines counts the lines of the output that contain a text.
func (p *ManagerProcess) Lines(text string) int {
	n := 0
	for line := range strings.Lines(p.Output()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Kill ends the process without a chance to say goodbye.
func (p *ManagerProcess) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.command.Process.Kill()
}

// PodAfter returns how long after a moment a pod was there that was not there before, as a user sees it.
func (e *Env) PodAfter(moment time.Time, name string, timeout time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(e.ctx, timeout)
	defer cancel()
	for {
		err := e.User.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: name}, &corev1.Pod{})
		if err == nil {
			return time.Since(moment), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("no pod %s within %v: %w", name, timeout, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
