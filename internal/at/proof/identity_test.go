// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proof_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestModified(t *testing.T) {
	requested := testutil.MakeAtPod(a().Obj(), "a-pod").Obj()
	requested.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: cnatv1alpha1.StartGate}}
	requested.Spec.Containers = []corev1.Container{{Name: "busybox", Image: "busybox"}}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   string // how it begins
	}{
		"nothing":                {func(*corev1.Pod) {}, ""},
		"the image":              {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "mirror/busybox" }, ""},
		"the command":            {func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"wrap"} }, ""},
		"labels and annotations": {func(p *corev1.Pod) { p.Labels, p.Annotations = nil, nil }, ""},
		"a container that is added": {func(p *corev1.Pod) {
			p.Spec.Containers = append([]corev1.Container{{Name: "proxy"}}, p.Spec.Containers...)
		}, ""},
		"a sidecar that is added":   {func(p *corev1.Pod) { sidecar(p, "proxy") }, ""},
		"the name":                  {func(p *corev1.Pod) { p.Name = "a-pod-x7k2" }, "the name of pod a-pod to a-pod-x7k2"},
		"the controller":            {func(p *corev1.Pod) { p.OwnerReferences = nil }, "the controller reference of pod a-pod"},
		"the name of the container": {func(p *corev1.Pod) { p.Spec.Containers[0].Name = "main" }, "pod a-pod so that container busybox, which runs the command, is missing"},
		"the gate":                  {func(p *corev1.Pod) { p.Spec.SchedulingGates = nil }, "pod a-pod so that it lacks the scheduling gate cnat.d2iq.com/start"},
		"a gate that is added": {func(p *corev1.Pod) {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "kueue.x-k8s.io/admission"})
		}, ""},
		"the restartPolicy":   {func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }, "pod a-pod so that its containers can be restarted"},
		"that of a container": {func(p *corev1.Pod) { p.Spec.Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways) }, "pod a-pod so that its containers can be restarted"},
		"rules of an init container": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{RestartPolicyRules: make([]corev1.ContainerRestartRule, 1)}}
		}, "pod a-pod so that its containers can be restarted"},
	} {
		got := requested.DeepCopy()
		test.change(got)
		if text := proof.Modified(requested, got); (text == "") != (test.want == "") || !strings.HasPrefix(text, test.want) {
			t.Errorf("%s: got %q, want %q", name, text, test.want)
		}
	}
}

func TestIsOfPredecessor(t *testing.T) {
	at := a().Obj()
	older := func(change func(*corev1.Pod)) *corev1.Pod {
		p := testutil.MakeAtPod(at, "a-pod").Obj()
		p.OwnerReferences[0].UID = "older"
		change(p)
		return p
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"an older At":     {func(*corev1.Pod) {}, true},
		"this At":         {func(p *corev1.Pod) { p.OwnerReferences[0].UID = at.UID }, false},
		"another At":      {func(p *corev1.Pod) { p.OwnerReferences[0].Name = "b" }, false},
		"another group":   {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "batch/v1" }, false},
		"no owner at all": {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
	} {
		if got := proof.IsOfPredecessor(at, older(test.change)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestLostOwner_MayBeRun has what shows that a pod without an owner was created for an At.
func TestLostOwner_MayBeRun(t *testing.T) {
	for name, test := range map[string]struct {
		change             func(*corev1.Pod)
		isOwn, mayBeOfAnAt bool
	}{
		"a pod of a user":         {func(*corev1.Pod) {}, false, false},
		"with the UID of this At": {func(p *corev1.Pod) { p.Labels = map[string]string{cnatv1alpha1.LabelUID: string(a().Obj().UID)} }, true, false},
		"with the UID of another At": {func(p *corev1.Pod) {
			p.Labels = map[string]string{cnatv1alpha1.LabelUID: "b", cnatv1alpha1.LabelAt: "a"}
		}, false, false},
		"with the name of an At": {func(p *corev1.Pod) { p.Labels = map[string]string{cnatv1alpha1.LabelAt: "a"} }, false, true},
		"with a generation":      {func(p *corev1.Pod) { p.Annotations = map[string]string{cnatv1alpha1.AnnotationGeneration: "1"} }, false, true},
		"with the UID and a gate": {func(p *corev1.Pod) {
			p.Labels = map[string]string{cnatv1alpha1.LabelUID: string(a().Obj().UID)}
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: cnatv1alpha1.StartGate}}
		}, false, false},
		"with a generation and a gate": {func(p *corev1.Pod) { *p = *testutil.MakeAtPod(a().Obj(), "a-pod").Unowned().Gated(1).Obj() }, false, false},
		"with the UID and another controller": {func(p *corev1.Pod) {
			*p = *testutil.MakeAtPod(testutil.MakeAt("b").Obj(), "a-pod").Obj()
			p.Labels = map[string]string{cnatv1alpha1.LabelUID: string(a().Obj().UID)}
		}, false, false},
		"with another controller": {func(p *corev1.Pod) {
			*p = *testutil.MakeAtPod(a().Obj(), "a-pod").Annotation(cnatv1alpha1.AnnotationGeneration, "1").Obj()
		}, false, false},
	} {
		p := testutil.MakePod("a-pod").Obj()
		test.change(p)
		if got := proof.LostOwner(a().Obj(), p); got != test.isOwn {
			t.Errorf("%s: it belongs to this At: %t", name, got)
		}
		if got := proof.MayBeRun(p); got != test.mayBeOfAnAt {
			t.Errorf("%s: it may belong to an At: %t", name, got)
		}
	}
}

func TestSameImages(t *testing.T) {
	images := func(initial, main string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Image: initial}}, Containers: []corev1.Container{{Name: "main", Image: main}},
		}}
	}
	for name, test := range map[string]struct {
		after *corev1.Pod
		want  bool
	}{
		"the same":                        {images("a", "b"), true},
		"another image of the command":    {images("a", "c"), false},
		"another image of init container": {images("c", "b"), false},
	} {
		if got := proof.SameImages(images("a", "b"), test.after); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
