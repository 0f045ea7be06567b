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
)

var seed = flag.Uint64("seed", 0, "seed of the random choices; 0 draws one")

// Seed returns the seed of this run. It is printed when a test fails.
var Seed = sync.OnceValue(func() uint64 {
	if *seed == 0 {
		return uint64(time.Now().UnixNano())
	}
	return *seed
})

// Random returns a source of random choices that depends on the seed and on a name alone.
func Random(name string) *rand.Rand {
	var n uint64
	for _, c := range name {
		n = n*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(Seed(), n)) //nolint:gosec // A test must be able to repeat its choices.
}

// Check judges an invariant by something else than the events.
func (w *World) Check(invariant string, holds bool, format string, args ...any) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked[invariant] = true
	if !holds {
		w.violations = append(w.violations, Violation{Invariant: invariant, What: fmt.Sprintf(format, args...)})
	}
}

// Violations judges all that has happened so far, and says that the test expects violations.
func (w *World) Violations() []Violation {
	w.mu.Lock()
	w.tolerated = true
	w.mu.Unlock()
	violations, _ := w.verdict()
	return violations
}

func (w *World) verdict() ([]Violation, map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Witness == nil {
		return nil, nil
	}
	events, err := w.Witness.history()
	j := newJudge(w.controllers.Full, w.Log.All(), w.incarnations)
	j.replay(events)
	j.lists(w.Log.Calls(Anything))
	if err != nil {
		j.verdict = append(j.verdict, Violation{Invariant: "witness", What: err.Error()})
	}
	maps.Copy(j.checked, w.checked)
	return append(j.verdict, w.violations...), j.checked
}

// judge is the end of a world.
func (w *World) judge() {
	violations, checked := w.verdict()
	tally.add(w.controllers.Name, w.fault, violations, checked)
	if !w.tolerated {
		for _, v := range violations {
			w.Errorf("%s", v)
		}
	}
	if w.Failed() {
		w.Logf("replay with: %s", w.replay())
		w.Logf("what the operator wrote:\n%s", w.Log)
	}
}

// replay is the command that lives the world again.
func (w *World) replay() string {
	if w.Replay != "" {
		return w.Replay
	}
	name := strings.ReplaceAll(regexp.QuoteMeta(w.Name()), "/", "$$/^") // $$ is a $ to make.
	return fmt.Sprintf("make test-faults RUN='^%s$$' SEED=%d", name, Seed())
}

// score is how often an invariant was judged under a fault, and how often it did not hold.
type score struct{ runs, violated int }

// scores of all worlds, by operator, fault and invariant.
type scores struct {
	mu sync.Mutex
	by map[string]map[string]map[string]score
}

var tally = scores{by: map[string]map[string]map[string]score{}}

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
	tally.mu.Lock()
	defer tally.mu.Unlock()
	byNumber := func(a, b string) int {
		if a[0] != b[0] {
			return -strings.Compare(a[:1], b[:1]) // P before A
		}
		m, _ := strconv.Atoi(a[1:])
		n, _ := strconv.Atoi(b[1:])
		return m - n
	}
	columns := map[string]bool{}
	for _, of := range tally.by[operator] {
		for invariant := range of {
			columns[invariant] = true
		}
	}
	invariants := slices.SortedFunc(maps.Keys(columns), byNumber)
	var text strings.Builder
	fmt.Fprintf(&text, "| fault | %s |\n|---|%s\n", strings.Join(invariants, " | "), strings.Repeat("---|", len(invariants)))
	for _, fault := range slices.SortedFunc(maps.Keys(tally.by[operator]), byNumber) {
		fmt.Fprintf(&text, "| %s |", fault)
		for _, invariant := range invariants {
			switch s := tally.by[operator][fault][invariant]; {
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
