// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// caches are the sets of caches that can be old.
var caches = map[string][]string{
	"podsets":          {"podsets"},
	"pods":             {"pods"},
	"podsets and pods": {"podsets", "pods"},
}

// F3: the caches lag behind while 1 becomes 10, 3 and 7.
func TestLaggingCaches(t *testing.T) {
	trials := map[string]trial{}
	for name, resources := range caches {
		for _, lag := range []time.Duration{time.Second, 5 * time.Second} {
			trials[fmt.Sprintf("%s, %v", name, lag)] = lagging(lag, resources...)
		}
	}
	trials["pods, from 1 to 10 to 3 to 7"] = laggingThroughout
	try(t, "F3", trials)
}

// laggingThroughout holds the cache of pods for so long that the operator has to ask the API server about each pod, and
// then shows it all of history: pods that it made and deleted, and knows to be gone, live in its cache once more.
func laggingThroughout(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Ready: firstPods(5)})
	operator := w.Supervise()
	w.Create(podSet("a", 1))
	w.Settle()
	operator.Hold("pods")
	for _, replicas := range []int32{10, 3, 7} {
		scale(w, "a", replicas)
		w.Pass(6 * time.Second)
		w.Check("P3", w.AwaitPods(int(replicas)), "%d pods were asked for", replicas)
	}
	operator.Release("pods")
	w.Rest()
	w.Costs(faults.Counts{Creates: 14, Deletes: 7})
}

func lagging(lag time.Duration, resources ...string) trial {
	return func(w *faults.World) {
		w.RunKubelet(&faults.Kubelet{Ready: firstPods(5)})
		operator := w.Supervise()
		w.Create(podSet("a", 1))
		w.Settle()
		for _, replicas := range []int32{10, 3, 7} {
			operator.Hold(resources...)
			scale(w, "a", replicas)
			w.Pass(lag)
			operator.Release(resources...)
			w.Settle()
		}
		w.Rest()
		w.Costs(faults.Counts{Creates: 14, Deletes: 7})
	}
}

// travel is how long a new incarnation believes in the past.
const travel = 3 * time.Second

// F4: a new incarnation is offered the past.
func TestTimeTravel(t *testing.T) {
	trials := map[string]trial{}
	for name, resources := range caches {
		trials["back before 5 became 2, "+name] = travelScale(5, 2, resources...)
		trials["back before 2 became 5, "+name] = travelScale(2, 5, resources...)
	}
	trials["back before a set was deleted and made again"] = travelRecreate
	trials["back to the birth of a set that is deleted"] = travelDeleted
	trials["back before an At ran"] = travelAt
	trials["back before an At was deleted and made again"] = travelAtRecreate
	try(t, "F4", trials)
}

// past starts an incarnation whose first lists are old if it accepts lists of any age, and brings it to the present after a
// while. Ours does not accept them: for it, this is a list of the latest state and a watch that lags behind.
func past(w *faults.World, version string, resources ...string) {
	w.Helper()
	before := map[string]int{}
	for _, resource := range resources {
		before[resource] = lists(w, resource)
	}
	i := w.Start(func(wire *faults.Wire) {
		wire.TravelTo(version, resources...)
		wire.Hold(resources...)
	})
	w.Pass(travel)
	i.Release(resources...)
	for _, resource := range resources {
		w.Check("L1", lists(w, resource) > before[resource], "the new incarnation did not list %s", resource)
	}
}

// lists counts the lists of a resource.
func lists(w *faults.World, resource string) int {
	return len(w.Log.Calls(func(c *faults.Call) bool { return c.Verb == "list" && c.Resource == resource }))
}

