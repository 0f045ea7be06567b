// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

// upTo returns the values from 1 to n.
func upTo(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i + 1)
	}
	return values
}

func TestAP99NeedsAHundredSamples(t *testing.T) {
	for _, tc := range []struct {
		name string
		reps [][]float64
		want string
	}{
		{"few samples in all", [][]float64{upTo(50), upTo(49)}, "p50 25, max 50"},
		{"few samples in a repetition", [][]float64{upTo(50), upTo(50)}, "p50 25, p99 50, max 50"},
		{"the samples of all repetitions count", [][]float64{upTo(60), {1000}, upTo(60)}, "p50 31, p99 60, max 1000"},
		{"many samples in each repetition", [][]float64{upTo(100), upTo(200), upTo(300)}, "p50 100, p99 198, max 300"},
		{"values", [][]float64{{1}, {2}}, "1.50 (1 to 2)"},
	} {
		samples := make([]sample, len(tc.reps))
		for rep, values := range tc.reps {
			samples[rep] = sample{Rep: rep, Values: values}
		}
		if got := summarize(samples)[0].cell(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
	if got := describeValues(upTo(99)); got != "p50 50, max 99" {
		t.Errorf("one repetition: got %q", got)
	}
}

func TestRepetitionsOfEachMetric(t *testing.T) {
	samples := []sample{
		{Metric: "M4", Case: "a"}, {Metric: "M1", Case: "a"}, {Metric: "M1", Case: "b"}, {Metric: "M4", Case: "a", Rep: 1}, {Metric: "M1", Case: "b", Rep: 1},
	}
	if got, want := repetitions(samples), "M1 1 to 2, M4 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConditionsOfEachRun(t *testing.T) {
	started := time.Date(2026, 11, 22, 23, 45, 0, 0, time.UTC)
	on := func(cpu, commit string) machine {
		return machine{CPU: cpu, Versions: map[string]string{operatorVersion: commit}}
	}
	first := on("one", "a")
	first.Versions[beforeVersion] = "z"
	r := &raw{
		Runs: []benchmarkRun{{started, first}, {started, on("two", "b")}, {started, on("three", "c")}, {started, on("none", "d")}},
		Samples: []sample{
			{Metric: "M2", Arm: "P"}, {Metric: "M1", Arm: "P", Steal: .5}, {Metric: "M3", Arm: "R-tuned"},
			{Metric: "M4", Arm: "P", Run: 1}, {Metric: "M4", Arm: "R-tuned", Run: 2},
		},
	}
	got := conditions(r)
	for _, want := range []string{
		"\n- M1, M2: commit a, 22 November 2026, from 23:45 UTC, 0 cores (one)", "Before: commit z. CPU steal: median 0%, maximum 50%.\n- M4: commit b,", "\n- M4 of other programs only: commit c,",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "none") {
		t.Errorf("a run without figures is described: %s", got)
	}
}
