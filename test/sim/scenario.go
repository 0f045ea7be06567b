// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/redhat/podset-operator/test/invariants"
)

// Scenario is a sequence of steps. A step is the seed of its random choices, so the remaining steps do the same when others are removed.
type Scenario struct {
	Seed  uint64
	Steps []uint64
	// Only is the resource of the only object of a small scenario, which exists from the start. If it is "", users create up to maxObjects
	// objects of each kind.
	Only string
	// NoUsers is true if only the operator and its faults change the objects, so that a twin without faults shows how many pods must be
	// created and deleted.
	NoUsers bool
	// NoFaults is true for a twin.
	NoFaults bool
	// With are the behaviors of nodes, webhooks, clocks, and other controllers.
	With []Behavior
}

const (
	maxObjects = 2  // of each kind
	smallSteps = 30 // of a small scenario
	smallShare = 10 // One in this many scenarios is large.
	twinShare  = 10 // One in this many small scenarios has a twin.
)

// NewScenario returns the scenario of a seed.
func NewScenario(seed uint64) Scenario {
	scenario := Basic(seed)
	random := rand.New(rand.NewPCG(seed, 4)) //nolint:gosec // reproducible
	if random.IntN(twinShare) == 0 && scenario.Only != "" {
		scenario.NoUsers = true
		scenario.Steps = append(scenario.Steps, steps(random, smallSteps)...) // after the change
		return scenario
	}
	if scenario.With = behave(seed); scenario.has(Purge) { // A retry needs time.
		scenario.Steps = append(scenario.Steps, steps(random, smallSteps)...)
	}
	return scenario
}

// Basic returns a scenario in which users act and nodes have only the basic behavior. Most of them are small.
func Basic(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // reproducible; independent of the steps
	if random.IntN(smallShare) == 0 {
		return Large(seed)
	}
	return Small(seed)
}

// Small returns a scenario with one object, which users, nodes, and faults change.
func Small(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
	return Scenario{Seed: seed, Steps: steps(random, smallSteps), Only: pick(random, podSets, ats)}
}

// Large returns a scenario with several objects of both kinds.
func Large(seed uint64) Scenario {
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
	counts     counts
}

// Violates reports whether an invariant did not hold.
func (r Result) Violates(invariant string) bool {
	return slices.ContainsFunc(r.Violations, func(v invariants.Violation) bool { return v.Invariant == invariant })
}

// Run runs a scenario, and its twin if it has one. It records a timeline if trace is true.
func Run(t *testing.T, operator Operator, scenario Scenario, trace bool) Result {
	t.Helper()
	result := run(t, operator, scenario, trace)
	if scenario.NoUsers {
		twin := scenario
		twin.NoFaults = true
		expected := run(t, operator, twin, false)
		if result.counts != expected.counts {
			what := fmt.Sprintf("%d pods were created and %d deleted, but without faults %d and %d", result.counts.creates, result.counts.deletes, expected.counts.creates, expected.counts.deletes)
			result.Violations = append(result.Violations, invariants.Violation{Invariant: "P8", What: what})
		}
	}
	return result
}

func run(t *testing.T, operator Operator, scenario Scenario, trace bool) (result Result) {
	t.Helper()
	start := time.Now()
	// A panic prints the labels of its goroutine.
	defer pprof.SetGoroutineLabels(context.Background())
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("seed", strconv.FormatUint(scenario.Seed, 10))))
	synctest.Test(t, func(t *testing.T) {
		e := &env{operator: operator, scenario: scenario, state: invariants.NewState(), started: map[int]time.Time{}, fates: map[types.UID]*fate{}, runs: map[types.UID]*invariants.Run{}, told: map[types.UID]invariants.Told{}, answers: map[string]remembered{}, budgets: map[string]*policyv1.PodDisruptionBudget{}, webhook: newWebhook(scenario), arrived: make(chan struct{}, 1), begin: time.Now()}
		e.synced, e.streams = scenario.Seed%2 == 1, scenario.Seed/2%2 == 1
		e.lagging = !e.synced
		e.store = NewStore(time.Now) // of the bubble
		e.setClocks()
		if trace {
			e.trace = &result.Timeline
		}
		defer func() {
			e.end()
			result.Stats = e.stats
		}()
		if err := e.live(); err != nil {
			t.Fatal(err)
		}
		result.Violations, result.counts = e.check(), e.counts()
	})
	result.Stats.Scenarios, result.Stats.Real = 1, time.Since(start)
	return result
}

// live runs the steps, and then lets everything settle without faults.
func (e *env) live() error {
	e.order = e.scenario.Seed
	if err := e.restart(); err != nil {
		return err
	}
	for n := 0; n < 30 && len(e.watchers) < len(groupResources); n++ { // The process fills its caches.
		e.runUntilBlocked()
		if !e.progress() {
			e.advance(100 * time.Millisecond)
		}
	}
	first, second := e.scenario.Steps, []uint64(nil)
	if e.scenario.NoUsers {
		half := len(first) / 2
		first, second = first[:half], first[half:]
	}
	random := rand.New(rand.NewPCG(e.scenario.Seed, 2)) //nolint:gosec // reproducible
	if e.webhook.oneName && e.scenario.Seed%2 == 0 {
		e.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: oneName}, Spec: templateOf("foreign").Spec}, ", which has no owner")
	}
	e.createFirst(random)
	if err := e.take(first); err != nil {
		return err
	}
	if e.scenario.NoUsers && e.scenario.Only == podSets {
		if _, err := e.settleWithoutFaults(); err != nil {
			return err
		}
		e.synced = !e.lagging
		e.editSpec(random.IntN(2) == 0, random, "a")
	}
	if err := e.take(second); err != nil {
		return err
	}
	return e.expectIdle()
}

// take takes steps, most of which are faults. A twin has none.
func (e *env) take(steps []uint64) error {
	if e.scenario.NoFaults {
		return nil
	}
	for _, step := range steps {
		e.runUntilBlocked()
		if err := e.step(step); err != nil {
			return err
		}
	}
	return nil
}

func (e *env) createFirst(random *rand.Rand) {
	switch only := e.scenario.Only; {
	case only == "":
	case !e.scenario.NoUsers:
		e.createOrEdit(random, only, e.nameOf(random, only))
	case only == ats:
		e.createLasting(random)
	default:
		e.createSet(random, "a")
	}
}
