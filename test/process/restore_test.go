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

// After a restore of etcd, a running manager would see no change: its watches begin after the latest resource version. Without a restart of
// the API server, which then has the same problem, the watches do not even begin again, and only the lease shows it.
func TestRestore(t *testing.T) {
	t.Parallel()
	t.Run("with a restart of the API server", func(t *testing.T) {
		t.Parallel()
		restore(t, whileStopped)("third")
	})
	t.Run("below an API server that runs on", func(t *testing.T) {
		t.Parallel()
		restore(t, whileEtcdIsStopped, "--leader-elect", "--leader-elect-resource-namespace=default")
	})
}

// restore restores etcd while a manager runs, which must end. Then it starts the manager again, and returns a function that checks that
// objects with a name are served.
func restore(t *testing.T, while func(*testing.T, *faults.Cluster, func() error), args ...string) (serve func(name string)) {
	t.Helper()
	c := faults.OwnCluster(t, crds)
	shop := namespace(t, c.Admin)
	g := NewWithT(t)
	args = append(args, append(noPorts, "--kubeconfig="+writeFile(t, "kubeconfig", c.Environment.KubeConfig))...)
	p := start(t, managerEnv(shop), args...)
	serve = func(name string) {
		t.Helper()
		timer, set := at(name, "now"), podSet(name, 2)
		timer.Namespace, set.Namespace = shop, shop
		create(t, c.Admin, timer, set)
		g.Eventually(func() (n int, err error) {
			list := &corev1.PodList{}
			err = c.Admin.List(t.Context(), list, client.InNamespace(shop))
			for i := range list.Items {
				if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.Name == name {
					n++
				}
			}
			return n, err
		}).WithTimeout(time.Minute).Should(Equal(3), name)
	}
	serve("first")
	etcd, backup := c.Environment.ControlPlane.Etcd.DataDir, filepath.Join(t.TempDir(), "backup")
	while(t, c, func() error { return os.CopyFS(backup, os.DirFS(etcd)) })
	serve("second") // A restart without a restore ends nothing.
	bump(t, c.Admin, shop)

	while(t, c, func() error { return errors.Join(os.RemoveAll(etcd), os.CopyFS(etcd, os.DirFS(backup))) })
	var exit *exec.ExitError
	g.Expect(errors.As(p.wait(t), &exit) && exit.ExitCode() == 1).To(BeTrue(), "the manager ends")
	g.Expect(p.log.Lines(`"The manager ends","error":"the latest resource version is`)).To(Equal(1), p.log.String())
	g.Expect(p.log.Lines("etcd was restored")).To(Equal(1), p.log.String())
	start(t, managerEnv(shop), args...)
	return serve
}

func whileEtcdIsStopped(t *testing.T, c *faults.Cluster, do func() error) {
	t.Helper()
	again, err := c.KillEtcd()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(do(), again()); err != nil {
		t.Fatal(err)
	}
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

// bump increases the resource version by more than the manager and the servers increase it while they start.
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
