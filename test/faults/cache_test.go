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

// F3: the caches lag behind while replicas change from 1 to 10, 3, and 7.
func TestLaggingCaches(t *testing.T) {
	testCases := map[string]testCase{}
	for name, resources := range caches {
		for _, lag := range []time.Duration{time.Second, 5 * time.Second} {
			testCases[fmt.Sprintf("%s, %v", name, lag)] = lagging(lag, resources...)
		}
	}
	testCases["pods, from 1 to 10 to 3 to 7"] = laggingThroughout
	runCases(t, "F3", testCases)
}

// laggingThroughout holds the cache of pods for so long that the operator looks each pod up at the API server. Then the cache
// shows the whole history: pods that the operator created, deleted, and knows to be deleted appear in it again.
func laggingThroughout(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Ready: firstPods(5)})
	operator := e.Supervise()
	e.Create(podSet("a", 1))
	e.Settle()
	operator.Hold("pods")
	for _, replicas := range []int32{10, 3, 7} {
		scale(e, "a", replicas)
		e.Wait(6 * time.Second)
		e.Check("P3", e.AwaitPods(int(replicas)), "replicas is %d", replicas)
	}
	operator.Release("pods")
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 14, Deletes: 7})
}

func lagging(lag time.Duration, resources ...string) testCase {
	return func(e *faults.Env) {
		e.RunKubelet(&faults.Kubelet{Ready: firstPods(5)})
		operator := e.Supervise()
		e.Create(podSet("a", 1))
		e.Settle()
		for _, replicas := range []int32{10, 3, 7} {
			operator.Hold(resources...)
			scale(e, "a", replicas)
			e.Wait(lag)
			operator.Release(resources...)
			e.Settle()
		}
		e.Quiesce()
		e.ExpectCounts(faults.Counts{Creates: 14, Deletes: 7})
	}
}

// F3: a new process does not get the objects of one kind for a long time, as if there were very many. The other kind does not wait for it.
func TestLongList(t *testing.T) {
	runCases(t, "F3", map[string]testCase{
		"of Ats": longList("ats", at("other", "now", "true"), podSet("a", 2), func(e *faults.Env) {
			e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.ReadyReplicas == 2 })
		}),
		"of PodSets": longList("podsets", podSet("other", 1), at("a", "now", "true"), func(e *faults.Env) {
			e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseDone })
		}),
	})
}

func longList(resource string, other, served client.Object, await func(*faults.Env)) testCase {
	return func(e *faults.Env) {
		e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
		e.Create(other)
		operator := e.Start(func(i *faults.Injector) { i.Hold(resource) })
		e.Create(served)
		await(e)
		operator.Release(resource)
		e.Quiesce()
	}
}

// travel is how long the caches of a new process show an old state.
const travel = 3 * time.Second

// F4: a new process can read an old state.
func TestTimeTravel(t *testing.T) {
	testCases := map[string]testCase{}
	for name, resources := range caches {
		testCases["to before 5 became 2, "+name] = travelScale(5, 2, resources...)
		testCases["to before 2 became 5, "+name] = travelScale(2, 5, resources...)
	}
	testCases["to before a PodSet was deleted and created again"] = travelRecreate
	testCases["to the creation of a PodSet that is deleted"] = travelDeleted
	testCases["to before an At ran"] = travelAt
	testCases["to before an At was deleted and created again"] = travelAtRecreate
	runCases(t, "F4", testCases)
}

// startInPast starts a process whose first lists return an old state if it accepts lists of any age. After a while, its watches
// deliver the present state. This operator does not accept lists of any age: it gets the latest state and a watch that lags.
func startInPast(e *faults.Env, version string, resources ...string) {
	e.Helper()
	before := map[string]int{}
	for _, resource := range resources {
		before[resource] = lists(e, resource)
	}
	i := e.Start(func(injector *faults.Injector) {
		injector.TimeTravel(version, resources...)
		injector.Hold(resources...)
	})
	e.Wait(travel)
	i.Release(resources...)
	for _, resource := range resources {
		e.Check("L1", lists(e, resource) > before[resource], "the new process did not list %s", resource)
	}
}

// lists returns how often the operator has listed a resource.
func lists(e *faults.Env, resource string) int {
	return len(e.Log.Calls(func(c *faults.Call) bool { return c.Verb == "list" && c.Resource == resource }))
}

