// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

const (
	patience = 30 * time.Second
	// quiet is how long a test waits to check that nothing happens.
	quiet = 2 * time.Second
)

func podSet(namespace, name string, replicas int32) *appv1alpha1.PodSet {
	return &appv1alpha1.PodSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appv1alpha1.PodSetSpec{Replicas: &replicas},
	}
}

// setPhase stands in for the kubelet.
func setPhase(t *testing.T, pod *corev1.Pod, phase corev1.PodPhase) {
	t.Helper()
	changeStatus(t, pod, func(pod *corev1.Pod) {
		pod.Status.Phase = phase
		ready := corev1.ConditionFalse
		if phase == corev1.PodRunning {
			ready = corev1.ConditionTrue
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	})
}

// expectPods waits until a PodSet has n living pods and reports them, and returns them.
func expectPods(t *testing.T, set *appv1alpha1.PodSet, n int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		pods = slices.DeleteFunc(podsIn(ctx, g, set.Namespace), func(pod corev1.Pod) bool {
			return !metav1.IsControlledBy(&pod, set) || pod.DeletionTimestamp != nil
		})
		status := refresh(g, ctx, set).Status
		g.Expect(pods).To(HaveLen(n))
		g.Expect(status.PodNames).To(Equal(podNames(pods)))
		g.Expect(status.Replicas).To(Equal(int32(n)))
		g.Expect(status.ObservedGeneration).To(Equal(set.Generation))
	}).WithTimeout(patience).Should(Succeed())
	return pods
}

func podNames(pods []corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for i := range pods {
		names = append(names, pods[i].Name)
	}
	slices.Sort(names)
	return names
}

func TestPodSet(t *testing.T) {
	namespace := newNamespace(t)
	set := podSet(namespace, "shop", 3)
	create(t, set)
	first := expectPods(t, set, 3)
	for i := range first {
		owner := metav1.GetControllerOf(&first[i])
		if owner.UID != set.UID || !ptr.Deref(owner.BlockOwnerDeletion, false) {
			t.Errorf("owner of %s: %+v", first[i].Name, owner)
		}
		setPhase(t, &first[i], corev1.PodRunning)
	}
	g := NewWithT(t)
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		status := refresh(g, ctx, set).Status
		g.Expect(status.ReadyReplicas).To(Equal(int32(3)))
		g.Expect(status.AvailableReplicas).To(Equal(int32(3)))
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionAvailable)).To(BeTrue())
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionReady)).To(BeTrue())
	}).WithTimeout(patience).Should(Succeed())

	change(t, set, func(set *appv1alpha1.PodSet) { set.Spec.Replicas = ptr.To[int32](5) })
	expectPods(t, set, 5)

	if err := admin.Delete(t.Context(), &first[0]); err != nil {
		t.Fatal(err)
	}
	var slots []string
	for _, pod := range expectPods(t, set, 5) {
		slots = append(slots, pod.Labels[appv1alpha1.LabelSlot])
	}
	slices.Sort(slots)
	if want := []string{"0", "1", "2", "3", "4"}; !slices.Equal(slots, want) {
		t.Errorf("the labels of the slots are %v, want %v: a replacement fills the slot of the pod that is gone", slots, want)
	}

	// The two remaining Ready pods are deleted last.
	change(t, set, func(set *appv1alpha1.PodSet) { set.Spec.Replicas = ptr.To[int32](2) })
	kept := expectPods(t, set, 2)
	if want := podNames(first[1:]); !slices.Equal(podNames(kept), want) {
		t.Errorf("kept %v, wanted the Ready pods %v", podNames(kept), want)
	}
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		events := eventsOf(ctx, g, set)
		g.Expect(events).To(ContainElements(HaveField("Reason", "SuccessfulCreate"), HaveField("Reason", "SuccessfulDelete")))
		g.Expect(events).To(HaveEach(HaveField("ReportingController", "podset-controller")))
	}).WithTimeout(patience).Should(Succeed())
}

func eventsOf(ctx context.Context, g Gomega, obj client.Object) []eventsv1.Event {
	list := &eventsv1.EventList{}
	g.Expect(admin.List(ctx, list, client.InNamespace(obj.GetNamespace()))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != obj.GetUID() })
}

// Three pods are deleted one after the other, faster than the status is written.
func TestPodSet_events(t *testing.T) {
	set := podSet(newNamespace(t), "web", 3)
	create(t, set)
	g := NewWithT(t)
	for i, pod := range expectPods(t, set, 3) {
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
		if err := admin.SubResource("binding").Create(t.Context(), &pod, binding); err != nil {
			t.Fatal(err)
		}
		// The API server deletes a pod without a node at once, and looks for the node in its watch cache first. This
		// request waits until the cache is as new as the pod.
		g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(&pod), &pod)).To(Succeed())
		inCache := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: pod.ResourceVersion}}
		g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(&pod), &pod, inCache)).To(Succeed())
		if err := admin.Delete(t.Context(), &pod); err != nil { // Its node must end it.
			t.Fatal(err)
		}
		g.Eventually(func() int { return len(podsIn(t.Context(), g, set.Namespace)) }).WithTimeout(patience).Should(Equal(4 + i))
	}
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		var notes []string
		for _, e := range eventsOf(ctx, g, set) {
			notes = append(notes, e.Note)
		}
		for _, pod := range podsIn(ctx, g, set.Namespace) {
			g.Expect(strings.Join(notes, ", ")).To(ContainSubstring(pod.Name))
		}
	}).WithTimeout(patience).Should(Succeed())
}

