// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const objectMetrics = "config/kube-state-metrics/podset-operator.yaml"

// customResourceState is the part of the configuration of kube-state-metrics that this repository uses. An unknown field is an error,
// because kube-state-metrics would reject it or ignore it.
type customResourceState struct {
	Kind string `json:"kind"`
	Spec struct {
		Resources []resourceMetrics `json:"resources"`
	} `json:"spec"`
}

type resourceMetrics struct {
	GroupVersionKind struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"groupVersionKind"`
	MetricNamePrefix string              `json:"metricNamePrefix"`
	ErrorLogV        int                 `json:"errorLogV"`
	LabelsFromPath   map[string][]string `json:"labelsFromPath"`
	Metrics          []objectMetric      `json:"metrics"`
}

type objectMetric struct {
	Name string `json:"name"`
	Help string `json:"help"`
	Each struct {
		Type  string `json:"type"`
		Gauge *struct {
			Path           []string            `json:"path"`
			ValueFrom      []string            `json:"valueFrom"`
			LabelsFromPath map[string][]string `json:"labelsFromPath"`
			NilIsZero      bool                `json:"nilIsZero"`
		} `json:"gauge"`
		StateSet *struct {
			LabelName string   `json:"labelName"`
			Path      []string `json:"path"`
			List      []string `json:"list"`
		} `json:"stateSet"`
		Info *struct {
			LabelsFromPath map[string][]string `json:"labelsFromPath"`
		} `json:"info"`
	} `json:"each"`
}

func TestTheMetricsOfObjectsReadFieldsOfTheCRDs(t *testing.T) {
	config := customResourceState{}
	if err := yaml.UnmarshalStrict(read(t, objectMetrics), &config); err != nil {
		t.Fatal(err)
	}
	if config.Kind != "CustomResourceStateMetrics" || len(config.Spec.Resources) != 2 {
		t.Fatalf("%s: kind %q with %d resources", objectMetrics, config.Kind, len(config.Spec.Resources))
	}
	for _, problem := range checkObjectMetrics(config, readCRDs(t)) {
		t.Error(problem)
	}
}

// Each planted mistake is one edit of the file.
func TestPlantedMistakesInTheMetricsOfObjectsAreFound(t *testing.T) {
	original := string(read(t, objectMetrics))
	for _, edit := range [][2]string{
		{"[spec, replicas]", "[spec, replica]"},
		{"[status, readyReplicas]", "[status, podNames]"},
		{"[status, exitCode]", "[status, command]"},
		{"[PENDING, RUNNING, DONE]", "[PENDING, RUNNING, Done]"},
		{"[PENDING, RUNNING, DONE]", "[PENDING, RUNNING]"},
		{"[metadata, name]", "[metadata, title]"},
		{"version: v1alpha1", "version: v1"},
		{"kind: At", "kind: Ats"},
		{"condition: [type]", "condition: [kind]"},
		{"valueFrom: [status]", "valueFrom: [state]"},
		{"[status, scheduledTime]", "[status, podName]"},
		{"[status, result]", "[status, results]"},
		{"type: StateSet", "type: Gauge"},
		{"type: Info", "type: info"},
		{"name: status_attempts", "name: status_exit_code"},
	} {
		if !strings.Contains(original, edit[0]) {
			t.Fatalf("%s has no %q", objectMetrics, edit[0])
		}
		config := customResourceState{}
		if err := yaml.UnmarshalStrict([]byte(strings.Replace(original, edit[0], edit[1], 1)), &config); err != nil {
			continue
		}
		if len(checkObjectMetrics(config, readCRDs(t))) == 0 {
			t.Errorf("%q instead of %q is not found", edit[1], edit[0])
		}
	}
}

// readCRDs reads the schemas of the CRDs by group, version, and kind.
func readCRDs(t *testing.T) map[string]*apiextensionsv1.JSONSchemaProps {
	t.Helper()
	schemas := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, path := range []string{"config/crd/bases/app.example.com_podsets.yaml", "config/crd/bases/cnat.d2iq.com_ats.yaml"} {
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(read(t, path), &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			schemas[crd.Spec.Group+"/"+version.Name+" "+crd.Spec.Names.Kind] = version.Schema.OpenAPIV3Schema
		}
	}
	return schemas
}

// checkObjectMetrics returns what is wrong with the configuration.
func checkObjectMetrics(config customResourceState, schemas map[string]*apiextensionsv1.JSONSchemaProps) []string {
	var problems []string
	for _, resource := range config.Spec.Resources {
		gvk := resource.GroupVersionKind
		schema, ok := schemas[gvk.Group+"/"+gvk.Version+" "+gvk.Kind]
		if !ok {
			problems = append(problems, fmt.Sprintf("there is no CRD of %v", gvk))
			continue
		}
		for label, path := range resource.LabelsFromPath {
			if !slices.Contains([]string{"metadata name", "metadata namespace"}, strings.Join(path, " ")) {
				problems = append(problems, fmt.Sprintf("%s: label %s: %v is not the name or the namespace", gvk.Kind, label, path))
			}
		}
		names := map[string]bool{}
		for _, metric := range resource.Metrics {
			if names[metric.Name] {
				problems = append(problems, fmt.Sprintf("%s has two metrics %s", gvk.Kind, metric.Name))
			}
			names[metric.Name] = true
			for _, problem := range checkObjectMetric(metric, schema) {
				problems = append(problems, fmt.Sprintf("%s: %s: %s", gvk.Kind, metric.Name, problem))
			}
		}
	}
	return problems
}

func checkObjectMetric(metric objectMetric, schema *apiextensionsv1.JSONSchemaProps) []string {
	each := metric.Each
	switch {
	case metric.Help == "":
		return []string{"no help"}
	case each.Type == "Gauge" && each.Gauge != nil:
		target := field(schema, each.Gauge.Path)
		if target == nil {
			return []string{fmt.Sprintf("no field %v", each.Gauge.Path)}
		}
		if target.Type == "array" {
			target = target.Items.Schema
		}
		problems := checkLabels(target, each.Gauge.LabelsFromPath)
		if value := field(target, each.Gauge.ValueFrom); value == nil || !isNumber(value) {
			problems = append(problems, fmt.Sprintf("%v %v is not a number, a boolean, a time, or a condition", each.Gauge.Path, each.Gauge.ValueFrom))
		}
		return problems
	case each.Type == "StateSet" && each.StateSet != nil:
		target := field(schema, each.StateSet.Path)
		if target == nil {
			return []string{fmt.Sprintf("no field %v", each.StateSet.Path)}
		}
		var values []string
		for _, value := range target.Enum {
			values = append(values, strings.Trim(string(value.Raw), `"`))
		}
		if !slices.Equal(values, each.StateSet.List) {
			return []string{fmt.Sprintf("the values are %v, the list is %v", values, each.StateSet.List)}
		}
		return nil
	case each.Type == "Info" && each.Info != nil:
		return checkLabels(schema, each.Info.LabelsFromPath)
	}
	return []string{fmt.Sprintf("no values of type %q", each.Type)}
}

func checkLabels(schema *apiextensionsv1.JSONSchemaProps, labels map[string][]string) []string {
	var problems []string
	for label, path := range labels {
		if value := field(schema, path); value == nil || value.Type != "string" {
			problems = append(problems, fmt.Sprintf("label %s: %v is not a string", label, path))
		}
	}
	return problems
}

// field returns the schema of a field, or nil.
func field(schema *apiextensionsv1.JSONSchemaProps, path []string) *apiextensionsv1.JSONSchemaProps {
	for _, name := range path {
		next, ok := schema.Properties[name]
		if !ok {
			return nil
		}
		schema = &next
	}
	return schema
}

// isNumber tells whether kube-state-metrics can use a field as the value of a gauge: a number, a boolean, a time, or the status of a
// condition, which is True, False, or Unknown.
func isNumber(schema *apiextensionsv1.JSONSchemaProps) bool {
	return slices.Contains([]string{"integer", "number", "boolean"}, schema.Type) || schema.Format == "date-time" ||
		(len(schema.Enum) == 3 && string(schema.Enum[0].Raw) == `"True"`)
}
