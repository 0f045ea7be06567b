// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// KeepData makes etcd and kube-apiserver keep their data in two directories when they stop, so that they can start again.
func KeepData(etcd, apiServer string) func(*envtest.Environment) {
	return func(e *envtest.Environment) {
		e.ControlPlane.Etcd = &envtest.Etcd{DataDir: etcd}
		e.ControlPlane.GetAPIServer().CertDir = apiServer
	}
}

// KillAPIServer kills kube-apiserver. The function that it returns starts it again.
func (c *Cluster) KillAPIServer() (again func() error, err error) {
	server := c.Environment.ControlPlane.GetAPIServer()
	return func() error { return errors.Join(server.Start(), c.awaitReady()) }, kill(server.CertDir, server.Stop)
}

// KillEtcd kills etcd below a running kube-apiserver. The function that it returns starts it again.
func (c *Cluster) KillEtcd() (again func() error, err error) {
	etcd := c.Environment.ControlPlane.Etcd
	return func() error { return errors.Join(etcd.Start(), c.awaitReady()) }, kill(etcd.DataDir, etcd.Stop)
}

// kill ends the child of this process that has a directory among its arguments, without a chance to say goodbye. The
// environment does not tell its number; stop waits until it is gone.
func kill(dir string, stop func() error) error {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, command := range commands {
		line, err := os.ReadFile(command)
		if err != nil || !strings.Contains(string(line), "="+dir) {
			continue // A process that has ended meanwhile is none of ours.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(command)))
		if err != nil {
			return err
		}
		return errors.Join(syscall.Kill(pid, syscall.SIGKILL), stop())
	}
	return fmt.Errorf("no process works in %s", dir)
}

func (c *Cluster) awaitReady() error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(context.Background(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := clients.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, nil
	})
}

// CreateSoon makes objects of a kind that the API server may not serve yet.
func (w *World) CreateSoon(objects ...client.Object) {
	w.Helper()
	for _, object := range objects {
		object.SetNamespace(w.Namespace)
		err := wait.PollUntilContextTimeout(w.ctx, 200*time.Millisecond, Patience, true, func(ctx context.Context) (bool, error) {
			return w.User.Create(ctx, object) == nil, nil
		})
		if err != nil {
			w.Fatal(fmt.Errorf("creating %s: %w", object.GetName(), err))
		}
		w.sees(object)
	}
}
