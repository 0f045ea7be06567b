// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestRawFiguresSurviveTheirFile(t *testing.T) {
	written := &raw{
		Started: time.Date(2026, 11, 21, 14, 36, 24, 0, time.UTC),
		Machine: machine{CPU: "a", Cores: 2, Versions: map[string]string{"etcd": "3.6.16"}},
		Agents:  map[string][]string{"P": {"podset-operator/v0"}},
		Samples: []sample{
			{Metric: "M1", Case: "100 x 10", Arm: "P", Unit: "pods/s", Commit: "a", Load: 2.7, Steal: 0.25, Values: []float64{668}},
			{Metric: "M1", Case: "100 x 10", Arm: "P", Unit: "pods/s", Commit: "a", Rep: 1, Load: 2.9, Values: []float64{12345}},
			{Metric: "M4", Case: "sparse", Arm: "P", Unit: "ms", Commit: "b", Load: 0.1, Values: []float64{5.291, 0.001}},
		},
	}
	path := filepath.Join(t.TempDir(), "raw.json")
	if err := written.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readRaw(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(written, got) {
		t.Errorf("wrote %+v\nread %+v", written, got)
	}
}

func TestStolenTimeIsPartOfAllTime(t *testing.T) {
	stolen, total := processorTimes("cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if stolen != 80 || total != 360 {
		t.Errorf("stolen %v of %v, want 80 of 360", stolen, total)
	}
}

func TestACompactDistributionHasTheSameQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{102, 300, 1000, 9999} {
		values := make([]float64, n)
		for i := range values {
			values[i] = random.Float64()
		}
		if full, short := describeValues(values), describeValues(inPercentiles(values)); full != short {
			t.Errorf("%d values: %s, compact %s", n, full, short)
		}
	}
}

func TestNewRepetitionsReplaceOldOnesOfTheSameNumber(t *testing.T) {
	figure := func(rep int, commit string, value float64) sample {
		return sample{Metric: "M1", Case: "100 x 10", Arm: "P", Unit: "pods/s", Commit: commit, Rep: rep, Values: []float64{value}}
	}
	r := &raw{Samples: []sample{figure(0, "a", 1), figure(1, "a", 2), figure(2, "a", 3)}}
	r.put(figure(1, "a", 20))
	r.put(figure(3, "a", 40))
	if want := []sample{figure(0, "a", 1), figure(1, "a", 20), figure(2, "a", 3), figure(3, "a", 40)}; !reflect.DeepEqual(r.Samples, want) {
		t.Errorf("of the same commit: got %+v", r.Samples)
	}
	r.put(figure(0, "b", 5))
	if want := []sample{figure(0, "b", 5)}; !reflect.DeepEqual(r.Samples, want) {
		t.Errorf("of another commit: got %+v", r.Samples)
	}
}

func TestCallsOfAPhaseAreDroppedTogether(t *testing.T) {
	calls := func(what, arm string) sample { return sample{Metric: callsMetric, Case: what, Arm: arm} }
	kept := []sample{calls("create: create pods", "R-tuned"), calls("create, per pod: list pods", "P"), {Metric: "M1", Case: "create: ", Arm: "P"}}
	r := &raw{Samples: append([]sample{calls("create: create pods", "P"), calls("create: list pods", "P")}, kept...)}
	r.dropCalls("create", "P")
	if !reflect.DeepEqual(r.Samples, kept) {
		t.Errorf("got %+v", r.Samples)
	}
}

func TestMachinesAreComparableIfOnlyTheOperatorDiffers(t *testing.T) {
	here := machine{CPU: "a", Cores: 2, Kernel: "6", Versions: map[string]string{"etcd": "3", operatorVersion: "a"}}
	for _, tc := range []struct {
		name   string
		change func(*machine)
		want   bool
	}{
		{"operator", func(m *machine) { m.Versions[operatorVersion] = "b" }, true},
		{"etcd", func(m *machine) { m.Versions["etcd"] = "4" }, false},
		{"kernel", func(m *machine) { m.Kernel = "7" }, false},
	} {
		there := here
		there.Versions = maps.Clone(here.Versions)
		tc.change(&there)
		if got := here.comparable(there); got != tc.want {
			t.Errorf("%s: got %t", tc.name, got)
		}
	}
}
