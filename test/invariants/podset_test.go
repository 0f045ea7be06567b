// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

var readyStatus = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}

func podOfSet(name string, status corev1.PodStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{Kind: "PodSet", Name: "set", UID: "set", Controller: ptr.To(true)}}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: DefaultImage}}}, Status: status,
	}
}

func podSet(replicas int32, generation int64, pods ...string) *appv1alpha1.PodSet {
	return &appv1alpha1.PodSet{
		ObjectMeta: metav1.ObjectMeta{Name: "set", UID: "set", Generation: generation},
		Spec:       appv1alpha1.PodSetSpec{Replicas: ptr.To(replicas)},
		Status:     appv1alpha1.PodSetStatus{PodNames: pods, ObservedGeneration: generation},
	}
}

// The operator deletes one of two pods. The other one is not ready.
func TestP6(t *testing.T) {
	deleted, failed := podOfSet("a", readyStatus), podOfSet("a", corev1.PodStatus{Phase: corev1.PodFailed})
	deleted.DeletionTimestamp = ptr.To(metav1.Unix(5, 0))
	for title, tc := range map[string]struct {
		change *corev1.Pod // of the pod that is ready
		failed types.UID   // the pod whose deletion fails
		want   bool
	}{
		"it is deleted":                              {deleted, "", true},
		"it fails, and is deleted later":             {failed, "", false},
		"it is deleted, that of the other pod fails": {deleted, "b", false},
	} {
		writes := []Write{
			{Call: &Call{Verb: "delete", Resource: "pods", Precondition: "a"}, Code: 200, UID: "a"},
			{Call: &Call{Verb: "delete", Resource: "pods", Precondition: tc.failed}, Code: 500},
		}
		events := changes(podSet(2, 1, "a", "b"), podOfSet("a", readyStatus), podOfSet("b", corev1.PodStatus{}), podSet(1, 2), tc.change, podSet(1, 2, "b"))
		if got := violates("P6", writes, events); got != tc.want {
			t.Errorf("%s: P6 is violated: %t", title, got)
		}
	}
}

// A PodSet shrinks while a rolling update replaces its pods, or while nothing does because the strategy is OnDelete.
func TestP6_template(t *testing.T) {
	ready := podOfSet("a", readyStatus)
	deleted := ready.DeepCopy()
	deleted.DeletionTimestamp = ptr.To(metav1.Unix(5, 0))
	for strategy, want := range map[appv1alpha1.UpdateStrategyType]bool{appv1alpha1.RollingUpdate: false, appv1alpha1.OnDelete: true} {
		edited := func(replicas int32, generation int64, pods ...string) *appv1alpha1.PodSet {
			set := podSet(replicas, generation, pods...)
			set.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "v2"}}}}
			set.Spec.UpdateStrategy.Type = strategy
			return set
		}
		writes := []Write{{Call: &Call{Verb: "delete", Resource: "pods", Precondition: "a"}, Code: 200, UID: "a"}}
		events := changes(edited(2, 1, "a", "b"), ready, podOfSet("b", corev1.PodStatus{}), edited(1, 2), deleted, edited(1, 2, "b"))
		if got := violates("P6", writes, events); got != want {
			t.Errorf("%s: P6 is violated: %t", strategy, got)
		}
	}
}

// A user takes a pod from its PodSet at 3 s, and the operator deletes it at 4 s. It may do so only if its cache may still show the owner.
func TestP4(t *testing.T) {
	taken := podOfSet("a", corev1.PodStatus{})
	taken.OwnerReferences = nil
	for title, tc := range map[string]struct {
		stale, unseen bool
		want          bool
	}{
		"the cache shows it":                           {false, false, true},
		"the cache is behind":                          {true, false, false},
		"the cache is behind and never showed the pod": {true, true, true},
	} {
		writes := []Write{{
			Call: &Call{Verb: "delete", Resource: "pods", Precondition: "a"}, Code: 200, UID: "a", Sent: time.Unix(4, 0),
			StalePods: tc.stale, Unseen: tc.unseen,
		}}
		if got := violates("P4", writes, changes(podSet(1, 1), podOfSet("a", corev1.PodStatus{}), taken)); got != tc.want {
			t.Errorf("%s: P4 is violated: %t", title, got)
		}
	}
}
