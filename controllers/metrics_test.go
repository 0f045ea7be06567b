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
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
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

// A status can be stored although the response to its write is lost, so the cache decides what is counted.
func TestAnAtThatEndsIsCountedOnce(t *testing.T) {
	count := func() float64 {
		var metric dto.Metric
		if err := atRuns.WithLabelValues(string(cnatv1alpha1.ResultFailed), cnatv1alpha1.ReasonPodLost).Write(&metric); err != nil {
			t.Fatal(err)
		}
		return metric.GetCounter().GetValue()
	}
	running := testutil.MakeAt("a").Recorded(1, "a-pod", "a-pod-uid").Obj()
	ended := running.DeepCopy()
	ended.Status.Phase, ended.Status.Result, ended.Status.Reason = cnatv1alpha1.PhaseDone, cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonPodLost
	ended.Status.CompletionTime = ptr.To(metav1.Now())
	before := count()
	for _, update := range []event.UpdateEvent{
		{ObjectOld: running, ObjectNew: running}, {ObjectOld: running, ObjectNew: ended}, {ObjectOld: ended, ObjectNew: ended},
	} {
		if !countRuns().Update(update) {
			t.Error("an event was dropped")
		}
	}
	if got := count() - before; got != 1 {
		t.Errorf("counted %v times", got)
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
