// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/redhat/podset-operator/test/faults"
)

const crds = "../../config/crd/bases"

// ownCluster starts a cluster for a test whose faults affect the whole cluster.
func ownCluster(t *testing.T) *faults.Cluster {
	t.Helper()
	c, err := faults.StartCluster(crds, faults.KeepData(t.TempDir(), t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

// F12: kube-apiserver or etcd is killed and starts again, at once or after a while.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	for _, down := range []time.Duration{0, 10 * time.Second} {
		t.Run(fmt.Sprintf("kube-apiserver, for %v", down), func(t *testing.T) { killed(t, c, c.KillAPIServer, down) })
		t.Run(fmt.Sprintf("etcd, for %v", down), func(t *testing.T) { killed(t, c, c.KillEtcd, down) })
	}
}

// F15: the CRDs are removed and come back.
func TestCRDs(t *testing.T) {
	t.Parallel()
	crdsRemoved(t, ownCluster(t))
}

// killed kills a server during a scale-up and starts it again after a while. An At becomes due meanwhile.
func killed(t *testing.T, c *faults.Cluster, kill func() (again func() error, err error), down time.Duration) {
	e := faults.NewEnv(t, c, "F12", faults.Ours)
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	e.Create(podSet("a", 6))
	e.Settle()
	e.Create(at("due", "now + 3 seconds", "echo YAY"))
	scale(e, "a", 10)
	again, err := kill()
	e.Must(err)
	e.Wait(down)
	e.Must(again())
	e.Timeout += faults.InformerBackoff
	scale(e, "a", 4)
	e.Create(at("new", "now", "echo YAY"))
	e.ExpectIdle()
	e.Check("A3", ranOnce(e) == 2, "not both Ats ran")
}

// ranOnce checks A1: no At has had more than one pod. It returns how many Ats have had one.
func ranOnce(e *faults.Env) int {
	e.Helper()
	runs := e.Runs()
	for at, pods := range runs {
		e.Check("A1", len(pods) == 1, "the At with the UID %s ran %d times: %v", at, len(pods), pods)
	}
	return len(runs)
}

// crdsRemoved checks P3 while the kinds are not served: the operator neither ends nor retries without back-off, and works again
// afterwards. Meanwhile only its informers send requests, with back-off.
func crdsRemoved(t *testing.T, c *faults.Cluster) {
	e := faults.NewEnv(t, c, "F15", faults.Ours)
	e.Supervise()
	e.Create(podSet("a", 2))
	e.Settle()
	options := envtest.CRDInstallOptions{Paths: []string{crds}, MaxTime: faults.DefaultTimeout}
	e.Must(envtest.UninstallCRDs(c.Config, options))
	e.WaitForNoPods()
	bounded(e, 10*time.Second, traffic{writes: 3, events: 3, calls: 40})
	_, err := envtest.InstallCRDs(c.Config, options)
	e.Must(err)
	e.Timeout += faults.InformerBackoff
	e.CreateSoon(podSet("b", 3))
	e.ExpectIdle()
	e.Check("P3", e.Starts() == 1, "the operator ended %d times", e.Starts()-1)
}
