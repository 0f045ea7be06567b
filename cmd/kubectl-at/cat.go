// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/internal/atspec"
)

func catVerb() verb {
	return verb{
		use: "cat NAME", args: oneName,
		short:      "Print an At as YAML for Git",
		suggestFor: []string{"describe", "show"},
		long: `
			Print an At as YAML, without its status and what the API server adds, and with an absolute time, so that it can be
			kept in Git and applied elsewhere.`,
		example: `
			# Keep an At in Git
			kubectl at cat at-7gk2p > migrate.yaml`,
		run: func(r *request) error {
			object := newAtObject()
			if err := r.get(object); err != nil {
				return err
			}
			source, err := forGit(object)
			if err != nil {
				return err
			}
			data, err := toYAML(source)
			if err != nil {
				return fmt.Errorf("writing YAML: %w", err)
			}
			_, err = r.data().Write(data)
			return err
		},
	}
}

// newAtObject returns an At that also holds fields that this version of the plugin does not know.
func newAtObject() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(atKind)
	return object
}

// toYAML returns a value as YAML. The library takes control characters only if they are escaped in JSON.
func toYAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML([]byte(strings.ReplaceAll(escape(string(data), "\x7f"), "\x7f", `\u007f`)))
}

// forGit returns what a person would write for an At.
func forGit(object *unstructured.Unstructured) (map[string]any, error) {
	spec, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return nil, fmt.Errorf("reading at/%s: %w", object.GetName(), err)
	}
	if text, _, _ := unstructured.NestedString(spec, "schedule"); strings.HasPrefix(text, "now") {
		if due, err := atspec.ParseSchedule(text, object.GetCreationTimestamp().Time); err == nil {
			spec["schedule"] = formatSchedule(due)
		}
	}
	leaveOutDefaults(spec)
	metadata := map[string]any{"name": object.GetName(), "namespace": object.GetNamespace()}
	if labels := object.GetLabels(); len(labels) > 0 {
		metadata["labels"] = labels
	}
	annotations := object.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": metadata, "spec": spec}, nil
}

// leaveOutDefaults removes the values of a spec that mean the same as nothing.
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

// leaveOutEmpty removes a field if it has no fields of its own.
func leaveOutEmpty(object map[string]any, field string) {
	if value, ok := object[field].(map[string]any); ok && len(value) == 0 {
		delete(object, field)
	}
}
