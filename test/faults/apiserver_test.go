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

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

const crds = "../../config/crd/bases"

// ownCluster starts a cluster for a test of what happens to all of it.
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

// The second half of F15, and A7.
func TestCRDs(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	t.Run("the CRDs are removed and come back", func(t *testing.T) { crdsRemoved(t, c) })
	t.Run("an At that admission should have refused", func(t *testing.T) { unusable(t, c) })
}

// killed kills a server in the middle of a scale-up and starts it again after a while, in which an At comes due.
func killed(t *testing.T, c *faults.Cluster, kill func() (again func() error, err error), down time.Duration) {
	w := faults.NewWorld(t, c, "F12", faults.Ours)
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	w.Supervise()
	w.Create(podSet("a", 6))
	w.Settle()
	w.Create(at("due", "now + 3 seconds", "echo YAY"))
	scale(w, "a", 10)
	start := time.Now()
	again, err := kill()
	w.Must(err)
	w.Pass(down)
	w.Must(again())
	// Informers look again with a back-off that doubles: after an outage they can sleep for twice as long as it was.
	w.Patience = max(faults.Patience, 3*time.Since(start))
	scale(w, "a", 4)
	w.Create(at("new", "now", "echo YAY"))
	w.Rest()
	w.Check("A3", len(atPods(w)) == 2, "pods of two Ats were expected: %v", atPods(w))
}

// atPods are the names of the pods that no PodSet controls.
func atPods(w *faults.World) []string {
	var names []string
	for _, pod := range w.Pods() {
		if pod.Labels[appv1alpha1.LabelPodSet] == "" {
			names = append(names, pod.Name)
		}
	}
	return names
}

// crdsRemoved judges P3 across a time without the kinds: the operator neither ends nor storms, and goes on afterwards. What
// is left of it are its informers, which ask for their kinds again with a back-off.
func crdsRemoved(t *testing.T, c *faults.Cluster) {
	w := faults.NewWorld(t, c, "F15", faults.Ours)
	w.Supervise()
	w.Create(podSet("a", 2))
	w.Settle()
	options := envtest.CRDInstallOptions{Paths: []string{crds}}
	w.Must(envtest.UninstallCRDs(c.Config, options))
	w.Gone()
	bounded(w, 10*time.Second, traffic{writes: 3, events: 3, calls: 40})
	_, err := envtest.InstallCRDs(c.Config, options)
	w.Must(err)
	w.CreateSoon(podSet("b", 3))
	// The informers look again with a back-off of their own, of up to half a minute.
	w.Pass(faults.Patience)
	w.Rest()
	w.Check("P3", w.Incarnations() == 1, "the operator ended %d times", w.Incarnations()-1)
}

// unusable judges A7 on Ats that are in the store although admission refuses them, as after an upgrade of the CRD.
func unusable(t *testing.T, c *faults.Cluster) {
	w := faults.NewWorld(t, c, "F21", faults.Ours)
	loose := looseCRDs(t)
	_, err := envtest.InstallCRDs(c.Config, envtest.CRDInstallOptions{Paths: []string{loose}})
	w.Must(err)
	w.Supervise()
	cases := map[string]struct{ schedule, command, reason string }{
		"schedule":  {"2030-02-30T24:00:00Z", "echo YAY", cnatv1alpha1.ReasonInvalidSchedule},
		"year":      {"10000-01-01T00:00:00Z", "echo YAY", cnatv1alpha1.ReasonInvalidSchedule},
		"command":   {"now", "echo 'YAY", cnatv1alpha1.ReasonInvalidCommand},
		"no-words":  {"now", " ", cnatv1alpha1.ReasonInvalidCommand},
		"nul-bytes": {"now", "echo \x00", cnatv1alpha1.ReasonInvalidCommand},
	}
	for name, of := range cases {
		w.CreateSoon(at(name, of.schedule, of.command))
	}
	for name, of := range cases {
		w.AwaitAt("A7", name, func(a *cnatv1alpha1.At) bool {
			c := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionScheduled)
			return c != nil && c.Reason == of.reason
		})
	}
	w.Rest()
	for name := range cases {
		writes := w.Log.Count(func(write faults.Write) bool { return write.Name == name })
		w.Check("A7", writes <= 2, "%d writes for the unusable At %s", writes, name)
	}
}

// looseCRDs are ours without their rules.
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
