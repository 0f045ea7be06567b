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
	try(t, "F13", map[string]trial{
		"background": deletion(metav1.DeletePropagationBackground),
		"foreground": deletion(metav1.DeletePropagationForeground),
		"orphan":     orphaning,
	})
}

func deletion(policy metav1.DeletionPropagation) trial {
	return func(w *faults.World) {
		w.RunKubelet(&faults.Kubelet{})
		w.Supervise()
		set := podSet("a", 10)
		w.Create(set)
		w.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return len(s.Status.PodNames) > 0 })
		w.Delete(set, client.PropagationPolicy(policy))
		start := time.Now()
		w.Gone()
		w.Check("P5", time.Since(start) < 10*time.Second, "the deletion took %v", time.Since(start))
		w.Rest()
	}
}

func orphaning(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{})
	w.Supervise()
	set := podSet("a", 5)
	w.Create(set)
	w.Settle()
	w.Delete(set, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	for _, pod := range w.Pods() {
		w.Check("P5", w.AwaitPod(pod.Name, func(p *corev1.Pod) bool { return p != nil && len(p.OwnerReferences) == 0 }), "pod %s was not orphaned", pod.Name)
	}
	w.Rest()
	w.Check("P5", len(w.Pods()) == 5, "%d of 5 orphans live on", len(w.Pods()))
	w.Costs(faults.Counts{}) // Nobody's pods are nobody's cost.
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
	try(t, "F14", map[string]trial{
		"our labels on foreign pods":           foreignPods,
		"our labels taken from our pod":        withoutLabels,
		"the owner taken from our pod":         disowned(func(pod *corev1.Pod) { pod.OwnerReferences = nil }, 4),
		"our pod is another set's by its UID":  disowned(func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = types.UID("11111111-2222-3333-4444-555555555555") }, 3),
		"a second owner that is no controller": secondOwner,
	})
}

func foreignPods(w *faults.World) {
	w.Create(foreignPod("aaa", ourLabels), foreignPod("zzz", ourLabels))
	w.Supervise()
	w.Create(podSet("a", 3))
	w.Settle()
	scale(w, "a", 1)
	w.Rest()
	w.Check("P4", len(w.Pods()) == 3, "%d pods are left: one of the set and two of others were there", len(w.Pods()))
	w.Costs(faults.Counts{Creates: 3, Deletes: 2})
}

func withoutLabels(w *faults.World) {
	w.Supervise()
	w.Create(podSet("a", 3))
	w.Settle()
	faults.Edit(w, w.Pods()[0].DeepCopy(), func(pod *corev1.Pod) { pod.Labels = nil })
	w.Rest()
	w.Costs(faults.Counts{Creates: 3})
}

// disowned changes the owner of one of three pods: another takes its place, and what is not ours is not touched.
func disowned(change func(*corev1.Pod), left int) trial {
	return func(w *faults.World) {
		w.Supervise()
		w.Create(podSet("a", 3))
		w.Settle()
		faults.Edit(w, w.Pods()[0].DeepCopy(), change)
		w.Rest()
		w.Check("P4", w.AwaitPods(left), "%d pods are left, %d expected", len(w.Pods()), left)
		w.Check("P4", w.Counts().Deletes == 0, "the operator deleted %d pods", w.Counts().Deletes)
	}
}

func secondOwner(w *faults.World) {
	w.Supervise()
	set := podSet("b", 1)
	w.Create(podSet("a", 3), set)
	w.Settle()
	faults.Edit(w, w.Pods()[0].DeepCopy(), func(pod *corev1.Pod) {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: appv1alpha1.GroupVersion.String(), Kind: "PodSet", Name: "b", UID: set.UID,
		})
	})
	w.Rest()
	w.Costs(faults.Counts{Creates: 4})
}

