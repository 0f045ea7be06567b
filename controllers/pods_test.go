// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/podset"
	"github.com/redhat/podset-operator/internal/testutil"
)

// fullPod is a pod of a PodSet with a value in every field that a kubelet sets.
func fullPod() *corev1.Pod {
	set := testutil.MakePodSet("a").Obj()
	pod := testutil.MakePod("a-pod1").OwnedBy(set).Slot(1).Hash("x").Annotation("example.com/note", "long").
		Annotation(corev1.PodDeletionCost, "5").Running().Restarts(2).Condition(corev1.PodScheduled, corev1.ConditionTrue, "").
		Condition(corev1.PodInitialized, corev1.ConditionTrue, "").Obj()
	pod.ResourceVersion = "7"
	pod.Labels = map[string]string{"app": "a", appv1alpha1.LabelPodSet: "a", appv1alpha1.LabelSlot: "1", appv1alpha1.LabelTemplateHash: "x"}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "busybox", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}
	pod.Status.PodIP = "10.0.0.1"
	pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
	pod.Status.ContainerStatuses[0].ContainerID = "containerd://1"
	pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	return pod
}

func TestTrim_podSets(t *testing.T) {
	full := fullPod()
	untouched := full.DeepCopy()
	set := testutil.MakePodSet("a").Replicas(2).MinReadySeconds(10).ReplacementPolicy(appv1alpha1.TerminationComplete).Obj()
	observe := func(pod *corev1.Pod) podset.Observation {
		return podset.Observation{Set: set, Pods: []*corev1.Pod{pod}, Now: time.Now().Truncate(time.Second)}
	}
	unschedulable := testutil.MakePod("a-pod1").OwnedBy(set).Slot(1).Condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable).Obj()
	stripped := fullPod() // by an admission webhook
	stripped.Name, stripped.Annotations = "renamed", nil
	held := testutil.MakePod("a-pod1").OwnedBy(set).Slot(1).Running().TerminatingSince(time.Now().Truncate(time.Second), "example.com/hold").Obj()
	looping := testutil.MakePod("a-pod1").OwnedBy(set).Slot(1).CrashLooping(time.Now().Truncate(time.Second).Add(-30 * time.Second)).Obj()
	for _, pod := range []*corev1.Pod{full, unschedulable, stripped, looping, held} {
		trimmed := ownedPods.Trim(pod)
		if diff := cmp.Diff(podset.MakeReport(observe(pod), podset.Plan{}, podset.Outcome{}), podset.MakeReport(observe(trimmed), podset.Plan{}, podset.Outcome{})); diff != "" {
			t.Errorf("the status of a PodSet depends on what was trimmed: %s", diff)
		}
		if diff := cmp.Diff(podset.MakePlan(observe(pod)), podset.MakePlan(observe(trimmed))); diff != "" {
			t.Errorf("the plan of a PodSet depends on what was trimmed: %s", diff)
		}
	}
	trimmed := ownedPods.Trim(full)
	if trimmed.Labels != nil || trimmed.ManagedFields != nil || trimmed.Spec.Containers != nil || trimmed.Annotations["example.com/note"] != "" {
		t.Errorf("kept: %+v", trimmed)
	}
	if diff := cmp.Diff(untouched, full); diff != "" {
		t.Errorf("the pod itself was changed: %s", diff)
	}
}

// The surplus pod is the one whose sidecar has restarted more often.
func TestTrim_deletionOrder(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(1).Obj()
	observe := func(trim func(*corev1.Pod) *corev1.Pod) podset.Observation {
		stable := testutil.MakePod("a-1").OwnedBy(set).Running().Init("proxy", corev1.ContainerRestartPolicyAlways, 1).Init("init", "", 9).Obj()
		restarted := testutil.MakePod("a-2").OwnedBy(set).Running().Init("proxy", corev1.ContainerRestartPolicyAlways, 2).Created(testutil.Created.Add(-time.Hour)).Obj()
		return podset.Observation{Set: set, Pods: []*corev1.Pod{trim(stable), trim(restarted)}, Now: testutil.Created.Add(time.Hour)}
	}
	for title, trim := range map[string]func(*corev1.Pod) *corev1.Pod{"whole": func(pod *corev1.Pod) *corev1.Pod { return pod }, "trimmed": ownedPods.Trim} {
		if plan := podset.MakePlan(observe(trim)); len(plan.Delete) != 1 || plan.Delete[0].Name != "a-2" {
			t.Errorf("%s pods: %+v", title, plan.Delete)
		}
	}
}

