// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	mathrand "math/rand"
	"math/rand/v2"
	"slices"
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
}

// NewScenario returns the scenario of a seed.
func NewScenario(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
	s := Scenario{Seed: seed}
	for range 20 + random.IntN(100) {
		s.Steps = append(s.Steps, random.Uint64())
	}
	return s
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
	synctest.Test(t, func(t *testing.T) {
		e := &env{operator: operator, state: invariants.NewState(), started: map[int]time.Time{}, arrived: make(chan struct{}, 1), begin: time.Now(), prompt: scenario.Seed%2 == 1, lagging: scenario.Seed%2 == 0}
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
	result.Stats.Scenarios = 1
	return result
}

// live runs the steps, and then lets everything settle without faults.
func (e *env) live(scenario Scenario) error {
	mathrand.Seed(int64(scenario.Seed)) //nolint:staticcheck // The delays of client-go come from this source.
	if err := e.restart(); err != nil {
		return err
	}
	for range 30 { // The process fills its caches.
		e.settle()
		if !e.progress() {
			e.advance(100 * time.Millisecond)
		}
	}
	for _, step := range scenario.Steps {
		e.settle()
		mathrand.Seed(int64(step)) //nolint:staticcheck,gosec // see above
		if err := e.step(step); err != nil {
			return err
		}
	}
	return e.quiesce()
}
