// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestOf(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cnat.d2iq.com/v1alpha1", "kind": "At",
		"metadata": map[string]any{
			"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1", "generation": int64(1), "creationTimestamp": "2026-11-21T15:48:00Z",
			"labels":      map[string]any{"team": "web"},
			"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}", "cnat.d2iq.com/paused": "true"},
		},
		"spec": map[string]any{"schedule": "now + 2 hours", "command": "true", "suspend": false, "backoffLimit": int64(0), "template": map[string]any{
			"metadata": map[string]any{}, "spec": map[string]any{
				"securityContext": map[string]any{}, "volumes": []any{map[string]any{"emptyDir": map[string]any{}}},
				"containers": []any{map[string]any{"name": "main", "resources": map[string]any{}}},
			},
		}},
		"status": map[string]any{"phase": "PENDING"},
	}}
	got, err := Of(object)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "cnat.d2iq.com/v1alpha1", "kind": "At",
		"metadata": map[string]any{
			"name": "a", "namespace": "b", "labels": map[string]string{"team": "web"}, "annotations": map[string]string{"cnat.d2iq.com/paused": "true"},
		},
		"spec": map[string]any{"schedule": "2026-11-21T17:48:00Z", "command": "true", "template": map[string]any{"spec": map[string]any{
			"volumes": []any{map[string]any{"emptyDir": map[string]any{}}}, "containers": []any{map[string]any{"name": "main"}},
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOf_invalid(t *testing.T) {
	if _, err := Of(&unstructured.Unstructured{Object: map[string]any{"spec": "x"}}); err == nil {
		t.Error("no error")
	}
}
