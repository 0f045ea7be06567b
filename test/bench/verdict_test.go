// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name string
		reps []float64
		want string
	}{
		{"reached by all", []float64{8, 9, 10}, "yes"},
		{"reached by none", []float64{11, 12, 13}, "**no**"},
		{"reached by some, the median is near", []float64{5, 9.5, 20}, "undecided"},
		{"missed by some, the median is near", []float64{5, 10.5, 20}, "undecided"},
		{"reached by some, the median is far away", []float64{5, 6, 20}, "yes"},
		{"two repetitions", []float64{1, 1}, "undecided"},
	} {
		m := measured{value: median(tc.reps), reps: tc.reps}
		if got := m.verdict(10, 3, func(v float64) bool { return v <= 10 }); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
	if got := once(0)(p).verdict(0, 1, func(v float64) bool { return v <= 0 }); got != "yes" {
		t.Errorf("once: got %s", got)
	}
}

func TestPairsAreOfTheSameRepetition(t *testing.T) {
	a := measured{reps: []float64{10, 30, 90, 7}, run: 1, fewest: 50}
	got := paired(a, measured{reps: []float64{10, 10, 10}, run: 1}, quotient)
	if !slices.Equal(got.reps, []float64{1, 3, 9}) || got.value != 3 || got.text(times) != "3x (max of 50)" {
		t.Errorf("got %+v, %s", got, got.text(times))
	}
	if got := paired(a, measured{reps: []float64{10}, run: 2}, quotient); got.text(times) != "" {
		t.Errorf("of two runs: got %+v", got)
	}
}

// TestTargetsOfBursts checks the limits of M4 and M6: the time that the bare client needs, in the same repetition, for as many pods, and
// for as many writes as the arm itself makes after the pods have ended.
func TestTargetsOfBursts(t *testing.T) {
	const what = "100 at once"
	var samples []sample
	add := func(metric, what, arm, unit string, values ...float64) {
		for rep, v := range values {
			s := sample{Metric: metric, Case: what, Arm: arm, Unit: unit, Rep: rep, Values: []float64{v}}
			if metric != "M5" {
				s.Values = slices.Repeat(s.Values, 100)
			}
			samples = append(samples, s)
		}
	}
	add("M4", what, p, msLate, 100, 220, 330)
	add("M4", what, beforeArm.name, msLate, 500, 1000, 1500)
	add("M4", what, c, msLate, 900, 800, 600)
	add("M4", wireCase(what, 32), wirePods, msLate, 100, 200, 300)
	add("M6", what, p, "ms", 200, 400, 600)
	add("M6", what, c, "ms", 1000, 2000, 3000)
	add("M5", what+afterEnds, p, "writes", 2, 2, 2)
	add("M5", what+afterEnds, c, "writes", 5, 5, 5)

	want := []row{
		{"M4", what + ", p99 compared with a bare client that creates the pods", "at most 1.15x", "5x", "1.10x", 3, "4x", "yes"},
		{"M6", what + ", p99 compared with a bare client with as many writes", "at most 1.20x", "", "1x", 3, "2x", "yes"},
	}
	if got := targetsOf(withBestWidths(summarize(samples))); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
