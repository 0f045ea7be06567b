// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// BenchmarkRules measures the cost of a CRD's rules for the API server.
func BenchmarkRules(b *testing.B) {
	for name, validate := range validations(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				validate()
			}
		})
	}
}

// TestRules_cost limits what the rules allocate when the status is written at the end of an At, to 2.5 times as much as for a new At.
// Comparing a template takes 3.9 times as much.
func TestRules_cost(t *testing.T) {
	all := validations(t)
	create, status := testing.AllocsPerRun(10, all[ats+"/create"]), testing.AllocsPerRun(10, all[ats+"/status"])
	if status > 2.5*create {
		t.Errorf("%v allocations for the status, %v for a new At", status, create)
	}
}

// validations returns functions that run the rules of a kind: for a new object with a template, for an edit, and for the status. The At has
// ended when it is edited, and ends when its status is written.
func validations(tb testing.TB) map[string]func() {
	tb.Helper()
	template := templateOf("busybox")
	functions := map[string]func(){}
	for kind, object := range map[string]any{
		podSets: &appv1alpha1.PodSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appv1alpha1.PodSetSpec{Template: template}},
		ats: &cnatv1alpha1.At{
			Spec:   cnatv1alpha1.AtSpec{Schedule: "now", Command: "true", Template: template},
			Status: cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Attempts: 1},
		},
	} {
		a := admissions[kind]()
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			tb.Fatal(err)
		}
		before := runtime.DeepCopyJSON(content)
		if kind == ats {
			if err := unstructured.SetNestedField(before, string(cnatv1alpha1.PhaseRunning), "status", "phase"); err != nil {
				tb.Fatal(err)
			}
		}
		for what, old := range map[string]any{"create": nil, "edit": runtime.DeepCopyJSON(content), "status": before} {
			functions[kind+"/"+what] = func() {
				if errs, _ := a.rules.Validate(context.Background(), nil, a.schema, content, old, celconfig.RuntimeCELCostBudget); len(errs) > 0 {
					tb.Fatal(errs)
				}
			}
		}
	}
	return functions
}

// TestRules_edits edits an At that waits and one that has started.
func TestRules_edits(t *testing.T) {
	const started = "once the At has started"
	const canceled = "create another At to run the command"
	const relative = "now would count from the creation of the At"
	containers := func(names ...string) []any {
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"name": name, "image": "x"})
		}
		return list
	}
	variables := func(names ...string) []any {
		main := map[string]any{"name": "main", "image": "x"}
		var env []any
		for _, name := range names {
			env = append(env, map[string]any{"name": name, "value": "$(A)"})
		}
		main["env"] = env
		return []any{main, map[string]any{"name": "helper", "image": "x"}}
	}
	for title, edit := range map[string]struct {
		field         string
		before, after any
		waits, runs   string // what the API server answers
	}{
		"an absolute time":             {field: "schedule", before: "now", after: "2099-01-01T00:00:00Z", runs: started},
		"now":                          {field: "schedule", before: "2099-01-01T00:00:00Z", after: "now", waits: relative, runs: started},
		"a relative time":              {field: "schedule", before: "now + 1 minute", after: "now + 1 hour", waits: relative, runs: started},
		"the command":                  {field: "command", before: "true", after: "false", runs: started},
		"another template":             {field: "template.spec.containers", before: containers("main"), after: containers("other"), runs: started},
		"the order of containers":      {field: "template.spec.containers", before: containers("main", "helper"), after: containers("helper", "main"), runs: started},
		"the order of init containers": {field: "template.spec.initContainers", before: containers("a", "b"), after: containers("b", "a"), runs: started},
		"the order of variables":       {field: "template.spec.containers", before: variables("A", "B"), after: variables("B", "A"), runs: started},
		"the active deadline":          {field: "activeDeadlineSeconds", before: int64(600), after: int64(3600), runs: started},
		"a new active deadline":        {field: "activeDeadlineSeconds", after: int64(3600), runs: started},
		"no active deadline":           {field: "activeDeadlineSeconds", before: int64(600), runs: started},
		"the time to live":             {field: "ttlSecondsAfterFinished", after: int64(60)},
		"the number of retries":        {field: "backoffLimit", before: int64(0), after: int64(3), runs: started},
		"cancel":                       {field: "cancel", after: true},
		"cancel, taken back":           {field: "cancel", before: true, after: false, waits: canceled, runs: canceled},
		"cancel, removed":              {field: "cancel", before: true, waits: canceled, runs: canceled},
		"the exit codes of retries":    {field: "retryExitCodes", before: []any{int64(75)}, after: []any{int64(76)}, runs: started},
	} {
		for attempts, want := range map[int64]string{-1: edit.waits, 0: edit.waits, 1: edit.runs, 2: edit.runs} { // negative if there is no status
			at := func(value any) map[string]any {
				content := map[string]any{
					"metadata": map[string]any{"name": "a"},
					"status":   map[string]any{},
					"spec":     map[string]any{"schedule": "now", "template": map[string]any{"spec": map[string]any{"containers": containers("main", "helper")}}},
				}
				if attempts >= 0 { // A start is recorded while the phase is PENDING.
					content["status"] = map[string]any{"phase": string(cnatv1alpha1.PhasePending), "attempts": attempts}
				}
				if value != nil {
					if err := unstructured.SetNestedField(content, value, strings.Split("spec."+edit.field, ".")...); err != nil {
						t.Fatal(err)
					}
				}
				return content
			}
			errs := admissions[ats]().validateUpdate(at(edit.after), at(edit.before))
			if err := errs.ToAggregate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s after %d attempts: got %v, wanted %q", title, attempts, err, want)
			}
		}
	}
}

