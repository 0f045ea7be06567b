// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
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

// F15: the CRDs are removed. A7.
func TestCRDs(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	t.Run("the CRDs are removed and come back", func(t *testing.T) { crdsRemoved(t, c) })
	t.Run("an At that admission should have rejected", func(t *testing.T) { unusable(t, c) })
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
	start := time.Now()
	again, err := kill()
	e.Must(err)
	e.Wait(down)
	e.Must(again())
	// Informers retry with a back-off that doubles: after an outage they can wait twice as long as it lasted.
	e.Timeout = max(faults.DefaultTimeout, 3*time.Since(start))
	scale(e, "a", 4)
	e.Create(at("new", "now", "echo YAY"))
	e.Quiesce()
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
	e.AwaitNoPods()
	bounded(e, 10*time.Second, traffic{writes: 3, events: 3, calls: 40})
	_, err := envtest.InstallCRDs(c.Config, options)
	e.Must(err)
	e.CreateSoon(podSet("b", 3))
	// The back-off of the informers is at most half a minute.
	e.Wait(30 * time.Second)
	e.Quiesce()
	e.Check("P3", e.Starts() == 1, "the operator ended %d times", e.Starts()-1)
}

// unusable checks A7 on Ats that are stored although admission rejects them, as after an upgrade of the CRD.
func unusable(t *testing.T, c *faults.Cluster) {
	e := faults.NewEnv(t, c, "F21", faults.Ours)
	loose := looseCRDs(t)
	_, err := envtest.InstallCRDs(c.Config, envtest.CRDInstallOptions{Paths: []string{loose}, MaxTime: faults.DefaultTimeout})
	e.Must(err)
	e.Supervise()
	cases := map[string]struct{ schedule, command, reason string }{
		"schedule":  {"2030-02-30T24:00:00Z", "echo YAY", cnatv1alpha1.ReasonInvalidSchedule},
		"year":      {"10000-01-01T00:00:00Z", "echo YAY", cnatv1alpha1.ReasonInvalidSchedule},
		"command":   {"now", "echo 'YAY", cnatv1alpha1.ReasonInvalidCommand},
		"no-words":  {"now", " ", cnatv1alpha1.ReasonInvalidCommand},
		"nul-bytes": {"now", "echo \x00", cnatv1alpha1.ReasonInvalidCommand},
	}
	for name, of := range cases {
		e.CreateSoon(at(name, of.schedule, of.command))
	}
	for name, of := range cases {
		e.AwaitAt("A7", name, func(a *cnatv1alpha1.At) bool {
			c := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionScheduled)
			return c != nil && c.Reason == of.reason
		})
	}
	e.Quiesce()
	for name := range cases {
		writes := e.Log.Count(func(write faults.Write) bool { return write.Name == name })
		e.Check("A7", writes <= 2, "%d writes for the unusable At %s", writes, name)
	}
}

// looseCRDs are the CRDs without their validation rules.
func looseCRDs(t *testing.T) string {
	t.Helper()
	g := gomega.NewWithT(t)
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	dir := t.TempDir()
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		var crd map[string]any
		g.Expect(yaml.Unmarshal(data, &crd)).To(gomega.Succeed())
		data, err = yaml.Marshal(withoutRules(crd))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o600)).To(gomega.Succeed())
	}
	return dir
}

func withoutRules(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "x-kubernetes-validations")
		for key := range v {
			v[key] = withoutRules(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutRules(v[i])
		}
	}
	return value
}
