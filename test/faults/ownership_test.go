// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// F13: a set is deleted in each of the three ways while its pods are being made.
func TestDeletion(t *testing.T) {
	runCases(t, "F13", map[string]testCase{
		"background": deletion(metav1.DeletePropagationBackground),
		"foreground": deletion(metav1.DeletePropagationForeground),
		"orphan":     orphaning,
	})
}

func deletion(policy metav1.DeletionPropagation) testCase {
	return func(e *faults.Env) {
		e.RunKubelet(&faults.Kubelet{})
		e.Supervise()
		set := podSet("a", 10)
		e.Create(set)
		e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return len(s.Status.PodNames) > 0 })
		e.Delete(set, client.PropagationPolicy(policy))
		start := time.Now()
		e.AwaitNoPods()
		e.Check("P5", time.Since(start) < 10*time.Second, "the deletion took %v", time.Since(start))
		e.Quiesce()
	}
}

func orphaning(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{})
	e.Supervise()
	set := podSet("a", 5)
	e.Create(set)
	e.Settle()
	e.Delete(set, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	for _, pod := range e.Pods() {
		e.Check("P5", e.AwaitPod(pod.Name, func(p *corev1.Pod) bool { return p != nil && len(p.OwnerReferences) == 0 }), "pod %s was not orphaned", pod.Name)
	}
	e.Quiesce()
	e.Check("P5", len(e.Pods()) == 5, "%d of 5 orphans live on", len(e.Pods()))
	e.ExpectCounts(faults.Counts{}) // Nobody's pods are nobody's cost.
}

// foreignPod is a pod of a person, with all labels of a set's pods.
func foreignPod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "main", Image: "one"}},
			TerminationGracePeriodSeconds: ptr.To[int64](1),
		},
	}
}

var ourLabels = map[string]string{
	"app": "a", "version": "v0.1", "app.kubernetes.io/managed-by": "podset-operator", appv1alpha1.LabelPodSet: "a",
}

// F14: labels and owners that lie.
func TestOwnership(t *testing.T) {
	runCases(t, "F14", map[string]testCase{
		"our labels on foreign pods":           foreignPods,
		"our labels taken from our pod":        withoutLabels,
		"the owner taken from our pod":         disowned(func(pod *corev1.Pod) { pod.OwnerReferences = nil }, 4),
		"our pod is another set's by its UID":  disowned(func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = types.UID("11111111-2222-3333-4444-555555555555") }, 3),
		"a second owner that is no controller": secondOwner,
	})
}

func foreignPods(e *faults.Env) {
	e.Create(foreignPod("aaa", ourLabels), foreignPod("zzz", ourLabels))
	e.Supervise()
	e.Create(podSet("a", 3))
	e.Settle()
	scale(e, "a", 1)
	e.Quiesce()
	e.Check("P4", len(e.Pods()) == 3, "%d pods are left: one of the set and two of others were there", len(e.Pods()))
	e.ExpectCounts(faults.Counts{Creates: 3, Deletes: 2})
}

func withoutLabels(e *faults.Env) {
	e.Supervise()
	e.Create(podSet("a", 3))
	e.Settle()
	faults.Edit(e, e.Pods()[0].DeepCopy(), func(pod *corev1.Pod) { pod.Labels = nil })
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 3})
}

// disowned changes the owner of one of three pods: another takes its place, and what is not ours is not touched.
func disowned(change func(*corev1.Pod), left int) testCase {
	return func(e *faults.Env) {
		e.Supervise()
		e.Create(podSet("a", 3))
		e.Settle()
		faults.Edit(e, e.Pods()[0].DeepCopy(), change)
		e.Quiesce()
		e.Check("P4", e.AwaitPods(left), "%d pods are left, %d expected", len(e.Pods()), left)
		e.Check("P4", e.Counts().Deletes == 0, "the operator deleted %d pods", e.Counts().Deletes)
	}
}

func secondOwner(e *faults.Env) {
	e.Supervise()
	set := podSet("b", 1)
	e.Create(podSet("a", 3), set)
	e.Settle()
	faults.Edit(e, e.Pods()[0].DeepCopy(), func(pod *corev1.Pod) {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: appv1alpha1.GroupVersion.String(), Kind: "PodSet", Name: "b", UID: set.UID,
		})
	})
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 4})
}