func version(w *faults.World) string {
	w.Helper()
	v, err := w.Cluster.Version(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return v
}

func travelScale(from, to int32, resources ...string) trial {
	return func(w *faults.World) {
		first := w.Start()
		w.Create(podSet("a", from))
		w.Settle()
		then := version(w)
		scale(w, "a", to)
		w.Settle()
		first.Crash()
		past(w, then, resources...)
		w.Rest()
		w.Costs(faults.Counts{Creates: int(max(from, to)), Deletes: int(max(from-to, 0))})
	}
}

func travelRecreate(w *faults.World) {
	first := w.Start()
	set := podSet("a", 3)
	w.Create(set)
	w.Settle()
	then := version(w)
	w.Delete(set)
	w.Gone()
	w.Create(podSet("a", 2))
	w.Settle()
	first.Crash()
	unchanged(w, func() { past(w, then, "podsets", "pods") })
}

func travelDeleted(w *faults.World) {
	set := podSet("a", 3)
	w.Create(set) // Nobody makes its pods yet.
	then := version(w)
	first := w.Start()
	w.Settle()
	w.Delete(set)
	w.Gone()
	first.Crash()
	unchanged(w, func() { past(w, then, "podsets", "pods") })
}

// unchanged lets something happen that must cost nothing. What came before is not compared: when the garbage collector
// is faster than the news that a set is gone, the set gets pods once more, as with any controller of Kubernetes.
func unchanged(w *faults.World, happens func()) {
	w.Helper()
	before := w.Counts()
	happens()
	w.Rest()
	w.Costs(before)
}

func travelAt(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	a := at("a", time.Now().Add(2*time.Second).UTC().Format(time.RFC3339), "echo YAY")
	w.Create(a)
	then := version(w)
	first := w.Start()
	w.Settle()
	w.Delete(&corev1.Pod{ObjectMeta: podKey(w, "a-pod")})
	w.Gone()
	first.Crash()
	past(w, then, "ats", "pods")
	w.Rest()
	w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseDone })
	w.Costs(faults.Counts{Creates: 1})
}

func travelAtRecreate(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	schedule := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
	a := at("a", schedule, "echo YAY")
	w.Create(a)
	then := version(w)
	first := w.Start()
	w.Settle()
	w.Delete(a)
	w.Gone()
	w.Create(at("a", schedule, "echo YAY"))
	w.Settle()
	first.Crash()
	past(w, then, "ats", "pods")
	w.Rest()
	counts := w.Counts()
	w.Check("A6", counts == faults.Counts{Creates: 2}, "two Ats of one name made %+v", counts)
}

// F5: the operator never hears of some changes, and its watch is answered with 410.
func TestMissedEvents(t *testing.T) { try(t, "F5", missedEvents()) }

func missedEvents() map[string]trial {
	return map[string]trial{
		"pods that were deleted": func(w *faults.World) {
			operator := w.Supervise()
			w.Create(podSet("a", 4))
			w.Settle()
			missed(operator, func() {
				for _, pod := range w.Pods()[:2] {
					w.Delete(pod, client.GracePeriodSeconds(0))
				}
			})
			w.Rest()
			w.Costs(faults.Counts{Creates: 6})
		},
		"a set that came and went": func(w *faults.World) {
			operator := w.Supervise()
			w.Create(podSet("a", 2))
			w.Settle()
			missed(operator, func() {
				b := podSet("b", 3)
				w.Create(b)
				w.Delete(b)
				scale(w, "a", 3)
			})
			w.Rest()
			w.Costs(faults.Counts{Creates: 3})
		},
		"a set that was made again": func(w *faults.World) {
			operator := w.Supervise()
			a := podSet("a", 3)
			w.Create(a)
			w.Settle()
			missed(operator, func() {
				w.Delete(a)
				w.Create(podSet("a", 2))
			})
			w.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.UID != a.UID && s.Status.Replicas == 2 })
			// No Costs: while the cache of sets is older than that of pods, the old set gets its pods once more, and the
			// garbage collector removes them, as with any controller of Kubernetes.
			w.Rest()
		},
		"the pod of an At that was deleted": func(w *faults.World) {
			w.RunKubelet(&faults.Kubelet{})
			operator := w.Supervise()
			w.Create(at("a", "now", "sleep 60"))
			w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
			missed(operator, func() {
				w.Delete(&corev1.Pod{ObjectMeta: podKey(w, "a-pod")}, client.GracePeriodSeconds(0))
			})
			w.Rest()
			w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Reason == cnatv1alpha1.ReasonPodLost })
			w.Costs(faults.Counts{Creates: 1})
		},
	}
}

// missed does something that the operator never hears of.
func missed(operator *faults.Incarnation, something func()) {
	resources := []string{"podsets", "ats", "pods"}
	operator.Hold(resources...)
	something()
	operator.Expire(resources...)
}
