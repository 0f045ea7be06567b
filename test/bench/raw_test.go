// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestRawFiguresSurviveTheirFile(t *testing.T) {
	written := &raw{
		Runs: []benchmarkRun{
			{Started: time.Date(2026, 11, 21, 14, 36, 24, 0, time.UTC), Machine: machine{CPU: "a", Cores: 2, Versions: map[string]string{"etcd": "3.6.16"}}},
			{Started: time.Date(2026, 11, 22, 14, 36, 24, 0, time.UTC), Machine: machine{CPU: "b", Cores: 4, Versions: map[string]string{"etcd": "3.7.0"}}},
		},
		Agents: map[string][]string{"P": {"podset-operator/v0"}},
		Samples: []sample{
			{Metric: "M1", Case: "100 x 10", Arm: "P", Unit: "pods/s", Load: 2.7, Steal: 0.25, Values: []float64{668}},
			{Metric: "M1", Case: "100 x 10", Arm: "P", Unit: "pods/s", Rep: 1, Load: 2.9, Values: []float64{12345}},
			{Metric: "M4", Case: "sparse", Arm: "P", Unit: "ms", Run: 1, Load: 0.1, Values: []float64{5.291, 0.001}},
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
	figure := func(rep, run int, value float64) sample {
		return sample{Metric: "M1", Case: "100 x 10", Arm: "P", Unit: "pods/s", Run: run, Rep: rep, Values: []float64{value}}
	}
	r := &raw{Samples: []sample{figure(0, 0, 1), figure(1, 0, 2), figure(2, 0, 3)}}
	r.put(figure(1, 0, 20))
	r.put(figure(3, 0, 40))
	if want := []sample{figure(0, 0, 1), figure(1, 0, 20), figure(2, 0, 3), figure(3, 0, 40)}; !reflect.DeepEqual(r.Samples, want) {
		t.Errorf("of the same run: got %+v", r.Samples)
	}
	r.put(figure(0, 1, 5))
	if want := []sample{figure(0, 1, 5)}; !reflect.DeepEqual(r.Samples, want) {
		t.Errorf("of another run: got %+v", r.Samples)
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

func TestAllFiguresOfAMetricAreDropped(t *testing.T) {
	kept := []sample{{Metric: "M1", Case: "a"}, {Metric: "M11", Case: "b"}}
	r := &raw{Samples: append([]sample{{Metric: "M12", Case: "a"}, {Metric: "M12", Case: "b", Run: 1}}, kept...)}
	r.dropMetric("M12")
	if !reflect.DeepEqual(r.Samples, kept) {
		t.Errorf("got %+v", r.Samples)
	}
}

func TestARunIsContinuedOnTheSameMachineWithTheSameVersions(t *testing.T) {
	on := func(cpu, commit string) machine {
		return machine{CPU: cpu, Versions: map[string]string{operatorVersion: commit}}
	}
	var r raw
	for i, tc := range []struct {
		on   machine
		want int
	}{{on("one", "a"), 0}, {on("one", "b"), 1}, {on("two", "b"), 2}, {on("one", "a"), 0}} {
		if got := r.begin(time.Unix(int64(i), 0), tc.on); got != tc.want || !reflect.DeepEqual(r.Runs[got].Machine, tc.on) {
			t.Errorf("%d: got run %d of %+v", i, got, r.Runs)
		}
	}
	if len(r.Runs) != 3 || !r.Runs[0].Started.Equal(time.Unix(0, 0)) {
		t.Errorf("got %+v", r.Runs)
	}
}
