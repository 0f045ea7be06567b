// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"

	"github.com/redhat/podset-operator/test/faults"
)

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
func everyScenario(t *testing.T, run func(t *testing.T, name string)) {
	t.Parallel()
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, name)
		})
	}
}

// F1: the process crashes after its first write, and the next one before its second write. The explorers and the simulation crash
// at every write.
func TestCrashes(t *testing.T) {
	everyScenario(t, func(t *testing.T, name string) {
		run := withCrashes(t, name, point{"after", 1}, point{"before", 2})
		e := faults.NewEnv(t, cluster, "F1", faults.Ours)
		run(e)
		if e.Starts() == 1 {
			t.Error("the process did not crash")
		}
	})
}

// withCrashes is a test case that runs a scenario in which each process crashes at its point. The first process counts its writes
// from the moment when the scenario acts.
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
