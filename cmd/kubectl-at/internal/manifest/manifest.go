// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest returns an At as a user keeps it in Git. It is pure.
package manifest

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
)

// Of returns an At without its status and the fields that the API server adds, and with an absolute time.
func Of(object *unstructured.Unstructured) (map[string]any, error) {
	atSpec, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return nil, fmt.Errorf("reading at/%s: %w", object.GetName(), err)
	}
	if text, _, _ := unstructured.NestedString(atSpec, "schedule"); strings.HasPrefix(text, "now") {
		if due, err := spec.ParseSchedule(text, object.GetCreationTimestamp().Time); err == nil {
			atSpec["schedule"] = due.Format(time.RFC3339Nano)
		}
	}
	leaveOutDefaults(atSpec)
	metadata := map[string]any{"name": object.GetName(), "namespace": object.GetNamespace()}
	if labels := object.GetLabels(); len(labels) > 0 {
		metadata["labels"] = labels
	}
	annotations := object.GetAnnotations()
	for _, key := range []string{corev1.LastAppliedConfigAnnotation, cnatv1alpha1.AnnotationRequestedBy, cnatv1alpha1.AnnotationApprovedBy} {
		delete(annotations, key)
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": metadata, "spec": atSpec}, nil
}

// leaveOutDefaults removes the values of a spec that mean the same as an absent field.
func leaveOutDefaults(spec map[string]any) {
	if spec["suspend"] == false {
		delete(spec, "suspend")
	}
	if spec["backoffLimit"] == int64(0) {
		delete(spec, "backoffLimit")
	}
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	leaveOutEmpty(template, "metadata")
	leaveOutEmpty(pod, "securityContext")
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := pod[list].([]any)
		for _, container := range containers {
			if container, ok := container.(map[string]any); ok {
				leaveOutEmpty(container, "resources")
			}
		}
	}
}

// leaveOutEmpty removes a field if its value is an empty object.
func leaveOutEmpty(object map[string]any, field string) {
	if value, ok := object[field].(map[string]any); ok && len(value) == 0 {
		delete(object, field)
	}
}
