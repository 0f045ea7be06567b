// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver starts a real etcd and kube-apiserver for the tests of a package.
package apiserver

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Main is the last call of a TestMain. It calls run, which starts the servers and runs the tests, and ends the process with the exit
// code of run, or with 1 after an error.
func Main(run func() (code int, err error)) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Println("KUBEBUILDER_ASSETS is not set: it names the directory of etcd and kube-apiserver. `make test` sets it.")
		os.Exit(1)
	}
	code, err := run()
	if err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// patience is how long a busy machine may take to start the servers, and to serve the CRDs.
const patience = 3 * time.Minute

// New returns the servers, with the CRDs of this repository, which is in the directory root. They are not started yet.
func New(root string) *envtest.Environment {
	return &envtest.Environment{
		CRDDirectoryPaths: []string{root + "/config/crd/bases"}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: patience, CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
	}
}

// FreeAddress returns a local address that nothing listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
