// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/event"
)

// trim removes from a PodSet or an At what the controllers do not read, before it is cached. Otherwise users could fill
// the operator's memory with it, and completed Ats would keep theirs. The operator writes only statuses from the cache.
func trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *appv1alpha1.PodSet:
		o.ObjectMeta = trimMeta(&o.ObjectMeta, appv1alpha1.AnnotationPaused)
	case *cnatv1alpha1.At:
		if proof.IsDone(&o.Status) {
			o.ObjectMeta = trimMeta(&o.ObjectMeta)
			o.Spec.Command, o.Spec.Template = "", nil
			break
		}
		o.ObjectMeta = trimMeta(&o.ObjectMeta, cnatv1alpha1.AnnotationRequestedBy, cnatv1alpha1.AnnotationApprovedBy)
	}
	return obj, nil
}

// maxAnnotation limits an annotation that only the log repeats, in bytes. A name of a user is shorter.
const maxAnnotation = 256

// trimMeta keeps some of the annotations.
func trimMeta(m *metav1.ObjectMeta, kept ...string) metav1.ObjectMeta {
	trimmed := metav1.ObjectMeta{
		Name:              m.Name,
		Namespace:         m.Namespace,
		UID:               m.UID,
		ResourceVersion:   m.ResourceVersion,
		Generation:        m.Generation,
		CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp,
	}
	for _, key := range kept {
		if value, ok := m.Annotations[key]; ok {
			if trimmed.Annotations == nil {
				trimmed.Annotations = map[string]string{}
			}
			trimmed.Annotations[key] = event.Cut(value, maxAnnotation)
		}
	}
	return trimmed
}

// trimSpec returns what a cache must keep of a pod's spec: its gates, its deadline, its grace period if it is not the
// default, and its init containers that can be restarted, such as sidecars. Of a pod with its gate, it keeps the
// images, which must not change before the start. It is idempotent, because a cache may trim a pod twice.
func trimSpec(pod *corev1.Pod) corev1.PodSpec {
	kept := corev1.PodSpec{ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds, SchedulingGates: pod.Spec.SchedulingGates}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil && *grace != corev1.DefaultTerminationGracePeriodSeconds {
		kept.TerminationGracePeriodSeconds = grace
	}
	gated := proof.IsGated(pod)
	for _, c := range pod.Spec.InitContainers {
		if gated || spec.MayRestart(c) {
			kept.InitContainers = append(kept.InitContainers, corev1.Container{
				Name: c.Name, Image: c.Image, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules,
			})
		}
	}
	for _, c := range pod.Spec.Containers {
		if gated {
			kept.Containers = append(kept.Containers, corev1.Container{Name: c.Name, Image: c.Image})
		}
	}
	return kept
}
