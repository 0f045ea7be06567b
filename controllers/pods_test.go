// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/redhat/podset-operator/controllers/internal/podcache"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/podset"
	"github.com/redhat/podset-operator/internal/testutil"
)

// fullPod is a pod of a PodSet with a value in everything that a kubelet fills in.
func fullPod() *corev1.Pod {
	set := testutil.MakePodSet("a").Obj()
	pod := testutil.MakePod("a-pod1").OwnedBy(set).Slot(1).Hash("x").Annotation("example.com/note", "long").
		Annotation(corev1.PodDeletionCost, "5").Running().Restarts(2).Condition(corev1.PodScheduled, corev1.ConditionTrue, "").
		Condition(corev1.PodInitialized, corev1.ConditionTrue, "").Obj()
	pod.ResourceVersion = "7"
	pod.Labels = map[string]string{"app": "a"}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "busybox", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}
	pod.Status.PodIP = "10.0.0.1"
	pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now())
	pod.Status.ContainerStatuses[0].ContainerID = "containerd://1"
	pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	return pod
}

func TestTrimKeepsTheFieldsThatTheControllersRead(t *testing.T) {
	full := fullPod()
	untouched := full.DeepCopy()
	set := testutil.MakePodSet("a").Replicas(2).Obj()
	observe := func(pod *corev1.Pod) podset.Observation {
		return podset.Observation{Set: set, Pods: []*corev1.Pod{pod}, Now: time.Now().Truncate(time.Second)}
	}
	trimmed := ourPods.Trim(full)
	if diff := cmp.Diff(podset.Status(observe(full), podset.Outcome{}), podset.Status(observe(trimmed), podset.Outcome{})); diff != "" {
		t.Errorf("the status of a PodSet depends on what was trimmed: %s", diff)
	}
	if diff := cmp.Diff(podset.MakePlan(observe(full)), podset.MakePlan(observe(trimmed))); diff != "" {
		t.Errorf("the plan of a PodSet depends on what was trimmed: %s", diff)
	}
	if trimmed.ManagedFields != nil || trimmed.Spec.Containers != nil || trimmed.Annotations["example.com/note"] != "" {
		t.Errorf("kept: %+v", trimmed)
	}
	if diff := cmp.Diff(untouched, full); diff != "" {
		t.Errorf("the pod itself was changed: %s", diff)
	}
}

func TestTrimKeepsHowACommandEnded(t *testing.T) {
	owner := testutil.MakeAt("a").Obj()
	pod := testutil.MakeAtPod(owner, "a-pod").Phase(corev1.PodFailed).
		Exited("busybox", 3, "Error", "no luck", testutil.AtDue).Obj()
	observe := func(pod *corev1.Pod) at.Observation {
		return at.Observation{At: owner, Pods: []*corev1.Pod{pod}, Now: testutil.AtDue.Add(time.Minute)}
	}
	full, trimmed := at.MakeReport(observe(pod), at.Outcome{}), at.MakeReport(observe(ourPods.Trim(pod)), at.Outcome{})
	if diff := cmp.Diff(full, trimmed); diff != "" {
		t.Errorf("the report of an At depends on what was trimmed: %s", diff)
	}
	if full.Status.Output != "no luck" {
		t.Errorf("the report: %+v", full.Status)
	}
}

func TestPodChanged(t *testing.T) {
	for title, tc := range map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"a heartbeat":        {func(pod *corev1.Pod) { pod.ResourceVersion = "8" }, false},
		"a label":            {func(pod *corev1.Pod) { pod.Labels["a"] = "b" }, false},
		"an address":         {func(pod *corev1.Pod) { pod.Status.PodIP = "10.0.0.2" }, false},
		"a foreign note":     {func(pod *corev1.Pod) { pod.Annotations["example.com/note"] = "new" }, false},
		"no longer Ready":    {func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		"a phase":            {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }, true},
		"a deletion":         {func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }, true},
		"another owner":      {func(pod *corev1.Pod) { pod.OwnerReferences = nil }, true},
		"a price of its own": {func(pod *corev1.Pod) { pod.Annotations[corev1.PodDeletionCost] = "9" }, true},
		"a restart":          {func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].RestartCount++ }, true},
	} {
		after := fullPod()
		before := ourPods.Trim(after.DeepCopy())
		tc.edit(after)
		if got := podcache.Changed(podSetKind).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: ourPods.Trim(after)}); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
	foreign := testutil.MakePod("x").Obj()
	if podcache.Changed(podSetKind).Update(event.UpdateEvent{ObjectOld: foreign, ObjectNew: testutil.MakePod("x").Running().Obj()}) {
		t.Error("an update of a foreign pod was let through")
	}
}
