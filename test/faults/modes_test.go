// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// core are the faults that depend on how the cache reads. They run with every cache mode and every kind of list. The reference of
// a scenario runs before its test case.
var core = map[string]func(*testing.T) testCase{
	"F1, scale 10 to 3": func(t *testing.T) testCase {
		return withCrashes(t, "scale 10 to 3", point{"after", 2}, point{"before", 2})
	},
	"F1, at with a retry": func(t *testing.T) testCase {
		return withCrashes(t, "at with a retry", point{"after", 1}, point{"after", 2})
	},
	"F2, create 10":        func(t *testing.T) testCase { return withLostResponses(t, "create 10") },
	"F2, at":               func(t *testing.T) testCase { return withLostResponses(t, "at") },
	"F3, podsets and pods": func(*testing.T) testCase { return lagging(time.Second, "podsets", "pods") },
	"F4, a set":            func(*testing.T) testCase { return travelRecreate },
	"F4, an At":            func(*testing.T) testCase { return travelAt },
	"F5, pods of a set":    func(*testing.T) testCase { return missedEvents()["pods that were deleted"] },
	"F5, the pod of an At": func(*testing.T) testCase { return missedEvents()["the pod of an At that was deleted"] },
	"F11, two operators":   func(*testing.T) testCase { return withoutLease },
}

// withLostResponses loses the responses to most writes of a scenario.
func withLostResponses(t *testing.T, name string) testCase {
	return withScenario(t, name, func(operator *faults.Process) {
		operator.Inject(faults.Sometimes(faults.Random(t.Name()), 70, faults.Writes, faults.LoseResponse))
	})
}

// modeQuiet is shorter than in the other tests.
const modeQuiet = 5 * time.Second

// allNamespaces makes the cache hold the objects of all namespaces, as in the default deployment.
func allNamespaces(o *ctrl.Options) { o.Cache.DefaultNamespaces = nil }

// twoNamespaces makes the cache hold the objects of two namespaces, each with informers of its own.
func twoNamespaces(o *ctrl.Options) {
	namespaces := maps.Clone(o.Cache.DefaultNamespaces)
	namespaces[corev1.NamespaceDefault] = cache.Config{}
	o.Cache.DefaultNamespaces = namespaces
}

// F28: the core of the suite with a cache of all namespaces and of two, with and without streamed lists.
func TestModes(t *testing.T) {
	t.Parallel()
	t.Run("two namespaces", func(t *testing.T) {
		t.Parallel()
		runTwoNamespaces(t, cluster)
	})
	t.Run("all namespaces", func(t *testing.T) {
		t.Parallel()
		runAllNamespaces(t, startCluster(t))
	})
	t.Run("no streamed lists", func(t *testing.T) {
		t.Parallel()
		c := startCluster(t, faults.WithoutStreamedLists)
		t.Run("all namespaces", func(t *testing.T) { runAllNamespaces(t, c) })
		t.Run("two namespaces", func(t *testing.T) { runTwoNamespaces(t, c) })
	})
}

func startCluster(t *testing.T, options ...func(*envtest.Environment)) *faults.Cluster {
	t.Helper()
	c, err := faults.StartCluster(crds, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

func runTwoNamespaces(t *testing.T, c *faults.Cluster) {
	for name, fault := range core {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runMode(t, c, twoNamespaces, fault)
		})
	}
}

// runAllNamespaces runs one test at a time, because this operator would also serve the environments of the others.
func runAllNamespaces(t *testing.T, c *faults.Cluster) {
	for _, name := range slices.Sorted(maps.Keys(core)) {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { clean(t, c) }) // after the end of the environment
			runMode(t, c, allNamespaces, core[name])
		})
	}
}

func runMode(t *testing.T, c *faults.Cluster, mode func(*ctrl.Options), fault func(*testing.T) testCase) {
	run := fault(t)
	e := faults.NewEnv(t, c, "F28", faults.Ours)
	e.Options = append(e.Options, mode)
	e.Quiet = modeQuiet
	run(e)
}

// clean deletes the objects that the operator of the next test would serve.
func clean(t *testing.T, c *faults.Cluster) {
	ctx, g := context.Background(), gomega.NewWithT(t)
	var namespaces corev1.NamespaceList
	g.Expect(c.Admin.List(ctx, &namespaces)).To(gomega.Succeed())
	for _, namespace := range namespaces.Items {
		for _, kind := range []client.Object{&appv1alpha1.PodSet{}, &cnatv1alpha1.At{}, &corev1.Pod{}} {
			err := c.Admin.DeleteAllOf(ctx, kind, client.InNamespace(namespace.Name), client.GracePeriodSeconds(0))
			g.Expect(client.IgnoreNotFound(err)).To(gomega.Succeed())
		}
	}
	g.Eventually(func() error {
		for _, list := range []client.ObjectList{&appv1alpha1.PodSetList{}, &cnatv1alpha1.AtList{}, &corev1.PodList{}} {
			if err := c.Admin.List(ctx, list, client.Limit(1)); err != nil {
				return err
			}
			if meta.LenList(list) > 0 {
				return errors.New("objects are left")
			}
		}
		return nil
	}).WithTimeout(faults.DefaultTimeout).WithPolling(100 * time.Millisecond).Should(gomega.Succeed())
}
