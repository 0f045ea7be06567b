// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redhat/podset-operator/test/invariants"
)

var seed = flag.Uint64("seed", 0, "seed of the random choices; 0 selects one")

// Seed returns the seed of this run. A failing test prints it.
var Seed = sync.OnceValue(func() uint64 {
	if *seed == 0 {
		return uint64(time.Now().UnixNano())
	}
	return *seed
})

// Random returns a random source that depends only on the seed and on a name.
func Random(name string) *rand.Rand {
	var n uint64
	for _, c := range name {
		n = n*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(Seed(), n)) //nolint:gosec // A test must be able to repeat its choices.
}

// Violation is an invariant that did not hold.
type Violation = invariants.Violation

// Check records that a test checked an invariant, and a violation if it does not hold.
func (e *Env) Check(invariant string, holds bool, format string, args ...any) {
	e.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.checked[invariant] = true
	if !holds {
		e.violations = append(e.violations, Violation{Invariant: invariant, What: fmt.Sprintf(format, args...)})
	}
}

// Violations evaluates everything that has happened so far. A test that calls it expects violations and does not fail because
// of them.
func (e *Env) Violations() []Violation {
	e.mu.Lock()
	e.tolerated = true
	e.mu.Unlock()
	violations, _ := e.evaluate()
	return violations
}

func (e *Env) evaluate() ([]Violation, map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Observer == nil {
		return nil, nil
	}
	events, err := e.Observer.history()
	started := map[int]time.Time{}
	for _, p := range e.processes {
		started[p.Number] = p.Started
	}
	c := invariants.NewChecker(e.controllers.Full, e.Log.All(), started)
	c.Replay(events)
	c.Lists(e.Log.Calls(AnyCall))
	c.KubernetesEvents(e.Log.Events())
	if err != nil {
		c.Violations = append(c.Violations, Violation{Invariant: "observer", What: err.Error()})
	}
	maps.Copy(c.Checked, e.checked)
	return append(c.Violations, e.violations...), c.Checked
}

// report evaluates an environment when its test ends.
func (e *Env) report() {
	violations, checked := e.evaluate()
	results.add(e.controllers.Name, e.fault, violations, checked)
	if !e.tolerated {
		for _, v := range violations {
			e.Errorf("%s", v)
		}
	}
	if e.Failed() {
		e.Logf("replay with: %s", e.replay())
		e.Logf("writes of the operator:\n%s", e.Log)
	}
}

// replay returns the command that repeats the test.
func (e *Env) replay() string {
	name := strings.ReplaceAll(regexp.QuoteMeta(e.Name()), "/", "$$/^") // $$ is a $ to make.
	return fmt.Sprintf("make test-faults RUN='^%s$$' SEED=%d", name, Seed())
}

// score is how often an invariant was checked under a fault, and how often it was violated.
type score struct{ runs, violated int }

// scores are those of all environments, by operator, fault, and invariant.
type scores struct {
	mu sync.Mutex
	by map[string]map[string]map[string]score
}

var results = scores{by: map[string]map[string]map[string]score{}}

func (s *scores) add(operator, fault string, violations []Violation, checked map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[operator] == nil {
		s.by[operator] = map[string]map[string]score{}
	}
	if s.by[operator][fault] == nil {
		s.by[operator][fault] = map[string]score{}
	}
	of := s.by[operator][fault]
	for invariant := range checked {
		v := of[invariant]
		v.runs++
		if slices.ContainsFunc(violations, func(found Violation) bool { return found.Invariant == invariant }) {
			v.violated++
		}
		of[invariant] = v
	}
}

// Table returns the fault x invariant table of an operator as Markdown: "runs", or "violated/runs".
func Table(operator string) string {
	results.mu.Lock()
	defer results.mu.Unlock()
	byNumber := func(a, b string) int {
		if a[0] != b[0] {
			return -strings.Compare(a[:1], b[:1]) // P before A
		}
		m, _ := strconv.Atoi(a[1:])
		n, _ := strconv.Atoi(b[1:])
		return m - n
	}
	columns := map[string]bool{}
	for _, of := range results.by[operator] {
		for invariant := range of {
			columns[invariant] = true
		}
	}
	invariants := slices.SortedFunc(maps.Keys(columns), byNumber)
	var text strings.Builder
	fmt.Fprintf(&text, "| fault | %s |\n|---|%s\n", strings.Join(invariants, " | "), strings.Repeat("---|", len(invariants)))
	for _, fault := range slices.SortedFunc(maps.Keys(results.by[operator]), byNumber) {
		fmt.Fprintf(&text, "| %s |", fault)
		for _, invariant := range invariants {
			switch s := results.by[operator][fault][invariant]; {
			case s.violated > 0:
				fmt.Fprintf(&text, " **%d/%d** |", s.violated, s.runs)
			case s.runs > 0:
				fmt.Fprintf(&text, " %d |", s.runs)
			default:
				text.WriteString("  |")
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}
