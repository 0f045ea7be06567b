// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
)

func TestTrim_objects(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	kept := func(paused string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: "default", Name: "a", UID: types.UID("u"), ResourceVersion: "7", Generation: 3,
			CreationTimestamp: created, DeletionTimestamp: &created, Annotations: map[string]string{paused: "true"},
		}
	}
	full := func(paused string) metav1.ObjectMeta {
		meta := kept(paused)
		meta.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{...}"
		meta.Labels = map[string]string{"a": "b"}
		meta.Finalizers = []string{"example.com/a"}
		meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "a"}}
		meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		return meta
	}
	without := func(meta metav1.ObjectMeta) metav1.ObjectMeta {
		meta.Annotations = nil
		return meta
	}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}}}
	spec := cnatv1alpha1.AtSpec{Schedule: "2030-01-01T00:00:00Z", Command: "true", Template: template, TTLSecondsAfterFinished: ptr.To[int32](7)}
	specOfDone := spec
	specOfDone.Command, specOfDone.Template = "", nil
	done := cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultSucceeded, Reason: cnatv1alpha1.ReasonCompleted, CompletionTime: &created,
	}
	set := appv1alpha1.PodSetSpec{Replicas: ptr.To[int32](3), Template: template}
	for title, tc := range map[string]struct{ full, want client.Object }{
		"a PodSet": {
			&appv1alpha1.PodSet{ObjectMeta: full(appv1alpha1.AnnotationPaused), Spec: set},
			&appv1alpha1.PodSet{ObjectMeta: kept(appv1alpha1.AnnotationPaused), Spec: set},
		},
		"an At": {
			&cnatv1alpha1.At{ObjectMeta: full(cnatv1alpha1.AnnotationRequestedBy), Spec: spec},
			&cnatv1alpha1.At{ObjectMeta: kept(cnatv1alpha1.AnnotationRequestedBy), Spec: spec},
		},
		"an At that is done": {
			&cnatv1alpha1.At{ObjectMeta: full(cnatv1alpha1.AnnotationRequestedBy), Spec: spec, Status: done},
			&cnatv1alpha1.At{ObjectMeta: without(kept("")), Spec: specOfDone, Status: done},
		},
	} {
		got, err := managerOptions().Cache.DefaultTransform(tc.full)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", title, diff)
		}
	}
	step := func(spec cnatv1alpha1.AtSpec) at.Step {
		var memory at.Memory
		v := memory.View(at.Seen{At: &cnatv1alpha1.At{Spec: spec, Status: done}}, at.Answers{}, created.Add(time.Hour), at.Defaults{})
		return at.Next(&v)
	}
	if diff := cmp.Diff(step(spec), step(specOfDone), cmpopts.IgnoreUnexported(at.Step{})); diff != "" {
		t.Errorf("the step of an At that is done depends on what was trimmed: %s", diff)
	}
}
