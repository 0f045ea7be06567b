// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

func newAt(namespace, name, schedule, command string) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cnatv1alpha1.AtSpec{Schedule: schedule, Command: command},
	}
}

// expectPhase waits for a phase of an At and checks its observedGeneration.
func expectPhase(t *testing.T, at *cnatv1alpha1.At, phase cnatv1alpha1.Phase) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		g.Expect(refresh(g, ctx, at).Status.Phase).To(Equal(phase))
		g.Expect(at.Status.ObservedGeneration).To(Equal(at.Generation))
	}).WithTimeout(patience).Should(Succeed())
}

func scheduledReason(at *cnatv1alpha1.At) string {
	if c := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled); c != nil {
		return c.Reason
	}
	return ""
}

// podOf reads the pod that an At has created.
func podOf(t *testing.T, at *cnatv1alpha1.At, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: name}, pod)).To(Succeed())
	}).WithTimeout(patience).Should(Succeed())
	return pod
}

// exit stands in for the kubelet of a pod whose command has ended.
func exit(t *testing.T, pod *corev1.Pod, code int32, message string) {
	t.Helper()
	changeStatus(t, pod, func(pod *corev1.Pod) {
		reason := "Completed"
		pod.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			pod.Status.Phase, reason = corev1.PodFailed, "Error"
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, Image: "busybox", ImageID: "busybox",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: reason, Message: message, FinishedAt: metav1.Now(), ContainerID: "containerd://1",
			}},
		}}
	})
}

func TestAt(t *testing.T) {
	at := newAt(newNamespace(t), "yay", "2020-01-30T10:02:00Z", "echo YAY")
	create(t, at)
	expectPhase(t, at, cnatv1alpha1.PhaseRunning)
	pod := podOf(t, at, "yay-pod")
	exit(t, pod, 0, "")
	expectPhase(t, at, cnatv1alpha1.PhaseDone)
	if at.Status.Result != cnatv1alpha1.ResultSucceeded || ptr.Deref(at.Status.ExitCode, -1) != 0 || at.Status.PodUID != pod.UID ||
		!meta.IsStatusConditionTrue(at.Status.Conditions, cnatv1alpha1.ConditionComplete) {
		t.Errorf("status: %+v", at.Status)
	}
	if err := admin.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Consistently(t.Context(), func(g Gomega, ctx context.Context) {
		g.Expect(podsIn(ctx, g, at.Namespace)).To(BeEmpty())
	}).WithTimeout(quiet).Should(Succeed())
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		g.Expect(phaseEvents(ctx, g, at)).To(Equal([]string{"PENDING", "RUNNING", "DONE"}))
	}).WithTimeout(patience).Should(Succeed())
}