// F15: the namespace is going. What the operator tries there is refused, and it does not insist.
func TestTerminatingNamespace(t *testing.T) {
	runCases(t, "F15", map[string]testCase{
		"a set that cannot go yet":            setStays,
		"a set whose namespace cannot go yet": namespaceStays(podSet("a", 3), (*faults.Env).Settle),
		"an At that is due, and cannot run now": namespaceStays(at("a", "now + 5 seconds", "echo YAY"), func(e *faults.Env) {
			e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhasePending })
		}),
	})
}

// terminate deletes the namespace of a world.
func terminate(e *faults.Env) {
	e.Helper()
	e.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}})
}

// setStays deletes a namespace with a set that stays, deleted, without its pods.
func setStays(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{})
	e.Supervise()
	set := podSet("a", 3)
	set.Finalizers = []string{"example.com/keep"}
	e.Create(set)
	e.Settle()
	start := time.Now()
	terminate(e)
	e.AwaitNoPods()
	e.AwaitDeletion(set)
	e.Wait(2 * time.Second) // What was on its way comes to its end.
	bounded(e, 10*time.Second, traffic{calls: 5})
	e.ExpectBackoff(start, firstRejectionBackoff) // The pods went before the set did.
	faults.Edit(e, set, func(s *appv1alpha1.PodSet) { s.Finalizers = nil })
}

// namespaceStays deletes a namespace that a pod of somebody keeps from going. Pods go first, so that the object stays
// alive, wants its pods and can have none.
func namespaceStays(object client.Object, begun func(*faults.Env)) testCase {
	return func(e *faults.Env) {
		object := object.DeepCopyObject().(client.Object)
		e.RunKubelet(&faults.Kubelet{})
		e.Supervise()
		keep := foreignPod("keep", nil)
		keep.Finalizers = []string{"example.com/keep"}
		e.Create(keep, object)
		begun(e)
		start := time.Now()
		terminate(e)
		// Refusals come after 0, 1, 3, 7 and 15 s. Each is a create, a status and an event at most.
		bounded(e, 20*time.Second, traffic{writes: 12, events: 6, calls: 30})
		e.ExpectRejected(start, firstRejectionBackoff)
		faults.Edit(e, keep, func(p *corev1.Pod) { p.Finalizers = nil })
		e.AwaitDeletion(object)
		e.Wait(2 * time.Second)
		bounded(e, 10*time.Second, traffic{calls: 5})
	}
}

// traffic is how many calls an operator may make: writes, events, and all of them together with reads and watches.
type traffic struct{ writes, events, calls int }

// bounded lets time pass and judges that nothing goes round in circles meanwhile.
func bounded(e *faults.Env, d time.Duration, most traffic) {
	e.Helper()
	count := func() traffic {
		return traffic{len(e.Log.Calls(faults.Writes)), len(e.Log.Calls(faults.Events)), len(e.Log.Calls(faults.AnyCall))}
	}
	before := count()
	e.Wait(d)
	after := count()
	got := traffic{after.writes - before.writes, after.events - before.events, after.calls - before.calls}
	e.Logf("in %v: %+v of at most %+v", d, got, most)
	e.Check("P3", got.writes <= most.writes && got.events <= most.events && got.calls <= most.calls,
		"in %v the operator made %+v, at most %+v is enough:\n%v", d, got, most, e.Log.Calls(faults.AnyCall)[before.calls:])
}

// F16: replicas are flipped 20 times a second.
func TestFlipping(t *testing.T) {
	runCases(t, "F16", map[string]testCase{
		"1, 10, 3, 10 at 20 Hz": func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{Ready: firstPods(20)})
			e.Supervise()
			e.Create(podSet("a", 1))
			e.Settle()
			ticker := time.NewTicker(50 * time.Millisecond)
			defer ticker.Stop()
			for range 15 {
				for _, replicas := range []int32{1, 10, 3, 10} {
					<-ticker.C
					scale(e, "a", replicas)
				}
			}
			e.Settle()
			e.Wait(2 * time.Second) // P6 is judged when the wish was the same for a while.
			scale(e, "a", 4)
			e.Quiesce()
		},
	})
}
