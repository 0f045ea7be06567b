// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redhat/podset-operator/test/faults"
)

// extraWrites is how many more writes than the reference a scenario with faults may have and still be covered completely: timing
// can lead to another write of a status.
const extraWrites = 3

// point is where a process crashes: before or after its n-th write.
type point struct {
	when  string
	write int
}

func (p point) String() string { return fmt.Sprintf("%s write %d", p.when, p.write) }

func (p point) rule(injector *faults.Injector) faults.Rule {
	fault := injector.CrashBefore
	if p.when == "after" {
		fault = injector.CrashAfter
	}
	return faults.Nth(p.write, faults.Writes, fault)
}

// everyScenario calls run for each scenario, in parallel.
func everyScenario(t *testing.T, run func(t *testing.T, name string, r reference)) {
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, name, references[name](t))
		})
	}
}

// tried counts the points that were tried and those that were reached.
type tried struct{ points, reached atomic.Int32 }

// point runs the test of one point; reach returns whether the point was reached.
func (c *tried) point(t *testing.T, name string, reach func(t *testing.T) bool) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		c.points.Add(1)
		if reach(t) {
			c.reached.Add(1)
		}
	})
}

// printAfter prints the counts when a test has ended.
func (c *tried) printAfter(t *testing.T, what string) {
	t.Cleanup(func() { fmt.Printf("%s: %d tried, %d reached\n", what, c.points.Load(), c.reached.Load()) })
}

// F1: a crash before and after every write.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	var count tried
	count.printAfter(t, "crashes")
	everyScenario(t, func(t *testing.T, name string, r reference) {
		for k := 1; k <= r.writes+extraWrites; k++ {
			for _, when := range []string{"before", "after"} {
				p := point{when, k}
				count.point(t, p.String(), func(t *testing.T) bool { return runWithCrashes(t, name, p) == 1 })
			}
		}
	})
}

// Two crashes: the first process crashes after one of its first writes, and the second one before or after one of its first
// writes.
const firstCrashes, secondCrashes = 4, 3

// F1: the process after a crash crashes too.
func TestCrashTwice(t *testing.T) {
	t.Parallel()
	var count tried
	count.printAfter(t, "pairs of crashes")
	everyScenario(t, func(t *testing.T, name string, _ reference) {
		for k := 1; k <= firstCrashes; k++ {
			for j := 1; j <= secondCrashes; j++ {
				for _, when := range []string{"before", "after"} {
					first, second := point{"after", k}, point{when, j}
					count.point(t, fmt.Sprintf("%s, then %s", first, second), func(t *testing.T) bool { return runWithCrashes(t, name, first, second) == 2 })
				}
			}
		}
	})
}

// runWithCrashes runs a scenario in which each process crashes at its point. The first process counts its writes from the moment
// when the scenario acts. It returns the number of crashes.
func runWithCrashes(t *testing.T, name string, points ...point) int {
	run := withCrashes(t, name, points...)
	e := faults.NewEnv(t, cluster, "F1", faults.Ours)
	run(e)
	return e.Starts() - 1
}

// withCrashes is a test case that runs a scenario with crashes.
func withCrashes(t *testing.T, name string, points ...point) testCase {
	started := 0
	return withScenario(t, name, func(operator *faults.Process) {
		operator.Inject(points[0].rule(operator.Injector))
	}, func(injector *faults.Injector) {
		if started > 0 && started < len(points) {
			injector.Inject(points[started].rule(injector))
		}
		started++
	})
}