// A horizontal pod autoscaler reads and writes the subresource scale, and measures the pods that its selector selects.
func TestPodSet_scale(t *testing.T) {
	set := podSet(newNamespace(t), "shop", 1)
	bystander := podSet(set.Namespace, "bystander", 1)
	create(t, set, bystander)
	expectPods(t, set, 1)
	expectPods(t, bystander, 1)
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
	if err := admin.SubResource("scale").Update(t.Context(), set, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	expectPods(t, set, 4)
	if err := admin.SubResource("scale").Get(t.Context(), set, scale); err != nil {
		t.Fatal(err)
	}
	selected := &corev1.PodList{}
	selector, err := metav1.ParseToLabelSelector(scale.Status.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.List(t.Context(), selected, client.InNamespace(set.Namespace), client.MatchingLabels(selector.MatchLabels)); err != nil {
		t.Fatal(err)
	}
	if scale.Status.Replicas != 4 || len(selected.Items) != 4 {
		t.Errorf("scale says %d replicas; its selector %q finds %d pods", scale.Status.Replicas, scale.Status.Selector, len(selected.Items))
	}
}

func TestPodSet_quota(t *testing.T) {
	namespace := newNamespace(t)
	denyPods(t, namespace)
	set := podSet(namespace, "shop", 3)
	create(t, set)
	g := NewWithT(t)
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		degraded := meta.FindStatusCondition(refresh(g, ctx, set).Status.Conditions, appv1alpha1.ConditionDegraded)
		g.Expect(degraded).NotTo(BeNil())
		g.Expect(degraded.Reason).To(Equal(appv1alpha1.ReasonFailedCreate))
		g.Expect(degraded.Message).To(ContainSubstring("exceeded quota"))
		// Repeated rejections are one event with a count.
		g.Expect(eventsOf(ctx, g, set)).To(ContainElement(And(HaveField("Reason", "FailedCreate"), HaveField("Series", Not(BeNil())))))
	}).WithTimeout(patience).Should(Succeed())
	if err := admin.DeleteAllOf(t.Context(), &corev1.ResourceQuota{}, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	expectPods(t, set, 3)
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		g.Expect(meta.IsStatusConditionFalse(refresh(g, ctx, set).Status.Conditions, appv1alpha1.ConditionDegraded)).To(BeTrue())
	}).WithTimeout(patience).Should(Succeed())
}

// denyPods fills the quota of a namespace. Its status is what the quota controller would write.
func denyPods(t *testing.T, namespace string) {
	t.Helper()
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: none},
	}
	create(t, quota)
	changeStatus(t, quota, func(quota *corev1.ResourceQuota) {
		quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	})
}

func TestPodSecurity(t *testing.T) {
	namespace := newNamespace(t, "pod-security.kubernetes.io/enforce", "restricted")
	set := podSet(namespace, "shop", 1)
	create(t, set)
	expectPods(t, set, 1)
	at := newAt(namespace, "yay", "now", "echo YAY")
	create(t, at)
	expectPhase(t, at, "RUNNING")
}

func TestCounts_idle(t *testing.T) {
	namespace := newNamespace(t)
	var sets []*appv1alpha1.PodSet
	for i := range 5 {
		set := podSet(namespace, fmt.Sprintf("shop-%d", i), 2)
		create(t, set, newAt(namespace, fmt.Sprintf("later-%d", i), "now + 1 week", "true"))
		sets = append(sets, set)
	}
	for _, set := range sets {
		for _, pod := range expectPods(t, set, 2) {
			setPhase(t, &pod, corev1.PodRunning)
		}
	}
	g := NewWithT(t)
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		for _, set := range sets {
			g.Expect(refresh(g, ctx, set).Status.ReadyReplicas).To(Equal(int32(2)))
		}
	}).WithTimeout(patience).Should(Succeed())
	g.Eventually(func() int { return used.writesIn(namespace) }).WithTimeout(patience).ShouldNot(BeZero())

	before := used.writesIn(namespace)
	g.Consistently(func() int { return used.writesIn(namespace) }).WithTimeout(quiet).Should(Equal(before))
}

func TestPodSet_zeroReady(t *testing.T) {
	set := podSet(newNamespace(t), "a", 1)
	create(t, set)
	expectPods(t, set, 1)
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(podSetKind)
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(set), stored)).To(Succeed())
		for _, number := range []string{"readyReplicas", "terminatingReplicas"} {
			n, found, err := unstructured.NestedInt64(stored.Object, "status", number)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(BeTrue(), number)
			g.Expect(n).To(BeZero(), number)
		}
	}).WithTimeout(patience).Should(Succeed())
}

// A namespace can warn about pods that it accepts. The user of a PodSet learns it from one event, not from the log of
// the operator.
func TestPodSet_warnings(t *testing.T) {
	set := podSet(newNamespace(t, "pod-security.kubernetes.io/warn", "restricted"), "web", 3)
	set.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "x"}}}}
	create(t, set)
	expectPods(t, set, 3)
	g := NewWithT(t)
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		count := 0
		for _, e := range eventsOf(ctx, g, set) {
			if e.Reason == "PodWarning" && strings.Contains(e.Note, "would violate PodSecurity") {
				count++
			}
		}
		g.Expect(count).To(Equal(1))
	}).WithTimeout(patience).Should(Succeed())
}