// Most pods in a cluster are running, so the operator's memory depends on what it stores for a running pod.
func TestTrim_running(t *testing.T) {
	pod := fullPod()
	pod.Status.ContainerStatuses[0].RestartCount = 0
	want := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: pod.Status.Conditions[0].LastTransitionTime},
	}}
	if diff := cmp.Diff(want, ownedPods.Trim(pod).Status); diff != "" {
		t.Errorf("the status of a pod that runs and is ready (-want +got): %s", diff)
	}
}

// TestTrim_ats compares the decisions for a pod with those for the trimmed pod, in all combinations of states.
func TestTrim_ats(t *testing.T) {
	terminated := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, Message: "the end of the log", FinishedAt: metav1.NewTime(testutil.AtDue), ContainerID: "containerd://1",
		}}
	}
	states := []corev1.ContainerState{
		{}, {Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}},
		{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(testutil.AtDue)}},
		terminated(0, "Completed"), terminated(3, "Error"), terminated(137, "OOMKilled"), terminated(137, "ContainerStatusUnknown"),
	}
	conditions := []corev1.PodCondition{
		{Type: corev1.PodInitialized, Status: corev1.ConditionFalse, Reason: "ContainersNotInitialized", Message: "containers with incomplete status: [sidecar]"},
		{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse},
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", Message: "for a pod of a higher priority"},
	}
	check := func(what string, limit int32, pod *corev1.Pod) {
		t.Helper()
		report := func(pod *corev1.Pod) at.Report {
			owner := testutil.MakeAt("a").BackoffLimit(limit).Recorded(1, "a-pod", "a-pod-uid").Obj()
			v := new(at.Memory).View(at.Seen{At: owner, Pods: []*corev1.Pod{pod}}, at.Answers{}, testutil.AtDue.Add(time.Minute), at.Defaults{})
			return at.MakeReport(&v, at.Next(&v))
		}
		if diff := cmp.Diff(report(pod), report(ownedPods.Trim(pod))); diff != "" {
			t.Errorf("%s: the report depends on what was trimmed: %s", what, diff)
		}
	}
	patient := testutil.MakeAtPod(testutil.MakeAt("a").Obj(), "a-pod").Phase(corev1.PodRunning).OnNode().Exited("busybox", 0, "Completed", "", testutil.AtDue).Obj()
	patient.Spec.TerminationGracePeriodSeconds = ptr.To[int64](90)
	check("a long grace period", 0, patient)
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown} {
		for _, reason := range []string{"", "Evicted", "NodeLost", "DeadlineExceeded"} {
			for _, main := range states {
				for _, initial := range states {
					pod := testutil.MakeAtPod(testutil.MakeAt("a").Obj(), "a-pod").Phase(phase).Because(reason, "why").Obj()
					pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: main}}
					pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "sidecar", State: initial}}
					what := fmt.Sprintf("%s %q, command %+v, init container %+v", phase, reason, main, initial)
					check(what, 0, pod)
					check(what+", with a retry", 1, pod)
					pod.Status.Conditions = conditions
					check(what+", disrupted before it started", 0, pod)
					pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(testutil.AtDue)), ptr.To[int64](30)
					check(what+", terminating", 1, pod)
					pod.Spec = corev1.PodSpec{
						RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: ptr.To[int64](30), NodeName: "node",
						Containers:     []corev1.Container{{Name: "busybox", Image: "busybox:1"}, {Name: "proxy", Image: "proxy:1"}},
						InitContainers: []corev1.Container{{Name: "sidecar", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}},
					}
					check(what+", with a sidecar", 1, pod)
					pod.Status.ContainerStatuses[0].ContainerID = "containerd://1"
					pod.Spec.InitContainers, pod.DeletionTimestamp = nil, nil
					check(what+", disrupted, with a container that was created", 1, pod)
					pod.Status.Conditions = conditions[:2]
					check(what+", with a container that was created", 1, pod)
					pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
					check(what+", with containers that restart", 0, pod)
				}
			}
		}
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
		"it fits on no node": {func(pod *corev1.Pod) {
			pod.Status.Conditions[1].Status, pod.Status.Conditions[1].Reason = corev1.ConditionFalse, corev1.PodReasonUnschedulable
		}, true},
		"it is bound": {func(pod *corev1.Pod) { pod.Spec.NodeName = "another" }, true},
		"a restart":   {func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].RestartCount++ }, true},
	} {
		after := fullPod()
		before := ownedPods.Trim(after.DeepCopy())
		tc.edit(after)
		if got := caches.Changed(podSetKind).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: ownedPods.Trim(after)}); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
	foreign := testutil.MakePod("x").Obj()
	if caches.Changed(podSetKind).Update(event.UpdateEvent{ObjectOld: foreign, ObjectNew: testutil.MakePod("x").Running().Obj()}) {
		t.Error("an update of a foreign pod was let through")
	}
}
