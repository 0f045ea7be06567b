// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KillAPIServer kills kube-apiserver. The function that it returns starts a new process, because envtest cannot restart one that was
// killed.
func (c *Cluster) KillAPIServer() (again func() error, err error) {
	pid, args, err := findProcess(c.Environment.ControlPlane.GetAPIServer().CertDir)
	if err != nil {
		return nil, err
	}
	return func() error {
		server := exec.Command(args[0], args[1:]...)
		if err := server.Start(); err != nil {
			return fmt.Errorf("starting %s again: %w", args[0], err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = server.Wait() }() // The error reports that the process was killed.
		c.restarting.Lock()
		c.restarted = append(c.restarted, func() { _ = server.Process.Kill(); <-ended })
		c.restarting.Unlock()
		return c.waitForReady()
	}, kill(pid)
}

// findProcess finds the process that has a directory among its arguments.
func findProcess(dir string) (pid int, args []string, err error) {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, nil, err
	}
	for _, command := range commands {
		line, err := os.ReadFile(command)
		if err != nil || !strings.Contains(string(line), "="+dir) {
			continue // The process has ended, or is another one.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(command)))
		return pid, strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"), err
	}
	return 0, nil, fmt.Errorf("no process has the directory %s among its arguments", dir)
}

// kill sends SIGKILL to a process and returns when it has ended.
func kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
	})
}

func (c *Cluster) waitForReady() error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(context.Background(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := clients.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, nil
	})
}

// CreateSoon creates objects of a kind that the API server may not serve yet.
func (e *Env) CreateSoon(objects ...client.Object) {
	e.Helper()
	for _, object := range objects {
		object.SetNamespace(e.Namespace)
		err := wait.PollUntilContextTimeout(e.ctx, 200*time.Millisecond, DefaultTimeout, true, func(ctx context.Context) (bool, error) {
			return e.User.Create(ctx, object) == nil, nil
		})
		if err != nil {
			e.Fatal(fmt.Errorf("creating %s: %w", object.GetName(), err))
		}
		e.waitForSeen(object)
	}
}
