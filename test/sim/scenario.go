// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redhat/podset-operator/test/invariants"
)

// Scenario is a sequence of steps. A step is the seed of its random choices, so the steps that remain do the same things when
// others are removed.
type Scenario struct {
	Seed  uint64
	Steps []uint64
	// Only is the resource of the only object of a small scenario, which exists from the start; "": users create up to maxObjects
	// objects of each kind.
	Only string
}

const (
	maxObjects = 2  // of each kind
	smallSteps = 30 // of a small scenario
	smallShare = 10 // One scenario in so many is crowded.
)

// NewScenario returns the scenario of a seed. Most scenarios are small.
func NewScenario(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // reproducible; independent of the steps
	if random.IntN(smallShare) == 0 {
		return Crowded(seed)
	}
	return Small(seed)
}

// Small returns a scenario with one object, which users, nodes, and faults change.
func Small(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
	return Scenario{Seed: seed, Steps: steps(random, smallSteps), Only: pick(random, podSets, ats)}
}

// Crowded returns a scenario with several objects of both kinds.
func Crowded(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
	return Scenario{Seed: seed, Steps: steps(random, 20+random.IntN(100))}
}

func steps(random *rand.Rand, n int) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		list[i] = random.Uint64()
	}
	return list
}

// Result is the result of a scenario.
type Result struct {
	Violations []invariants.Violation
	Timeline   []string
	Stats      Stats
}

// Violates tells whether an invariant did not hold.
func (r Result) Violates(invariant string) bool {
	return slices.ContainsFunc(r.Violations, func(v invariants.Violation) bool { return v.Invariant == invariant })
}

// Run runs a scenario. It records a timeline if trace is true.
func Run(t *testing.T, operator Operator, scenario Scenario, trace bool) (result Result) {
	t.Helper()
	start := time.Now()
	// A panic prints the labels of its goroutine.
	defer pprof.SetGoroutineLabels(context.Background())
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("seed", strconv.FormatUint(scenario.Seed, 10))))
	synctest.Test(t, func(t *testing.T) {
		e := &env{operator: operator, only: scenario.Only, state: invariants.NewState(), started: map[int]time.Time{}, arrived: make(chan struct{}, 1), begin: time.Now()}
		e.prompt, e.streams = scenario.Seed%2 == 1, scenario.Seed/2%2 == 1
		e.lagging = !e.prompt
		e.store = NewStore(time.Now) // of the bubble
		if trace {
			e.trace = &result.Timeline
		}
		defer func() {
			e.end()
			result.Stats = e.stats
		}()
		if err := e.live(scenario); err != nil {
			t.Fatal(err)
		}
		result.Violations = e.check()
	})
	result.Stats.Scenarios, result.Stats.Real = 1, time.Since(start)
	return result
}

// live runs the steps, and then lets everything settle without faults.
func (e *env) live(scenario Scenario) error {
	e.order = scenario.Seed
	if err := e.restart(); err != nil {
		return err
	}
	for n := 0; n < 30 && len(e.watchers) < len(groupResources); n++ { // The process fills its caches.
		e.settle()
		if !e.progress() {
			e.advance(100 * time.Millisecond)
		}
	}
	if e.only != "" {
		random := rand.New(rand.NewPCG(scenario.Seed, 2)) //nolint:gosec // reproducible
		e.createOrEdit(random, e.only, e.nameOf(random, e.only))
	}
	for _, step := range scenario.Steps {
		e.settle()
		if err := e.step(step); err != nil {
			return err
		}
	}
	return e.quiesce()
}
