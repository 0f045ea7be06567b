// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kubectl/pkg/util/templates"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/internal/atspec"
)

func newCatCommand(p *plugin) *cobra.Command {
	return &cobra.Command{
		Use:        "cat NAME",
		Short:      "Print an At as YAML for Git",
		SuggestFor: []string{"describe", "show"},
		Long: templates.LongDesc(`
			Print an At as YAML, without its status and what the API server adds, and with an absolute time, so that it can be
			kept in Git and applied elsewhere.`),
		Example: templates.Examples(`
			# Keep an At in Git
			kubectl at cat at-7gk2p > migrate.yaml`),
		Args:              exactlyOneName,
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, name, err := p.connectTo(args[0])
			if err != nil {
				return err
			}
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(atKind)
			if err := c.Get(cmd.Context(), c.key(name), object); err != nil {
				return err
			}
			source, err := forGit(object)
			if err != nil {
				return err
			}
			data, err := yaml.Marshal(source)
			if err != nil {
				return fmt.Errorf("writing YAML: %w", err)
			}
			_, err = p.Out.Write(data)
			return err
		},
	}
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