func version(e *faults.Env) string {
	e.Helper()
	v, err := e.Cluster.Version(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	return v
}

func travelScale(from, to int32, resources ...string) testCase {
	return func(e *faults.Env) {
		first := e.Start()
		e.Create(podSet("a", from))
		e.Settle()
		then := version(e)
		scale(e, "a", to)
		e.Settle()
		first.Crash()
		startInPast(e, then, resources...)
		e.Quiesce()
		e.ExpectCounts(faults.Counts{Creates: int(max(from, to)), Deletes: int(max(from-to, 0))})
	}
}

func travelRecreate(e *faults.Env) {
	first := e.Start()
	set := podSet("a", 3)
	e.Create(set)
	e.Settle()
	then := version(e)
	e.Delete(set)
	e.AwaitNoPods()
	e.Create(podSet("a", 2))
	e.Settle()
	first.Crash()
	unchanged(e, func() { startInPast(e, then, "podsets", "pods") })
}

func travelDeleted(e *faults.Env) {
	set := podSet("a", 3)
	e.Create(set) // The operator does not run yet.
	then := version(e)
	first := e.Start()
	e.Settle()
	e.Delete(set)
	e.AwaitNoPods()
	first.Crash()
	unchanged(e, func() { startInPast(e, then, "podsets", "pods") })
}

// unchanged checks that no pod is created or deleted during happens. It does not compare what came before: if the garbage
// collector deletes pods before the operator sees that their PodSet is deleted, the operator creates pods once more, as any
// controller does.
func unchanged(e *faults.Env, happens func()) {
	e.Helper()
	before := e.Counts()
	happens()
	e.Quiesce()
	e.ExpectCounts(before)
}

func travelAt(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	a := at("a", time.Now().Add(2*time.Second).UTC().Format(time.RFC3339), "echo YAY")
	e.Create(a)
	then := version(e)
	first := e.Start()
	e.Settle()
	e.Delete(&corev1.Pod{ObjectMeta: podKey(e, "a-pod")})
	e.AwaitNoPods()
	first.Crash()
	startInPast(e, then, "ats", "pods")
	e.Quiesce()
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseDone })
	e.ExpectCounts(faults.Counts{Creates: 1})
}

func travelAtRecreate(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	schedule := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
	a := at("a", schedule, "echo YAY")
	e.Create(a)
	then := version(e)
	first := e.Start()
	e.Settle()
	e.Delete(a)
	e.AwaitNoPods()
	e.Create(at("a", schedule, "echo YAY"))
	e.Settle()
	first.Crash()
	startInPast(e, then, "ats", "pods")
	e.Quiesce()
	counts := e.Counts()
	e.Check("A6", counts == faults.Counts{Creates: 2}, "two Ats of one name had %+v", counts)
}

// F5: the operator misses events, and its watch is rejected with 410.
func TestMissedEvents(t *testing.T) { runCases(t, "F5", missedEvents()) }

func missedEvents() map[string]testCase {
	return map[string]testCase{
		"pods that were deleted": func(e *faults.Env) {
			operator := e.Supervise()
			e.Create(podSet("a", 4))
			e.Settle()
			withMissedEvents(operator, func() {
				for _, pod := range e.Pods()[:2] {
					e.Delete(pod, client.GracePeriodSeconds(0))
				}
			})
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: 6})
		},
		"a PodSet that was created and deleted": func(e *faults.Env) {
			operator := e.Supervise()
			e.Create(podSet("a", 2))
			e.Settle()
			withMissedEvents(operator, func() {
				b := podSet("b", 3)
				e.Create(b)
				e.Delete(b)
				scale(e, "a", 3)
			})
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: 3})
		},
		"a PodSet that was created again": func(e *faults.Env) {
			operator := e.Supervise()
			a := podSet("a", 3)
			e.Create(a)
			e.Settle()
			withMissedEvents(operator, func() {
				e.Delete(a)
				e.Create(podSet("a", 2))
			})
			e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.UID != a.UID && s.Status.Replicas == 2 })
			// No ExpectCounts: while the cache of PodSets is older than that of pods, the operator creates pods for the old PodSet
			// once more, and the garbage collector deletes them, as with any controller.
			e.Quiesce()
		},
		"the pod of an At that was deleted": missedDeletionOfRun,
	}
}

func missedDeletionOfRun(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{})
	operator := e.Supervise()
	e.Create(at("a", "now", "sleep 60"))
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	withMissedEvents(operator, func() {
		e.Delete(&corev1.Pod{ObjectMeta: podKey(e, "a-pod")}, client.GracePeriodSeconds(0))
	})
	e.Quiesce()
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Reason == cnatv1alpha1.ReasonPodLost })
	e.ExpectCounts(faults.Counts{Creates: 1})
}

// withMissedEvents makes a change whose events the operator does not receive.
func withMissedEvents(operator *faults.Process, change func()) {
	resources := []string{"podsets", "ats", "pods"}
	operator.Hold(resources...)
	change()
	operator.Expire(resources...)
}
