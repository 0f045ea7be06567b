// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/testutil"
)

// created returns the pod that a pass creates.
func created(t *testing.T, object *cnatv1alpha1.At, now time.Time, defaults at.Defaults) *corev1.Pod {
	t.Helper()
	var memory at.Memory
	v := memory.View(at.Seen{At: object}, at.Answers{}, now, defaults)
	step := at.Next(&v)
	if step.Create == nil {
		t.Fatalf("no pod is created: %+v", step)
	}
	return step.Create
}

// TestNext_budget has the parts of an uninterrupted run that Kubernetes, Karpenter, and the cluster autoscaler read.
func TestNext_budget(t *testing.T) {
	pod := created(t, a().Uninterrupted().Obj(), due, at.Defaults{Image: "busybox"})
	if got := pod.Annotations; got["karpenter.sh/do-not-disrupt"] != "true" || got["cluster-autoscaler.kubernetes.io/safe-to-evict"] != "false" {
		t.Errorf("annotations: %v", got)
	}
	_, _, step, _ := (&world{at: runs0().Uninterrupted(), pods: pods(gated())}).next(t)
	labels := map[string]string{"app.kubernetes.io/managed-by": "podset-operator", "cnat.d2iq.com/at": "a"}
	want := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "a-pod", Namespace: "default", Labels: labels, OwnerReferences: pod.OwnerReferences},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"cnat.d2iq.com/at-uid": "a-uid"},
		}},
	}
	if diff := cmp.Diff(want, step.Budget); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewPod_deadline(t *testing.T) {
	retry := func(b *testutil.AtBuilder) *testutil.AtBuilder { return b.RetryRecorded(1, pod0, 15*time.Second) }
	for name, test := range map[string]struct {
		at       *testutil.AtBuilder
		template *int64
		now      time.Duration
		want     *int64
	}{
		"none":                                           {at: a()},
		"the whole at the first attempt":                 {at: a().ActiveDeadline(60), now: time.Hour, want: ptr.To[int64](60)},
		"the rest at a retry":                            {at: retry(a().ActiveDeadline(60)), now: 20 * time.Second, want: ptr.To[int64](40)},
		"the rest at a retry that is prepared":           {at: retry(a().ActiveDeadline(60)), now: 14 * time.Second, want: ptr.To[int64](45)},
		"the rest is rounded":                            {at: retry(a().ActiveDeadline(60)), now: 20400 * time.Millisecond, want: ptr.To[int64](40)},
		"never less than a second":                       {at: retry(a().ActiveDeadline(60)), now: 59900 * time.Millisecond, want: ptr.To[int64](1)},
		"the template's when the At has none":            {at: a(), template: ptr.To[int64](5), want: ptr.To[int64](5)},
		"the template's when it is shorter":              {at: a().ActiveDeadline(60), template: ptr.To[int64](5), want: ptr.To[int64](5)},
		"the At's when it is shorter":                    {at: a().ActiveDeadline(60), template: ptr.To[int64](500), want: ptr.To[int64](60)},
		"the template's at a retry when the At has none": {at: retry(a()), template: ptr.To[int64](5), now: time.Minute, want: ptr.To[int64](5)},
	} {
		t.Run(name, func(t *testing.T) {
			object := test.at.BackoffLimit(1).Template(func(t *corev1.PodTemplateSpec) {
				t.Spec.ActiveDeadlineSeconds = test.template
			}, "busybox").Obj()
			if diff := cmp.Diff(test.want, created(t, object, due.Add(test.now), at.Defaults{}).Spec.ActiveDeadlineSeconds); diff != "" {
				t.Errorf("activeDeadlineSeconds (-want +got):\n%s", diff)
			}
		})
	}
}
