// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

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

func TestCommitsOfAllArms(t *testing.T) {
	samples := []sample{
		{Metric: "M2", Arm: "P", Commit: "b"}, {Metric: "M1", Arm: "P", Commit: "b"}, {Metric: "M1", Arm: "P", Commit: "b"},
		{Metric: "M1", Arm: "R-tuned", Commit: "a"}, {Metric: "M3", Arm: "P", Commit: "a"},
	}
	if got, want := commits(samples, true), "commit a (M3); commit b (M1, M2)"; got != want {
		t.Errorf("operator: got %q, want %q", got, want)
	}
	if got, want := commits(samples, false), "commit a (M1)"; got != want {
		t.Errorf("others: got %q, want %q", got, want)
	}
}
