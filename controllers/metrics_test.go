// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

// Prometheus sees no increase in a counter that appears with the value 1, so an alert would miss the first failure.
func TestStartCounters(t *testing.T) {
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
func TestCountRuns(t *testing.T) {
	runs := atRuns.WithLabelValues(string(cnatv1alpha1.ResultFailed), cnatv1alpha1.ReasonPodLost)
	running := testutil.MakeAt("a").Recorded(1, "a-pod", "a-pod-uid").Obj()
	ended := running.DeepCopy()
	ended.Status.Phase, ended.Status.Result, ended.Status.Reason = cnatv1alpha1.PhaseDone, cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonPodLost
	ended.Status.CompletionTime = ptr.To(metav1.Now())
	before := counted(t, runs)
	for _, update := range []event.UpdateEvent{
		{ObjectOld: running, ObjectNew: running}, {ObjectOld: running, ObjectNew: ended}, {ObjectOld: ended, ObjectNew: ended},
	} {
		countRuns().Update(t.Context(), update, nil)
	}
	if got := counted(t, runs) - before; got != 1 {
		t.Errorf("counted %v times", got)
	}
}

func TestStateCollector(t *testing.T) {
	set := podSetWith("a", 2, 3)
	set.Status.ReadyReplicas = 2
	waits := testutil.MakeAt("waits").Recorded(1, "p", "u").Obj()
	waits.Status.Conditions = []metav1.Condition{{Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonPodWaiting}}
	degraded := metav1.Condition{Type: appv1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: appv1alpha1.ReasonPodsFinished}
	set.Status.Conditions = []metav1.Condition{degraded}
	paused := podSetWith("paused", 0, 0)
	paused.Status.Conditions = []metav1.Condition{degraded, {Type: appv1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: appv1alpha1.ReasonPaused}}
	store := newStore(t, interceptor.Funcs{}, set, paused, podSetWith("b", 0, 1), testutil.MakeAt("new").Obj(), waits, testutil.MakeAt("runs").Recorded(1, "q", "v").Obj())
	gather := func(reader client.Reader) map[string]float64 {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(stateCollector{reader: reader})
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.Metric {
				name := family.GetName()
				for _, label := range metric.Label {
					name += " " + label.GetValue()
				}
				got[name] = metric.GetGauge().GetValue()
			}
		}
		return got
	}
	want := map[string]float64{
		"podset_operator_podsets": 3, "podset_operator_podset_desired_pods": 4, "podset_operator_podset_ready_pods": 2, "podset_operator_podsets_degraded": 1,
		"podset_operator_ats PENDING": 1, "podset_operator_ats RUNNING": 2, "podset_operator_ats DONE": 0, "podset_operator_ats_not_started": 1,
	}
	if diff := cmp.Diff(want, gather(store)); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	standby := interceptor.NewClient(store, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return &cache.ErrCacheNotStarted{}
	}})
	if got := gather(standby); len(got) > 0 {
		t.Errorf("a process that does not lead exports %v", got)
	}
}

// resultReasons returns the values of the constants that are documented as values of status.reason.
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
