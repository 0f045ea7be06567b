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