// F15: the namespace is going. What the operator tries there is refused, and it does not insist.
func TestTerminatingNamespace(t *testing.T) {
	try(t, "F15", map[string]trial{
		"a set that cannot go yet":            setStays,
		"a set whose namespace cannot go yet": namespaceStays(podSet("a", 3), (*faults.World).Settle),
		"an At that is due, and cannot run now": namespaceStays(at("a", "now + 5 seconds", "echo YAY"), func(w *faults.World) {
			w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhasePending })
		}),
	})
}

// terminate deletes the namespace of a world.
func terminate(w *faults.World) {
	w.Helper()
	w.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})
}

// setStays deletes a namespace with a set that stays, deleted, without its pods.
func setStays(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{})
	w.Supervise()
	set := podSet("a", 3)
	set.Finalizers = []string{"example.com/keep"}
	w.Create(set)
	w.Settle()
	start := time.Now()
	terminate(w)
	w.Gone()
	w.AwaitDeletion(set)
	w.Pass(2 * time.Second) // What was on its way comes to its end.
	bounded(w, 10*time.Second, traffic{calls: 5})
	w.InSteps(start, firstRefusalStep) // The pods went before the set did.
	faults.Edit(w, set, func(s *appv1alpha1.PodSet) { s.Finalizers = nil })
}

// namespaceStays deletes a namespace that a pod of somebody keeps from going. Pods go first, so that the object stays
// alive, wants its pods and can have none.
func namespaceStays(object client.Object, begun func(*faults.World)) trial {
	return func(w *faults.World) {
		object := object.DeepCopyObject().(client.Object)
		w.RunKubelet(&faults.Kubelet{})
		w.Supervise()
		keep := foreignPod("keep", nil)
		keep.Finalizers = []string{"example.com/keep"}
		w.Create(keep, object)
		begun(w)
		start := time.Now()
		terminate(w)
		// Refusals come after 0, 1, 3, 7 and 15 s. Each is a create, a status and an event at most.
		bounded(w, 20*time.Second, traffic{writes: 12, events: 6, calls: 30})
		w.Refused(start, firstRefusalStep)
		faults.Edit(w, keep, func(p *corev1.Pod) { p.Finalizers = nil })
		w.AwaitDeletion(object)
		w.Pass(2 * time.Second)
		bounded(w, 10*time.Second, traffic{calls: 5})
	}
}

// traffic is how many calls an operator may make: writes, events, and all of them together with reads and watches.
type traffic struct{ writes, events, calls int }

// bounded lets time pass and judges that nothing goes round in circles meanwhile.
func bounded(w *faults.World, d time.Duration, most traffic) {
	w.Helper()
	count := func() traffic {
		return traffic{len(w.Log.Calls(faults.Writes)), len(w.Log.Calls(faults.Events)), len(w.Log.Calls(faults.Anything))}
	}
	before := count()
	w.Pass(d)
	after := count()
	got := traffic{after.writes - before.writes, after.events - before.events, after.calls - before.calls}
	w.Logf("in %v: %+v of at most %+v", d, got, most)
	w.Check("P3", got.writes <= most.writes && got.events <= most.events && got.calls <= most.calls,
		"in %v the operator made %+v, at most %+v is enough:\n%v", d, got, most, w.Log.Calls(faults.Anything)[before.calls:])
}

// F16: replicas are flipped 20 times a second.
func TestFlipping(t *testing.T) {
	try(t, "F16", map[string]trial{
		"1, 10, 3, 10 at 20 Hz": func(w *faults.World) {
			w.RunKubelet(&faults.Kubelet{Ready: firstPods(20)})
			w.Supervise()
			w.Create(podSet("a", 1))
			w.Settle()
			ticker := time.NewTicker(50 * time.Millisecond)
			defer ticker.Stop()
			for range 15 {
				for _, replicas := range []int32{1, 10, 3, 10} {
					<-ticker.C
					scale(w, "a", replicas)
				}
			}
			w.Settle()
			w.Pass(2 * time.Second) // P6 is judged when the wish was the same for a while.
			scale(w, "a", 4)
			w.Rest()
		},
	})
}
