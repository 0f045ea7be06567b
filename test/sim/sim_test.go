// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/redhat/podset-operator/test/sim"
)

var (
	seed     = flag.Uint64("seed", 0, "run only the scenario of this seed and print its timeline; 0: none")
	duration = flag.Duration("duration", 0, "how long scenarios with fresh seeds run")
	fixed    = flag.Uint64("fixed", 300, "the number of scenarios with fixed seeds")
	from     = flag.Uint64("from", 1, "the first fixed seed")
	basic    = flag.Bool("basic", false, "run the scenario of -seed as a finding: see Basic")
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // A scenario leaves much garbage and little else.
	// The steps follow one another, so another processor would mostly search for work. On several processors, goroutines of client-go that
	// start together can run in either order, which would give some seeds two timelines.
	runtime.GOMAXPROCS(1)
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // Their rate limit would carry the clock of one scenario to the next one.
	utilruntime.PanicHandlers = []func(context.Context, any){sim.RecordPanic}
	// The delays of client-go come from the global random source, and the scenarios seed it. A panic prints the seed, which is a label.
	if err := os.Setenv("GODEBUG", os.Getenv("GODEBUG")+",randseednop=0,tracebacklabels=1"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// findings are seeds of basic scenarios that detect a bug that the simulation found, if its fix is reverted.
var findings = []uint64{
	1664,                // P2: another name was used for a pod whose create was not answered.
	5154,                // P4: a pod that no cache had shown since its create was deleted, although a user had taken it.
	35668,               // A11: an At that had missed its deadline ran after the clock moved back.
	1795333474850071530, // P9: an error of another create hid the rejection of one, so that it had no back-off.
	1795333475068241896, // P9: the same, in a large scenario.
	1795354010821529114, // P3: an At that was gone was reconciled again and again.
	1795356997405256144, // P9: the back-off started over because the response to a create took long.
}

// TestSeed prints the timeline of one scenario, without the steps that a violation does not need.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		t.Skip("no -seed")
	}
	scenario := sim.NewScenario(*seed)
	if *basic {
		scenario = sim.Basic(*seed)
	}
	result := sim.Run(t, sim.Ours, scenario, true)
	if len(result.Violations) > 0 {
		scenario = sim.Shrink(t, sim.Ours, scenario, result.Violations[0].Invariant)
		result = sim.Run(t, sim.Ours, scenario, true)
	}
	fmt.Printf("seed %d, %d steps\n%s\n", *seed, len(scenario.Steps), strings.Join(result.Timeline, "\n"))
	for _, v := range result.Violations {
		t.Error(v)
	}
}

// TestScenarios runs scenarios with fixed seeds and, for a while, scenarios with fresh seeds.
func TestScenarios(t *testing.T) {
	if *seed != 0 {
		t.Skip("-seed selects one scenario")
	}
	var small, large, synced sim.Stats
	run := func(number uint64, of func(uint64) sim.Scenario) {
		scenario := of(number)
		result := sim.Run(t, sim.Ours, scenario, false)
		if scenario.Only != "" {
			small.Add(result.Stats)
		} else {
			large.Add(result.Stats)
		}
		if number%2 == 1 {
			synced.Add(result.Stats)
		}
		for _, v := range result.Violations {
			t.Errorf("%s; replay with: make sim SEED=%d", v, number)
		}
	}
	for number := range *fixed {
		run(*from+number, sim.NewScenario)
	}
	if *fixed > 0 {
		for _, number := range findings {
			run(number, sim.Basic)
		}
	}
	if *fixed >= 300 {
		for what, n := range map[string]int{
			"lost responses": synced.LostResponses, "failed calls": synced.Faults, "calls in flight at a crash": synced.Abandoned,
			"stale reads": small.StaleReads - small.StaleWrites, // Not every reconcile writes.
		} {
			if n <= 0 {
				t.Errorf("there are no %s in the scenarios", what)
			}
		}
	}
	start := time.Now()
	base := uint64(start.UnixNano()) //nolint:gosec // any number
	next := base
	for ; !t.Failed() && time.Since(start) < *duration; next++ {
		run(next, sim.NewScenario)
	}
	fmt.Printf("%d scenarios with fixed seeds, and for %v %d with fresh seeds from %d\n", *fixed, *duration, next-base, base)
	fmt.Printf("small: %v\ncrowded: %v\n", small, large)
}

// A seed gives the same timeline every time, byte for byte.
func TestReplay(t *testing.T) {
	for number := range uint64(30) {
		first := sim.Run(t, sim.Ours, sim.NewScenario(number), true).Timeline
		second := sim.Run(t, sim.Ours, sim.NewScenario(number), true).Timeline
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("the timelines of seed %d differ:\n%s", number, diff)
		}
	}
}

// A panic that is not recovered ends the tests. Its stack contains the seed.
func TestRun_stack(t *testing.T) {
	var stack string
	operator := with(sim.Defect{Event: func(*eventsv1.Event) { stack = string(debug.Stack()) }})
	sim.Run(t, operator, sim.NewScenario(4711), false)
	if !strings.Contains(stack, `"seed": "4711"`) {
		t.Errorf("the stack of an operator goroutine does not contain the seed:\n%s", stack)
	}
}

// A violation of a seeded defect shrinks to a few steps.
func TestShrink(t *testing.T) {
	operator := defects["creates a pod under another name after a lost response"].operator
	for number := uint64(2); ; number += 2 { // With an odd seed, the steps before a user's action deliver what is in flight, so they are needed.
		scenario := sim.NewScenario(number)
		if !sim.Run(t, operator, scenario, false).Violates("P2") {
			continue
		}
		short := sim.Shrink(t, operator, scenario, "P2")
		result := sim.Run(t, operator, short, true)
		t.Logf("seed %d: %d of %d steps remain:\n%s\n%v", number, len(short.Steps), len(scenario.Steps), strings.Join(result.Timeline, "\n"), result.Violations)
		if !result.Violates("P2") || len(short.Steps) > 10 {
			t.Errorf("%d of %d steps remain", len(short.Steps), len(scenario.Steps))
		}
		return
	}
}
