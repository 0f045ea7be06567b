// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/redhat/podset-operator/test/apiserver"
)

// Cluster is etcd, kube-apiserver, and kube-controller-manager (for garbage collection, namespaces, and quota). It has no scheduler and no
// nodes: a Kubelet of this package stands in for them.
type Cluster struct {
	// Config is the configuration of an administrator.
	Config *rest.Config
	// Scheme has the types of Kubernetes and both kinds.
	Scheme *runtime.Scheme
	// Admin is a client without rate limits.
	Admin client.WithWatch
	// Environment starts and stops etcd and kube-apiserver.
	Environment *envtest.Environment

	mapper  meta.RESTMapper
	manager *exec.Cmd // kube-controller-manager, or nil if it does not run
	// restarted stop the servers that were killed and started again.
	restarted  []func()
	restarting sync.Mutex
	files      string // the directory of the controller manager's kubeconfig and log
}

// StartCluster starts a cluster from the binaries in KUBEBUILDER_ASSETS, with the CRDs of this repository, which is in the directory root.
func StartCluster(root string, options ...func(*envtest.Environment)) (*Cluster, error) {
	c := &Cluster{Scheme: apiserver.Scheme(), Environment: apiserver.New(root)}
	for _, option := range options {
		option(c.Environment)
	}
	var err error
	if c.Config, err = c.Environment.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting etcd and kube-apiserver: %w", err), c.Environment.Stop())
	}
	c.Config.QPS = -1
	if err := c.connect(); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// OwnCluster starts a cluster for a test whose faults or options affect the whole cluster. It keeps its data, so that its servers can be
// started again.
func OwnCluster(t *testing.T, root string, options ...func(*envtest.Environment)) *Cluster {
	t.Helper()
	keep := func(e *envtest.Environment) {
		e.ControlPlane.Etcd = &envtest.Etcd{DataDir: t.TempDir()}
		e.ControlPlane.GetAPIServer().CertDir = t.TempDir()
	}
	c, err := StartCluster(root, append(options, keep)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

func (c *Cluster) connect() error {
	httpClient, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return err
	}
	if c.mapper, err = apiutil.NewDynamicRESTMapper(c.Config, httpClient); err != nil {
		return err
	}
	if c.Admin, err = client.NewWithWatch(c.Config, client.Options{Scheme: c.Scheme, Mapper: c.mapper}); err != nil {
		return err
	}
	if c.files, err = os.MkdirTemp("", "faults-"); err != nil {
		return err
	}
	if err := os.WriteFile(c.kubeconfig(), c.Environment.KubeConfig, 0o600); err != nil {
		return err
	}
	return c.startControllers()
}

func (c *Cluster) kubeconfig() string { return filepath.Join(c.files, "kubeconfig") }

// startControllers starts the controllers of Kubernetes that interact with any operator.
func (c *Cluster) startControllers() error {
	output, err := os.Create(filepath.Join(c.files, "kube-controller-manager.log"))
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }()
	c.manager = exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-controller-manager"),
		"--kubeconfig="+c.kubeconfig(), "--controllers=garbage-collector-controller,namespace-controller,resourcequota-controller",
		"--resource-quota-sync-period=2s", "--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=2000",
	)
	c.manager.Stdout, c.manager.Stderr = output, output
	if err := c.manager.Start(); err != nil {
		c.manager = nil
		return fmt.Errorf("starting kube-controller-manager: %w", err)
	}
	return nil
}

// Stop stops all servers.
func (c *Cluster) Stop() error {
	var err error
	if c.manager != nil {
		err = c.manager.Process.Kill()
		_ = c.manager.Wait() // The error reports that the process was killed.
	}
	for _, end := range c.restarted {
		end()
	}
	return errors.Join(err, c.Environment.Stop(), os.RemoveAll(c.files))
}
