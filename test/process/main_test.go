// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/redhat/podset-operator/test/apiserver"
)

const (
	// root is the directory of the repository.
	root = "../.."
	// patience is how long a slow machine may take to serve new kinds, to compile the manager, and to start it.
	patience = 10 * time.Minute
)

var (
	// binary is the manager.
	binary string
	// cluster is shared by the tests that need both CRDs. Each test has its own namespaces, and its managers watch only these.
	cluster *envtest.Environment
	admin   client.Client // of an administrator of this cluster
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // The tests mostly wait.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(func() (int, error) { return runSuite(m) })
}

func runSuite(m *testing.M) (code int, err error) {
	directory, err := os.MkdirTemp("", "process-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	binary = filepath.Join(directory, "manager")
	build := exec.Command("go", "build", "-o", binary, root)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make does
	if output, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the manager: %w\n%s", err, output)
	}
	cluster = apiserver.New(root)
	if admin, err = startServer(cluster); err != nil {
		return 1, errors.Join(err, cluster.Stop())
	}
	code = m.Run()
	return code, cluster.Stop()
}

// startServer starts an API server, and returns a client of an administrator.
func startServer(environment *envtest.Environment) (client.Client, error) {
	config, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("starting etcd and kube-apiserver: %w", err)
	}
	return client.New(config, client.Options{Scheme: apiserver.Scheme()})
}

// kubeconfig returns the path of a new kubeconfig for a user.
func kubeconfig(t *testing.T, environment *envtest.Environment, user string, groups ...string) string {
	t.Helper()
	added, err := apiserver.AddUser(environment, user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := added.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "kubeconfig", data)
}

// administrator returns the path of a new kubeconfig for an administrator.
func administrator(t *testing.T, environment *envtest.Environment) string {
	t.Helper()
	return kubeconfig(t, environment, "admin", "system:masters")
}
