// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const objectMetrics = "config/monitoring/kube-state-metrics/podset-operator.yaml"

// customResourceState is the part of the configuration of kube-state-metrics that this repository uses. kube-state-metrics ignores or
// rejects an unknown field, so the tests report it.
type customResourceState struct {
	Kind string `json:"kind"`
	Spec struct {
		Resources []struct {
			GroupVersionKind struct {
				Group   string `json:"group"`
				Version string `json:"version"`
				Kind    string `json:"kind"`
			} `json:"groupVersionKind"`
			MetricNamePrefix string              `json:"metricNamePrefix"`
			ErrorLogV        int                 `json:"errorLogV"`
			LabelsFromPath   map[string][]string `json:"labelsFromPath"`
			Metrics          []objectMetric      `json:"metrics"`
		} `json:"resources"`
	} `json:"spec"`
}

type objectMetric struct {
	Name string `json:"name"`
	Help string `json:"help"`
	Each struct {
		Type     string  `json:"type"`
		Gauge    *values `json:"gauge"`
		StateSet *values `json:"stateSet"`
		Info     *values `json:"info"`
	} `json:"each"`
}

// values is where the values and the labels of a metric come from. Each type uses some of the fields.
type values struct {
	Path           []string            `json:"path"`
	ValueFrom      []string            `json:"valueFrom"`
	LabelsFromPath map[string][]string `json:"labelsFromPath"`
	NilIsZero      bool                `json:"nilIsZero"`
	LabelName      string              `json:"labelName"`
	List           []string            `json:"list"`
}

func TestObjectMetrics(t *testing.T) {
	config := customResourceState{}
	if err := yaml.UnmarshalStrict(read(t, objectMetrics), &config); err != nil {
		t.Fatal(err)
	}
	if config.Kind != "CustomResourceStateMetrics" || len(config.Spec.Resources) != 2 {
		t.Fatalf("%s: kind %q with %d resources", objectMetrics, config.Kind, len(config.Spec.Resources))
	}
	schemas := readCRDs(t)
	for _, resource := range config.Spec.Resources {
		gvk := resource.GroupVersionKind
		schema := schemas[gvk.Group+"/"+gvk.Version+" "+gvk.Kind]
		if schema == nil {
			t.Errorf("there is no CRD of %v", gvk)
			continue
		}
		for _, metric := range resource.Metrics {
			t.Run(resource.MetricNamePrefix+"_"+metric.Name, func(t *testing.T) { checkMetric(t, metric, schema) })
		}
	}
}

func checkMetric(t *testing.T, metric objectMetric, schema *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	source := map[string]*values{"Gauge": metric.Each.Gauge, "StateSet": metric.Each.StateSet, "Info": metric.Each.Info}[metric.Each.Type]
	if source == nil {
		t.Fatalf("there are no values of the type %q", metric.Each.Type)
	}
	schema = field(t, schema, source.Path)
	for _, path := range source.LabelsFromPath {
		if label := field(t, schema, path); label.Type != "string" {
			t.Errorf("the label %v is not a string", path)
		}
	}
	switch metric.Each.Type {
	case "Gauge":
		if value := field(t, schema, source.ValueFrom); !isNumber(value) {
			t.Errorf("%v %v is not a number, a boolean, a time, or the status of a condition", source.Path, source.ValueFrom)
		}
	case "StateSet":
		if values := enum(schema); !slices.Equal(values, source.List) {
			t.Errorf("the values are %v, and the list is %v", values, source.List)
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

// field returns the schema of a field, or that of its items if it is a list.
func field(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, path []string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	for _, name := range path {
		next, ok := schema.Properties[name]
		if !ok {
			t.Fatalf("there is no field %v", path)
		}
		schema = &next
	}
	if schema.Type == "array" {
		return schema.Items.Schema
	}
	return schema
}

// isNumber reports whether kube-state-metrics can use a field as the value of a gauge.
func isNumber(schema *apiextensionsv1.JSONSchemaProps) bool {
	return slices.Contains([]string{"integer", "number", "boolean"}, schema.Type) || schema.Format == "date-time" ||
		slices.Equal(enum(schema), []string{"True", "False", "Unknown"})
}

// enum returns the values that a field can have, or nil if there is no list of them.
func enum(schema *apiextensionsv1.JSONSchemaProps) []string {
	var values []string
	for _, value := range schema.Enum {
		values = append(values, strings.Trim(string(value.Raw), `"`))
	}
	return values
}
