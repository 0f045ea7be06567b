// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// Prometheus sees no increase in a counter that appears with the value 1. So an alert would miss the first failure.
func TestEveryCounterOfRunsExistsBeforeTheFirstRun(t *testing.T) {
	startCounters()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(atRuns)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range families {
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				if label.GetName() == "reason" {
					got = append(got, label.GetValue())
				}
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(resultReasons(t), got); diff != "" {
		t.Errorf("the reasons of api/cnat/v1alpha1/conditions.go (-) and of the counters (+) differ:\n%s", diff)
	}
}

// resultReasons returns the values of the constants that are documented as reasons of status.reason.
func resultReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../api/cnat/v1alpha1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(block.Doc.Text(), "Reasons of status.reason") {
			continue
		}
		for _, spec := range block.Specs {
			value, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, value)
		}
	}
	if len(reasons) == 0 {
		t.Fatal("conditions.go has no reasons of status.reason")
	}
	slices.Sort(reasons)
	return reasons
}
