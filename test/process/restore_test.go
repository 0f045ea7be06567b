// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/faults"
)

// After a restore of etcd, the watches of a manager that runs on begin after the latest resource version, so it would see no change.
func TestRestoreOfEtcd(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	shop := namespace(t, c.Admin)
	g := NewWithT(t)
	kubeconfig := writeFile(t, "kubeconfig", c.Environment.KubeConfig)
	p := start(t, managerEnv(shop), append(noPorts, "--kubeconfig="+kubeconfig)...)
	serve := func(name string) {
		t.Helper()
		before, err := pods(t, c.Admin, shop)()
		g.Expect(err).NotTo(HaveOccurred())
		timer, set := at(name, "now"), podSet(name, 2)
		timer.Namespace, set.Namespace = shop, shop
		create(t, c.Admin, timer, set)
		g.Eventually(pods(t, c.Admin, shop)).WithTimeout(time.Minute).Should(Equal(before+3), name)
	}
	serve("first")
	etcd, backup := c.Environment.ControlPlane.Etcd.DataDir, filepath.Join(t.TempDir(), "backup")
	whileStopped(t, c, func() error { return os.CopyFS(backup, os.DirFS(etcd)) })
	serve("second") // A restart without a restore ends nothing.
	bump(t, c.Admin, shop)

	whileStopped(t, c, func() error { return errors.Join(os.RemoveAll(etcd), os.CopyFS(etcd, os.DirFS(backup))) })
	var exit *exec.ExitError
	g.Expect(errors.As(p.await(t), &exit) && exit.ExitCode() == 1).To(BeTrue(), "the manager ends")
	g.Expect(p.log.Lines("podset-operator: the latest resource version is")).To(Equal(1), p.log.String())
	p = start(t, managerEnv(shop), append(noPorts, "--kubeconfig="+kubeconfig)...)
	serve("third")
	p.terminate(t)
}

// whileStopped stops kube-apiserver and etcd, and starts them again after do.
func whileStopped(t *testing.T, c *faults.Cluster, do func() error) {
	t.Helper()
	startAPIServer, err := c.KillAPIServer()
	if err != nil {
		t.Fatal(err)
	}
	startEtcd, err := c.KillEtcd()
	if err != nil {
		t.Fatal(err)
	}
	if err := do(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan error)
	go func() { ready <- startEtcd() }() // It waits for the API server.
	if err := errors.Join(startAPIServer(), <-ready); err != nil {
		t.Fatal(err)
	}
}

// bump increases the resource version by more than what the manager and the servers write while they start.
func bump(t *testing.T, admin client.Client, namespace string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bump"}}
	create(t, admin, object)
	for i := range 2000 {
		object.Data = map[string]string{"n": fmt.Sprint(i)}
		if err := admin.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}
