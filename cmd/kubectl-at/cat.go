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

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
)

func newCatCommand(p *plugin) *cobra.Command {
	return &cobra.Command{
		Use:   "cat NAME",
		Short: "Print an At as YAML for Git",
		Long: templates.LongDesc(`
			Print an At as YAML, without its status and what the API server adds, and with an absolute time, so that it can be
			kept in Git and applied elsewhere.`),
		Example: templates.Examples(`
			# Keep an At in Git
			kubectl at cat at-7gk2p > migrate.yaml`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect()
			if err != nil {
				return err
			}
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(cnatv1alpha1.GroupVersion.WithKind("At"))
			if err := c.Get(cmd.Context(), c.key(nameOf(args[0])), object); err != nil {
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
		if due, err := at.ParseSchedule(text, object.GetCreationTimestamp().Time); err == nil {
			spec["schedule"] = schedule(due)
		}
	}
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
