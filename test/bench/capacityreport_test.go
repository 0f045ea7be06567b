// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestFit(t *testing.T) {
	l := fit([][2]float64{{0, 10}, {1000, 12}, {3000, 16}})
	if math.Abs(l.start-10) > 1e-9 || math.Abs(l.slope-0.002) > 1e-12 {
		t.Errorf("got %+v", l)
	}
}

func TestTheModelShowsWhenItDoesNotFit(t *testing.T) {
	points := [][2]float64{{0, 0}, {1024, 1}, {2048, 8}} // The line of the least squares is 4x/1024 - 1.
	if got, want := modelCells(points, operatorRSS), " 4 KiB | 7 KiB | 2 MiB |"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := modelCells(points[:1], operatorRSS); got != " | | |" {
		t.Errorf("one point: got %q", got)
	}
}

func TestOnlyLimitsAreRanked(t *testing.T) {
	var samples []sample
	for unit, each := range map[string]float64{etcdSize: .001, operatorRSS: .001, serverHeap: .1, restartTime: .1} {
		for _, n := range []int{0, 1000} {
			samples = append(samples, sample{Metric: "M12", Case: fmt.Sprint(n, waitingAts), Arm: p, Unit: unit, Values: []float64{each * float64(n)}})
		}
	}
	table := millionTable(summarize(samples))
	place := -1
	for _, want := range []string{
		"| resident memory of the operator | 1000 MiB | 512 MiB, the memory limit in config/manager, which can be raised | 195% |",
		"| etcd, largest quota | 1000 MiB | 8192 MiB, the largest quota that etcd recommends | 12% |",
		"| live memory of kube-apiserver | 100000 MiB | the memory of its machine, which it shares with etcd |  |",
		"| time of a restart | 100000 s | none; the target is 15 s |  |",
	} {
		at := strings.Index(table, want)
		if at <= place {
			t.Errorf("%q is missing, or in the wrong place of\n%s", want, table)
		}
		place = at
	}
}