// extremes are values of a type that are hard to decode.
var extremes = map[string][]any{
	"integer": {int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt32) + 1, int64(math.MinInt32) - 1, 1e30, 1.5, 3.0},
	"string": {
		"", "1e1.5", "1e99999999999999999999", "1e-900000", "1E-900000", "1e400", "1e-400", "1e99", "-1e99Ki", ".", "1Ei", "0.000000000000000000000000001n",
		strings.Repeat("9", 100), "0x1F", "1_000", "2006-01-02", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02t15:04:05z", "0000-01-01T00:00:00Z", "\x00",
		"2016-12-31T23:59:60Z", "2016-12-31T23:59:59+99:99", "2016-12-31T23:59:59x5Z", "2016-12-31T24:00:00Z", "2016-02-30T00:00:00Z",
	},
	"boolean": {true},
}

// leaves calls visit with objects that set one field below a schema to one value. wrap makes the object from the value of the schema.
func leaves(path string, s *schema.Structural, visit func(path string, value any), wrap func(any) any) {
	values := extremes[s.Type]
	if s.XIntOrString {
		values = slices.Concat(extremes["integer"], extremes["string"])
	}
	for _, value := range values {
		visit(path, wrap(value))
	}
	for name, property := range s.Properties {
		leaves(path+"."+name, &property, visit, func(value any) any { return wrap(map[string]any{name: value}) })
	}
	if s.Items != nil {
		leaves(path+"[]", s.Items, visit, func(value any) any { return wrap([]any{value}) })
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		leaves(path+".key", s.AdditionalProperties.Structural, visit, func(value any) any { return wrap(map[string]any{"key": value}) })
	}
}

// An object that the API server stores and the operator cannot decode would stop the operator in all namespaces, because the watch that
// delivers it ends. The API server checks a template and a status only with the schema and the rules of the CRD.
func TestRules_decode(t *testing.T) {
	for kind, object := range map[string]func() any{podSets: func() any { return &appv1alpha1.PodSet{} }, ats: func() any { return &cnatv1alpha1.At{} }} {
		a := admissions[kind]()
		visit := func(path string, content any) {
			errs := validation.ValidateCustomResource(nil, content, a.object)
			if slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Type != field.ErrorTypeRequired }) { // Other fields are missing.
				return
			}
			data, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			undecodable := json.Unmarshal(data, object())
			if undecodable == nil {
				return
			}
			rejections, _ := a.rules.Validate(context.Background(), nil, a.schema, content, nil, celconfig.RuntimeCELCostBudget)
			if !slices.ContainsFunc(rejections, func(err *field.Error) bool { return err.Field == path }) {
				t.Errorf("%s %s: %v", kind, data, undecodable)
			}
		}
		for _, part := range []string{"spec", "status"} {
			properties := a.schema.Properties[part]
			leaves(part, &properties, visit, func(value any) any {
				return map[string]any{"metadata": map[string]any{"name": "web"}, part: value}
			})
		}
	}
}
