// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
)

func atKind() schema.GroupVersionKind { return cnatv1alpha1.GroupVersion.WithKind("At") }

// newPod returns the pod of an attempt that begins now.
func newPod(v *View, attempt int) *corev1.Pod {
	pod := spec.NewPod(v.At, v.defaults, attempt)
	if v.isUninterrupted() {
		pod.Annotations[annotationDoNotDisrupt], pod.Annotations[annotationSafeToEvict] = "true", "false"
	}
	pod.Spec.ActiveDeadlineSeconds = podDeadline(v)
	return pod
}

// podDeadline returns the activeDeadlineSeconds of a pod: the rest of the deadline of the run when the attempt is due,
// or the template's own if that is shorter. The kubelet counts from the start of the pod on a node.
func podDeadline(v *View) *int64 {
	var own *int64
	if v.At.Spec.Template != nil {
		own = v.At.Spec.Template.Spec.ActiveDeadlineSeconds
	}
	left := v.At.Spec.ActiveDeadlineSeconds
	if deadline := v.deadline(); !deadline.IsZero() {
		due := v.Now
		if retry := v.At.Status.RetryTime; retry != nil && retry.After(due) {
			due = retry.Time
		}
		left = ptr.To(max(int64(deadline.Sub(due).Round(time.Second)/time.Second), 1))
	}
	if left == nil || own != nil && *own < *left {
		left = own
	}
	if left == nil {
		return nil
	}
	return ptr.To(*left) // The At belongs to a cache.
}

// gracePeriod returns how long the kubelet waits between SIGTERM and SIGKILL. The cache drops the default of
// Kubernetes.
func gracePeriod(pod *corev1.Pod) time.Duration {
	return spec.Seconds(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds))
}
