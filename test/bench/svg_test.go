// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

func TestTicksAreRound(t *testing.T) {
	for _, tc := range []struct {
		largest float64
		want    []string
	}{
		{1347, []string{"0", "200", "400", "600", "800", "1000", "1200", "1400"}},
		{11, []string{"0", "2", "4", "6", "8", "10", "12"}},
		{0.7, []string{"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"}},
		{100000, []string{"0", "20,000", "40,000", "60,000", "80,000", "100,000"}},
		{0, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
	} {
		var got []string
		for _, v := range newScale(0, 1, tc.largest).ticks {
			got = append(got, tick(v))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("up to %g: got %v, want %v", tc.largest, got, tc.want)
		}
	}
}

func TestNamesOfCases(t *testing.T) {
	for what, want := range map[string]string{
		"100 x 10":                 "100 sets of 10",
		"100 x 10 create, per pod": "100 sets of 10, create, per pod",
		"1000 at once":             "1000 at once",
	} {
		if got := caseName(what); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	if got := withBestWidths(summarize([]sample{
		{Metric: "M1", Case: "100 x 10, 16 in flight", Arm: wirePods, Values: []float64{700}},
		{Metric: "M1", Case: "100 x 10, 32 in flight", Arm: wirePods, Values: []float64{900}},
		{Metric: "M4", Case: "300 at once, 16 in flight", Arm: wirePods, Values: []float64{200, 300}},
		{Metric: "M4", Case: "300 at once, 32 in flight", Arm: wirePods, Values: []float64{100, 400}},
	})); len(got) != 2 || got.of("M1", "100 x 10", wirePods, "").at(.5) != 900 || got.of("M4", "300 at once", wirePods, "").at(1) != 300 {
		t.Errorf("not the fastest bare clients: %v", got)
	}
	if what, bare := trimWidth("100 x 10, 16 in flight"); what != "100 x 10" || !bare {
		t.Errorf("got %q, %t", what, bare)
	}
}