// phaseEvents returns the notes of the events about the phases of an At, in the order in which kubectl shows them. The
// name of an event contains its time.
func phaseEvents(ctx context.Context, g Gomega, at *cnatv1alpha1.At) []string {
	var notes []string
	for _, e := range eventsOf(ctx, g, at) {
		g.Expect(e.ReportingController).To(Equal("at-controller"))
		if e.Reason == "PhaseChange" {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// TestAdmission_phase is about the rules of the CRD, which allow every request that changes the phase.
func TestAdmission_phase(t *testing.T) {
	at := newAt(newNamespace(t), "started", "now", "true")
	create(t, at)
	expectPhase(t, at, cnatv1alpha1.PhaseRunning)
	both := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"command":"false"},"status":{"phase":"PENDING"}}`))
	err := admin.Patch(t.Context(), at.DeepCopy(), both)
	if err == nil || !strings.Contains(err.Error(), "spec.command cannot change once the At has started") {
		t.Errorf("an edit of the spec: got %v", err)
	}
	changed := at.DeepCopy()
	if err := admin.Status().Patch(t.Context(), changed, both); err != nil || changed.Spec.Command != "true" {
		t.Errorf("an edit of the status: command %q (%v)", changed.Spec.Command, err)
	}
}

func TestAt_entrypoint(t *testing.T) {
	at := newAt(newNamespace(t), "bare", "now", "")
	at.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app:v1", Args: []string{"migrate"}}}}}
	create(t, at)
	pod := podOf(t, at, "bare-pod")
	if c := pod.Spec.Containers[0]; len(c.Command) != 0 || len(c.Args) != 1 || pod.Labels["cnat.d2iq.com/at"] != "bare" {
		t.Errorf("labels %v, container %+v", pod.Labels, c)
	}
	expectPhase(t, at, cnatv1alpha1.PhaseRunning)
	base := at.DeepCopy()
	at.Spec.Template.Spec.Containers[0].Args, at.Spec.Command = nil, "true"
	if err := admin.Patch(t.Context(), at, client.MergeFrom(base)); !apierrors.IsInvalid(err) {
		t.Errorf("giving a running At a command: %v", err)
	}
	exit(t, pod, 0, "")
	expectPhase(t, at, cnatv1alpha1.PhaseDone)
}

func TestAt_failure(t *testing.T) {
	at := newAt(newNamespace(t), "no", "now", "sh -c 'echo no; exit 3'")
	failures := atRuns.WithLabelValues(string(cnatv1alpha1.ResultFailed), cnatv1alpha1.ReasonNonZeroExitCode)
	before := counted(t, failures)
	create(t, at)
	exit(t, podOf(t, at, "no-pod"), 3, "no\n")
	expectPhase(t, at, cnatv1alpha1.PhaseDone)
	if at.Status.Result != cnatv1alpha1.ResultFailed || ptr.Deref(at.Status.ExitCode, 0) != 3 || at.Status.Output != "no\n" ||
		at.Status.Reason != cnatv1alpha1.ReasonNonZeroExitCode {
		t.Errorf("status: %+v", at.Status)
	}
	NewWithT(t).Eventually(func() float64 { return counted(t, failures) - before }).WithTimeout(patience).Should(Equal(1.0))
}

func TestAt_foreignPod(t *testing.T) {
	namespace := newNamespace(t)
	foreign := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine-pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}
	create(t, foreign)
	at := newAt(namespace, "mine", "now", "true")
	create(t, at)
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		c := meta.FindStatusCondition(refresh(g, ctx, at).Status.Conditions, cnatv1alpha1.ConditionReady)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Reason).To(Equal(cnatv1alpha1.ReasonPodNameConflict))
		g.Expect(c.Message).To(ContainSubstring("delete the pod, or choose another name"))
	}).WithTimeout(patience).Should(Succeed())
	before := foreign.ResourceVersion
	if refresh(NewWithT(t), t.Context(), foreign); foreign.ResourceVersion != before {
		t.Error("the foreign pod was touched")
	}
	if err := admin.Delete(t.Context(), foreign, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	expectPhase(t, at, cnatv1alpha1.PhaseRunning)
}

// A pod that a user creates in advance under the name, as if it were that of the At, does not pass for the run, unless
// it has no gate.
func TestAt_plantedPod(t *testing.T) {
	for name, gated := range map[string]bool{"gated": true, "running": false} {
		at := newAt(newNamespace(t), name, "now", "pay")
		at.Spec.Suspend = ptr.To(true)
		create(t, at)
		planted := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: at.Namespace, Name: name + "-pod", Annotations: map[string]string{cnatv1alpha1.AnnotationGeneration: "2"},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(at, atKind)},
			},
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "busybox", Image: "busybox", Command: []string{"true"}}}},
		}
		if gated {
			planted.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: cnatv1alpha1.StartGate}}
		}
		create(t, planted)
		refresh(NewWithT(t), t.Context(), at)
		base := at.DeepCopy()
		at.Spec.Suspend = ptr.To(false)
		if err := admin.Patch(t.Context(), at, client.MergeFrom(base)); err != nil {
			t.Fatal(err)
		}
		if !gated {
			expectPhase(t, at, cnatv1alpha1.PhaseDone)
			if at.Status.Reason != cnatv1alpha1.ReasonPodModified || at.Status.PodUID != planted.UID {
				t.Errorf("a pod that runs: %+v", at.Status)
			}
			continue
		}
		expectPhase(t, at, cnatv1alpha1.PhaseRunning)
		if pod := podOf(t, at, name+"-pod"); pod.UID == planted.UID || pod.Spec.Containers[0].Command[0] != "pay" {
			t.Errorf("the pod of another client runs: %v", pod.Spec.Containers[0].Command)
		}
	}
}

// The gate is removed after the UID of the pod is recorded, and a cancel keeps the pod.
func TestAt_cancel(t *testing.T) {
	at := newAt(newNamespace(t), "stop", "now", "sleep 600")
	create(t, at)
	expectPhase(t, at, cnatv1alpha1.PhaseRunning)
	pod := podOf(t, at, "stop-pod")
	g := NewWithT(t)
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		g.Expect(refresh(g, ctx, pod).Spec.SchedulingGates).To(BeEmpty())
	}).WithTimeout(patience).Should(Succeed())
	if at.Status.PodUID != pod.UID || at.Status.Attempts != 1 {
		t.Errorf("status: %+v", at.Status)
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	if err := admin.SubResource("binding").Create(t.Context(), pod, binding); err != nil {
		t.Fatal(err)
	}
	changeStatus(t, refresh(g, t.Context(), pod), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning })
	base := refresh(g, t.Context(), at).DeepCopy()
	at.Spec.Cancel = ptr.To(true)
	if err := admin.Patch(t.Context(), at, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		g.Expect(refresh(g, ctx, pod).Spec.ActiveDeadlineSeconds).To(Equal(ptr.To[int64](1)))
	}).WithTimeout(patience).Should(Succeed())
	changeStatus(t, pod, func(pod *corev1.Pod) { pod.Status.Reason = "DeadlineExceeded" })
	exit(t, refresh(g, t.Context(), pod), 7, "rolled back")
	expectPhase(t, at, cnatv1alpha1.PhaseDone)
	if refresh(g, t.Context(), pod); at.Status.Reason != cnatv1alpha1.ReasonCanceled || ptr.Deref(at.Status.ExitCode, 0) != 7 || pod.DeletionTimestamp != nil {
		t.Errorf("status: %+v", at.Status)
	}
}

// gatedPod creates a gated pod of an At that does not exist.
func gatedPod(t *testing.T, edit func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	at := newAt(newNamespace(t), "a", "now", "true")
	at.UID = "some-uid"
	pod := testutil.MakeAtPod(at, "a-pod").UID("").Gated(1).Obj()
	pod.Spec.RestartPolicy, pod.Spec.Containers = corev1.RestartPolicyNever, []corev1.Container{{Name: "main", Image: "busybox"}}
	edit(pod)
	create(t, pod)
	return pod
}

// The API server marks a pod before it removes it. A pod that is marked keeps its gate, so that its attempt is known
// not to have begun.
func TestOpenPatch_deleted(t *testing.T) {
	pod := gatedPod(t, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/keep"} })
	t.Cleanup(func() {
		if err := admin.Patch(context.Background(), pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Error(err)
		}
	})
	if err := admin.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	r := &AtReconciler{Client: admin}
	if answer := r.patch(t.Context(), pod, openPatch(pod)); answer.Rejected == nil || len(refresh(NewWithT(t), t.Context(), pod).Spec.SchedulingGates) != 1 {
		t.Errorf("%+v, gates %v", answer, pod.Spec.SchedulingGates)
	}
}

// The gate of another controller stays, also if a user has removed that of the operator before the cache shows it.
func TestOpenPatch_otherGate(t *testing.T) {
	const other = "example.com/quota"
	for title, edit := range map[string]string{
		"both gates are left":           "",
		"the gate of the other is left": `{"spec":{"schedulingGates":[{"$patch":"delete","name":"` + cnatv1alpha1.StartGate + `"}]}}`,
	} {
		known := gatedPod(t, func(pod *corev1.Pod) {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: other})
		})
		pod := known.DeepCopy()
		if err := admin.Patch(t.Context(), pod, client.RawPatch(types.StrategicMergePatchType, []byte(cmp.Or(edit, "{}")))); err != nil {
			t.Fatal(err)
		}
		answer := (&AtReconciler{Client: admin}).patch(t.Context(), known, openPatch(known))
		refresh(NewWithT(t), t.Context(), pod)
		if gates := pod.Spec.SchedulingGates; (answer.Rejected != nil) != (edit != "") || len(gates) != 1 || gates[0].Name != other {
			t.Errorf("%s: %+v, gates %v", title, answer, gates)
		}
	}
}

// A user can take a pod from its At before the cache shows that.
func TestPatch_ownerRemoved(t *testing.T) {
	pod := gatedPod(t, func(*corev1.Pod) {})
	known := pod.DeepCopy()
	if err := admin.Patch(t.Context(), pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))); err != nil {
		t.Fatal(err)
	}
	r := &AtReconciler{Client: admin}
	for name, change := range map[string]podPatch{"open": openPatch(known), "stop": stopPatch(known)} {
		if answer := r.patch(t.Context(), known, change); answer.Rejected == nil {
			t.Errorf("%s was accepted: %+v", name, answer)
		}
	}
	if now := refresh(NewWithT(t), t.Context(), pod); now.ResourceVersion != pod.ResourceVersion {
		t.Errorf("the pod was changed: %+v", now.Spec)
	}
	if answer := r.patch(t.Context(), pod, stopPatch(pod)); answer.Pod == nil { // as admission can leave a pod that it lets start
		t.Errorf("the stop of a pod that never had an owner: %+v", answer)
	}
}

func TestAt_ttl(t *testing.T) {
	at := newAt(newNamespace(t), "brief", "now", "true")
	at.Spec.TTLSecondsAfterFinished = ptr.To[int32](1)
	create(t, at)
	exit(t, podOf(t, at, "brief-pod"), 0, "")
	NewWithT(t).Eventually(t.Context(), func(ctx context.Context) bool {
		return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(at), at))
	}).WithTimeout(patience).Should(BeTrue())
}

func TestAtReconcile_slowWrites(t *testing.T) {
	at := testutil.MakeAt("a").Obj()
	now := clocktesting.NewFakeClock(testutil.AtDue.Add(-time.Minute))
	store := newStore(t, slowStatus(now, 20*time.Second), at)
	r := &AtReconciler{Client: store, APIReader: store, Recorder: events.NewFakeRecorder(8), Clock: now}

	result, err := r.Reconcile(t.Context(), requestFor(at))
	if err != nil || result.RequeueAfter != 38*time.Second || ptr.Deref(result.Priority, 0) != duePriority {
		t.Errorf("requeues after %s (%v), but its pod is created in 38s", result.RequeueAfter, err)
	}
}
