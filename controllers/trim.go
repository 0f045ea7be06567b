// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
)

// trim removes from a PodSet or an At what the controllers do not read, before it is cached. Otherwise users could fill the operator's
// memory with it, and completed Ats would keep theirs. The operator writes only statuses from the cache.
func trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *appv1alpha1.PodSet:
		o.ObjectMeta = trimMeta(&o.ObjectMeta, appv1alpha1.AnnotationPaused)
	case *cnatv1alpha1.At:
		o.ObjectMeta = trimMeta(&o.ObjectMeta, cnatv1alpha1.AnnotationRequestedBy)
		if atrun.IsDone(&o.Status) {
			o.Spec.Command, o.Spec.Template = "", nil
		}
	}
	return obj, nil
}

// trimMeta keeps one of the annotations.
func trimMeta(m *metav1.ObjectMeta, kept string) metav1.ObjectMeta {
	trimmed := metav1.ObjectMeta{
		Name:              m.Name,
		Namespace:         m.Namespace,
		UID:               m.UID,
		ResourceVersion:   m.ResourceVersion,
		Generation:        m.Generation,
		CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp,
	}
	if value, ok := m.Annotations[kept]; ok {
		trimmed.Annotations = map[string]string{kept: value}
	}
	return trimmed
}
