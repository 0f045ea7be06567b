// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// F15: the namespace is terminating. Creates in it are rejected, and the operator retries with back-off.
func TestTerminatingNamespace(t *testing.T) {
	runCases(t, "F15", map[string]testCase{
		"a PodSet with a finalizer":                          setStays,
		"a PodSet in a namespace that cannot be removed yet": namespaceStays(podSet("a", 3), (*faults.Env).Settle),
		"an At that is due and cannot run": namespaceStays(at("a", "now + 20 seconds", "echo YAY"), func(e *faults.Env) {
			e.WaitForAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhasePending })
		}),
	})
}

func terminate(e *faults.Env) {
	e.Helper()
	e.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}})
}

// setStays deletes a namespace with a PodSet that has a finalizer. The PodSet stays, and its pods are deleted.
func setStays(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{})
	e.Supervise()
	set := podSet("a", 3)
	set.Finalizers = []string{"example.com/keep"}
	e.Create(set)
	e.Settle()
	terminate(e)
	e.WaitForNoPods()
	e.WaitForDeletion(set)
	e.Wait(2 * time.Second) // Requests in flight complete.
	bounded(e, 10*time.Second, traffic{calls: 5})
	faults.Edit(e, set, func(s *appv1alpha1.PodSet) { s.Finalizers = nil })
}

// namespaceStays deletes a namespace with a foreign pod that has a finalizer. The namespace controller deletes pods first, so the
// object still needs pods, and their creates are rejected.
func namespaceStays(object client.Object, begun func(*faults.Env)) testCase {
	return func(e *faults.Env) {
		object := object.DeepCopyObject().(client.Object)
		e.RunKubelet(&faults.Kubelet{})
		e.Supervise()
		keep := foreignPod("keep")
		keep.Finalizers = []string{"example.com/keep"}
		e.Create(keep, object)
		begun(e)
		before := len(e.Log.Calls(faults.AnyCall))
		terminate(e)
		rejected := func() int {
			return e.Log.Count(func(w faults.Write) bool { return faults.Creates(w.Call) && w.Code == http.StatusForbidden })
		}
		gomega.NewWithT(e).Eventually(rejected).WithTimeout(e.Timeout).Should(gomega.BeNumerically(">", 0), "creates that were rejected")
		// Creates are rejected after 0, 1, 3, 7, and 15 s. Each leads to one status write and one event at most.
		boundedFrom(e, before, 20*time.Second, traffic{writes: 12, events: 6, calls: 30})
		faults.Edit(e, keep, func(p *corev1.Pod) { p.Finalizers = nil })
		e.WaitForDeletion(object)
		e.Wait(2 * time.Second)
		bounded(e, 10*time.Second, traffic{calls: 5})
	}
}

// traffic is the maximum number of an operator's requests: writes, events, and all requests including reads and watches.
type traffic struct{ writes, events, calls int }

// bounded checks that the operator does not retry too often during d.
func bounded(e *faults.Env, d time.Duration, most traffic) {
	e.Helper()
	boundedFrom(e, len(e.Log.Calls(faults.AnyCall)), d, most)
}

// boundedFrom is like bounded, but counts all calls after the first seen ones, including those before d begins. The calls are counted the
// moment d has passed, because Wait may take much longer on a busy machine.
func boundedFrom(e *faults.Env, seen int, d time.Duration, most traffic) {
	e.Helper()
	counted := make(chan []faults.Call, 1)
	time.AfterFunc(d, func() { counted <- e.Log.Calls(faults.AnyCall) })
	e.Wait(d)
	calls := (<-counted)[seen:]
	got := traffic{calls: len(calls)}
	for _, call := range calls {
		if faults.Writes(&call) {
			got.writes++
		}
		if faults.Events(&call) {
			got.events++
		}
	}
	e.Logf("in %v: %+v of at most %+v", d, got, most)
	e.Check("P3", got.writes <= most.writes && got.events <= most.events && got.calls <= most.calls,
		"in %v the operator sent %+v, at most %+v is allowed:\n%v", d, got, most, calls)
}
