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
		"a set that cannot go yet": func(w *faults.World) {
			w.RunKubelet(&faults.Kubelet{})
			w.Supervise()
			set := podSet("a", 3)
			set.Finalizers = []string{"example.com/keep"}
			w.Create(set)
			w.Settle()
			w.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})
			w.Gone()
			w.Check("P3", w.Log.Count(func(write faults.Write) bool { return write.Code >= 400 }) <= 3, "the operator insists:\n%s", w.Log)
			writes := len(w.Log.All())
			w.Pass(10 * time.Second)
			w.Check("P3", len(w.Log.All())-writes <= 3, "the operator goes on writing:\n%s", w.Log)
			faults.Edit(w, set, func(s *appv1alpha1.PodSet) { s.Finalizers = nil })
			w.Check("P3", true, "")
		},
	})
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
