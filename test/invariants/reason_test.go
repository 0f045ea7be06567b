// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// run returns the pod of a run whose command has ended with an exit code, or has not ended if the code is nil.
func run(phase corev1.PodPhase, exitCode *int32) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a-pod", UID: "pod", OwnerReferences: []metav1.OwnerReference{{Kind: "At", Name: "a", UID: "at", Controller: ptr.To(true)}}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}, Status: corev1.PodStatus{Phase: phase},
	}
	if exitCode != nil {
		reason := "Completed"
		if *exitCode != 0 {
			reason = "Error"
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: *exitCode, Reason: reason, ContainerID: "containerd://1"},
		}}}
	}
	return pod
}

// TestDefects of the simulation covers the other reasons.
func TestA11(t *testing.T) {
	evicted, foreign, running := run(corev1.PodFailed, nil), run(corev1.PodRunning, nil), run(corev1.PodRunning, nil)
	evicted.Status.Reason = "Evicted"
	foreign.OwnerReferences = nil
	interrupted := run(corev1.PodRunning, ptr.To[int32](0))
	interrupted.DeletionTimestamp = &metav1.Time{}
	madeUp, notStarted := run(corev1.PodFailed, ptr.To[int32](255)), run(corev1.PodFailed, ptr.To[int32](128))
	madeUp.Status.ContainerStatuses[0].State.Terminated.Reason = "Unknown"
	notStarted.Status.ContainerStatuses[0].State.Terminated.Reason = "StartError"
	for reason, tc := range map[string]struct {
		allowed  client.Object
		rejected []client.Object
	}{
		cnatv1alpha1.ReasonStartError: {notStarted, []client.Object{running, run(corev1.PodFailed, ptr.To[int32](1)), madeUp}},
		cnatv1alpha1.ReasonPodFailed:  {interrupted, []client.Object{running, run(corev1.PodRunning, ptr.To[int32](0))}},
		cnatv1alpha1.ReasonEvicted:    {evicted, []client.Object{running, foreign, run(corev1.PodFailed, ptr.To[int32](1))}},
	} {
		status := cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, PodUID: "pod", Reason: reason}
		if violated("A11", map[int]bool{2: true}, tc.allowed, at("at", status)) {
			t.Errorf("%s violates A11", reason)
		}
		for i, pod := range tc.rejected {
			if !violated("A11", map[int]bool{2: true}, pod, at("at", status)) {
				t.Errorf("%s: pod %d does not violate A11", reason, i)
			}
		}
	}
}

func TestAtSettled(t *testing.T) {
	for i, tc := range []struct {
		reason  string
		change  func(*cnatv1alpha1.At)
		settled bool
	}{
		{cnatv1alpha1.ReasonSuspended, func(a *cnatv1alpha1.At) { a.Spec.Suspend = ptr.To(true) }, true},
		{cnatv1alpha1.ReasonSuspended, func(a *cnatv1alpha1.At) { a.Spec.Suspend = ptr.To(false) }, false},
		{cnatv1alpha1.ReasonInvalidSchedule, func(a *cnatv1alpha1.At) { a.Spec.Schedule = UnusableSchedule }, true},
		{cnatv1alpha1.ReasonInvalidSchedule, func(*cnatv1alpha1.At) {}, false},
		{cnatv1alpha1.ReasonInvalidCommand, func(a *cnatv1alpha1.At) { a.Spec.Command = UnusableCommand }, true},
		{cnatv1alpha1.ReasonInvalidCommand, func(a *cnatv1alpha1.At) { a.Spec.Command = `sh -c 'exit "$CODE"'` }, false},
		{cnatv1alpha1.ReasonInvalidTemplate, func(a *cnatv1alpha1.At) { a.Spec.Template = &corev1.PodTemplateSpec{} }, true},
		{cnatv1alpha1.ReasonInvalidTemplate, func(*cnatv1alpha1.At) {}, false},
		{cnatv1alpha1.ReasonFailedCreate, func(*cnatv1alpha1.At) {}, false},
	} {
		waits := at("at", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{
			{Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: tc.reason},
		}})
		waits.Spec.Schedule = "now"
		tc.change(waits)
		problem := NewState().AtSettled(waits, waits.CreationTimestamp.Time, true)
		if settled := problem == ""; settled != tc.settled {
			t.Errorf("case %d, %s: %q", i, tc.reason, problem)
		}
	}
}

func TestAtSettled_deadline(t *testing.T) {
	ended := at("at", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Reason: cnatv1alpha1.ReasonDeadlineExceeded})
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "at-pod", UID: "pod"}}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "At", Name: "at", UID: ended.UID, Controller: ptr.To(true)}}
		change(pod)
		return pod
	}
	for title, tc := range map[string]struct {
		kind    watch.EventType
		pod     *corev1.Pod
		settled bool
	}{
		"it waits":         {watch.Added, pod(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }), false},
		"it runs":          {watch.Added, pod(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }), false},
		"it has failed":    {watch.Added, pod(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }), true},
		"it has succeeded": {watch.Added, pod(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }), true},
		"it is terminating": {watch.Added, pod(func(pod *corev1.Pod) {
			pod.Status.Phase, pod.DeletionTimestamp = corev1.PodRunning, &metav1.Time{}
		}), true},
		"it is gone": {watch.Deleted, pod(func(*corev1.Pod) {}), true},
	} {
		s := NewState()
		s.Apply(Event{Kind: tc.kind, Object: tc.pod})
		if problem := s.AtSettled(ended, time.Time{}, true); (problem == "") != tc.settled {
			t.Errorf("%s: %q", title, problem)
		}
	}
}
