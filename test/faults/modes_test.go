// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// core are the faults that depend on how the cache reads. They run with every cache mode and every kind of list. The simulation covers many
// more orders of them, with the caches of one mode.
var core = map[string]testCase{
	"F1, scale 10 to 3":  crashScale,
	"F2":                 loseResponses,
	"F3":                 lagging("podsets", "pods"),
	"F3, a long list":    longList,
	"F5, pods of a set":  missPods,
	"F11, two operators": withoutLease,
}

func crashScale(e *faults.Env) {
	// Four of ten pods are not ready: they must be deleted, and three others.
	e.RunKubelet(&faults.Kubelet{Ready: firstPods(6)})
	starts := 0
	operator := e.Supervise(func(i *faults.Injector) {
		if starts++; starts == 2 { // It may have a single write: the first process may have sent all deletes before its crash.
			i.Inject(faults.Nth(1, faults.Writes, i.CrashBefore))
		}
	})
	e.Create(podSet("a", 10))
	e.Settle()
	e.WaitForSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.ReadyReplicas == 6 })
	operator.Inject(faults.Nth(2, faults.Writes, operator.CrashAfter))
	scale(e, "a", 3)
	e.ExpectIdle()
	e.ExpectCounts(faults.Counts{Creates: 10, Deletes: 7})
	e.Check("P3", e.Starts() == 3, "the operator was started %d times", e.Starts())
}

func loseResponses(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise(func(i *faults.Injector) { i.Inject(faults.EverySecond(faults.Writes, faults.LoseResponse)) })
	e.Create(podSet("a", 10), at("a", "now + 1 second", "echo YAY"))
	e.ExpectIdle()
	e.ExpectCounts(faults.Counts{Creates: 11})
}

// lagging holds the caches of some resources while replicas change from 1 to 10, 3, and 7.
func lagging(resources ...string) testCase {
	return func(e *faults.Env) {
		e.RunKubelet(&faults.Kubelet{Ready: firstPods(5)})
		operator := e.Supervise()
		e.Create(podSet("a", 1))
		e.Settle()
		for _, replicas := range []int32{10, 3, 7} {
			operator.Hold(resources...)
			scale(e, "a", replicas)
			e.Wait(time.Second)
			operator.Release(resources...)
			e.Settle()
		}
		e.ExpectIdle()
		e.ExpectCounts(faults.Counts{Creates: 14, Deletes: 7})
	}
}

// longList is a new process that does not get the Ats for a long time, as if there were very many. PodSets do not wait for them.
func longList(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Create(at("other", "now", "true"))
	operator := e.Start(func(i *faults.Injector) { i.Hold("ats") })
	e.Create(podSet("a", 2))
	e.WaitForSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.ReadyReplicas == 2 })
	operator.Release("ats")
	e.ExpectIdle()
}

// withMissedEvents makes a change whose events the operator does not receive: its watches are rejected with 410.
func withMissedEvents(operator *faults.Process, change func()) {
	resources := []string{"podsets", "ats", "pods"}
	operator.Hold(resources...)
	change()
	operator.Expire(resources...)
}

func missPods(e *faults.Env) {
	operator := e.Supervise()
	e.Create(podSet("a", 4))
	e.Settle()
	withMissedEvents(operator, func() {
		for _, pod := range e.Pods()[:2] {
			e.Delete(pod, client.GracePeriodSeconds(0))
		}
	})
	e.ExpectIdle()
	e.ExpectCounts(faults.Counts{Creates: 6})
}

// withoutLease is two operators that both work.
func withoutLease(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	two := []*faults.Process{e.Start(), e.Start()}
	e.Create(podSet("a", 10), at("a", "now + 1 second", "echo YAY"), at("b", "now + 2 seconds", "echo YAY"), at("c", "now", "echo YAY"))
	e.Settle()
	e.Wait(2 * time.Second) // Each operator sees all pods ready, and not only the one that recorded it.
	// An operator that sees a pod deleted before it sees the scale-down replaces the pod.
	for _, operator := range two {
		operator.Hold("pods")
	}
	scale(e, "a", 3)
	deletes := func() int {
		return e.Log.Count(func(w faults.Write) bool { return w.Verb == "delete" && !strings.HasSuffix(w.Name, "-pod") })
	} // of PodSets
	gomega.NewWithT(e).Eventually(deletes).WithTimeout(e.Timeout).Should(gomega.Equal(14), "deletes by both operators")
	for _, operator := range two {
		operator.Release("pods")
	}
	e.ExpectIdle()
	// Both have deleted the same seven, because the order of deletion is total. The pods of the Ats are not counted: each operator deletes a
	// gated pod that the other one has created.
	e.Check("P8", deletes() == 14, "the operators deleted %d pods", deletes())
}

// modeQuiet is shorter than in the other tests.
const modeQuiet = 5 * time.Second

// allNamespaces makes the cache hold the objects of all namespaces, as in the default deployment.
func allNamespaces(o *ctrl.Options) { o.Cache.DefaultNamespaces = nil }

// twoNamespaces makes the cache hold the objects of two namespaces, with informers for each.
func twoNamespaces(o *ctrl.Options) {
	namespaces := maps.Clone(o.Cache.DefaultNamespaces)
	namespaces[corev1.NamespaceDefault] = cache.Config{}
	o.Cache.DefaultNamespaces = namespaces
}

// F28: the core of the suite with a cache of one namespace, of two, and of all, with and without streamed lists.
func TestModes(t *testing.T) {
	t.Parallel()
	t.Run("one namespace", func(t *testing.T) {
		t.Parallel()
		runTogether(t, cluster, func(*ctrl.Options) {})
	})
	t.Run("two namespaces", func(t *testing.T) {
		t.Parallel()
		runTogether(t, cluster, twoNamespaces)
	})
	t.Run("all namespaces", func(t *testing.T) {
		t.Parallel()
		runAllNamespaces(t, faults.OwnCluster(t, crds))
	})
	t.Run("no streamed lists", func(t *testing.T) {
		t.Parallel()
		c := faults.OwnCluster(t, crds, faults.WithoutStreamedLists)
		t.Run("all namespaces", func(t *testing.T) { runAllNamespaces(t, c) })
		t.Run("two namespaces", func(t *testing.T) { runTogether(t, c, twoNamespaces) })
	})
}

func runTogether(t *testing.T, c *faults.Cluster, mode func(*ctrl.Options)) {
	for name, run := range core {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runMode(t, c, mode, run)
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

func runMode(t *testing.T, c *faults.Cluster, mode func(*ctrl.Options), run testCase) {
	e := faults.NewEnv(t, c, "F28")
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
