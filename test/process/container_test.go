// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// The kubelet restarts a container that has ended with a back-off: the first time at once, then after firstRestart, which doubles up to
// lastRestart. After a run of at least ranLong, the back-off starts over.
const (
	firstRestart = 10 * time.Second
	lastRestart  = 5 * time.Minute
	ranLong      = 10 * time.Minute
)

// container is a manager that is restarted as the kubelet restarts a container.
type container struct {
	output

	args []string
	env  []string

	mu      sync.Mutex
	command *exec.Cmd
	starts  int
}

// runContainer starts a manager and restarts it until the test ends.
func runContainer(t *testing.T, kubeconfig string, env []string, args ...string) *container {
	t.Helper()
	c := &container{
		args: append([]string{"--kubeconfig=" + kubeconfig, "--health-probe-bind-address=0"}, args...), env: append(os.Environ(), env...),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.supervise(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if t.Failed() {
			t.Logf("output of the manager:\n%s", c)
		}
	})
	return c
}

// supervise restarts the process as the kubelet does.
func (c *container) supervise(ctx context.Context) {
	var backoff time.Duration
	for ctx.Err() == nil {
		start := time.Now()
		c.runOnce(ctx)
		if time.Since(start) > ranLong {
			backoff = 0
		}
		c.note(fmt.Sprintf("the process ended after %v and starts again in %v", time.Since(start).Round(10*time.Millisecond), backoff))
		select {
		case <-ctx.Done():
		case <-time.After(backoff):
		}
		backoff = min(max(2*backoff, firstRestart), lastRestart)
	}
}

func (c *container) runOnce(ctx context.Context) {
	command := exec.CommandContext(ctx, binary, c.args...)
	command.Env, command.Stdout, command.Stderr = c.env, &c.output, &c.output
	c.mu.Lock()
	c.command = command
	c.starts++
	err := command.Start()
	c.mu.Unlock()
	if err == nil {
		err = command.Wait()
	}
	c.note(fmt.Sprintf("exit: %v", err))
}

func (c *container) note(line string) {
	_, _ = fmt.Fprintf(&c.output, "%s -- %s\n", time.Now().UTC().Format(time.RFC3339Nano), line)
}

// Starts returns how often the process was started.
func (c *container) Starts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts
}

// Kill sends SIGKILL to the process.
func (c *container) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.command.Process.Kill()
}

// managerEnv is the environment of a manager that serves some namespaces.
func managerEnv(namespaces ...string) []string {
	return []string{"WATCH_NAMESPACE=" + strings.Join(namespaces, ",")}
}
