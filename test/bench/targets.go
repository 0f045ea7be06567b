// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The limits that plots and targets share.
const (
	shareOfWire  = 0.9 // M1, of the same requests without a controller
	writesPerPod = 1.2 // M2, to create sets of ten
	// M2: bounds against regressions. They are the figures of an earlier measurement, whose repetitions differed by as much as the last
	// digit.
	writesUntilReady, writesToScaleDown = 6.55, 2.85
	burstOverWire                       = 1.15 // M4, of the time that the bare client needs for the pods
	doneOverWire                        = 1.2  // M6, of the time that the bare client needs for the writes
)

// memoryTargets are the targets of M7 in MiB without the program's file, by the number of pods.
var memoryTargets = map[int]float64{1000: 25, 10000: 60, 50000: 250}

// row is a line of the table of targets.
type row struct {
	metric, what, limit, before, value string
	reps                               int
	peer, verdict                      string
}

// targetRows compares figures with the targets.
type targetRows struct {
	figures
	rows []row
}

// valueOf returns the value of an arm that a target is about.
type valueOf func(arm string) measured

// atMost adds a target that is reached if the value of the operator is no larger than limit, at the precision at which both are shown. There
// is no row if it was not measured. peer is the controller of Kubernetes whose value is shown next to it, "" if there is none.
func (t *targetRows) atMost(metric, what string, limit float64, of valueOf, peer, unit string) {
	t.add(metric, what, "at most ", limit, of, peer, unit, func(v float64) bool { return math.Round(v*100) <= math.Round(limit*100) })
}

// atLeast adds a target that is reached if the value of the operator is no smaller than limit.
func (t *targetRows) atLeast(metric, what string, limit float64, of valueOf, unit string) {
	t.add(metric, what, "at least ", limit, of, "", unit, func(v float64) bool { return math.Round(v*100) >= math.Round(limit*100) })
}

func (t *targetRows) add(metric, what, relation string, limit float64, of valueOf, peer, unit string, reaches func(v float64) bool) {
	value := of(p)
	if len(value.reps) == 0 {
		return
	}
	sameRun := func(arm string) string {
		if other := of(arm); other.run == value.run {
			return other.text(unit)
		}
		return ""
	}
	next := row{
		metric: metric, what: what, limit: relation + withUnit(limit, unit), before: sameRun(beforeArm.name), value: value.text(unit),
		reps: len(value.reps), verdict: value.verdict(limit, repetitionsNeeded(metric, what), reaches),
	}
	if peer != "" {
		next.peer = sameRun(peer)
	}
	t.rows = append(t.rows, next)
}

// get returns a quantile of what was measured.
func (t *targetRows) get(metric, what, arm, unit string, q float64) measured {
	return measuredOf(t.of(metric, what, arm, unit), q)
}

// quantile returns a quantile of what was measured of each arm. The unit may be empty, if there is only one.
func (t *targetRows) quantile(metric, what, unit string, q float64) valueOf {
	return func(arm string) measured { return t.get(metric, what, arm, unit, q) }
}

// median returns the median of what was measured of each arm.
func (t *targetRows) median(metric, what string) valueOf { return t.quantile(metric, what, "", .5) }

// comparedWith divides the median of each arm by that of another one.
func (t *targetRows) comparedWith(other, metric, what string) valueOf {
	of := t.median(metric, what)
	return func(arm string) measured { return paired(of(arm), of(other), quotient) }
}

// The operator, and the controllers that it is compared with.
const p, r, c = "P", "R-tuned", "C-tuned"

// times is the unit of a ratio.
const times = "x"

// targetsOf compares all figures with the targets.
func targetsOf(f figures) []row {
	t := &targetRows{figures: f}
	t.sets()
	t.timers()
	t.memory()
	t.restarts()
	t.fairness()
	t.capacity()
	return t.rows
}

func (t *targetRows) sets() {
	grids := t.cases("M1", isGrid)
	for _, g := range grids {
		t.atLeast("M1", g+", speed compared with the same requests of a bare client", shareOfWire, t.comparedWith(wireAll, "M1", g), times)
		t.atLeast("M1", g+", speed compared with the ReplicaSet controller, tuned", 1, t.comparedWith(r, "M1", g), times)
	}
	for _, g := range grids {
		if strings.HasSuffix(g, " x 10") {
			create := g + " create, per pod"
			t.atMost("M2", create, writesPerPod, t.median("M2", create), r, "writes")
			down := g + " 10 to 7, per set"
			t.atMost("M2", down, 3+writesToScaleDown, t.median("M2", down), r, "writes")
		}
		remove := g + " delete, per set"
		t.atMost("M2", remove, 0, t.median("M2", remove), r, "writes")
	}
	ready := "100 x 10 ready, per set" // In the other grids, the pods take longer than 5 s to become ready.
	t.atMost("M2", ready, writesUntilReady, t.median("M2", ready), r, "writes")
	for _, what := range t.cases("M3", func(what string) bool { return !strings.Contains(what, "kwok") }) {
		t.atMost("M3", what, .5, t.median("M3", what), r, "reconciles")
	}
	for _, g := range grids {
		t.atMost("M11", g+", processor time compared with the ReplicaSet controller, tuned", 1, t.comparedWith(r, "M11", g), "", times)
	}
}

func (t *targetRows) timers() {
	for _, target := range []struct{ q, limit float64 }{{.5, 5}, {p99, 15}} {
		what := fmt.Sprintf("sparse, p%.0f of the delay", target.q*100)
		t.atMost("M4", what, target.limit, t.quantile("M4", "sparse", "", target.q), c, "ms")
	}
	t.atMost("M6", "sparse, p99", 35, t.quantile("M6", "sparse", "", p99), c, "ms")
	for _, what := range t.cases("M4", isBurst) {
		allPods := t.get("M4", what, wirePods, "", 1) // the time until the bare client has created as many pods
		late := func(arm string) measured { return paired(t.get("M4", what, arm, "", p99), allPods, quotient) }
		t.atMost("M4", what+", p99 compared with a bare client that creates the pods", burstOverWire, late, c, times)
		behind := func(arm string) measured {
			allWrites := paired(allPods, t.median("M5", what+afterEnds)(arm), product)
			return paired(t.get("M6", what, arm, "", p99), allWrites, quotient)
		}
		t.atMost("M6", what+", p99 compared with a bare client with as many writes", doneOverWire, behind, c, times)
		writes, events := what+", without events, per timer", what+", events, per timer"
		t.atMost("M5", writes, 4, t.median("M5", writes), c, "writes")
		t.atMost("M5", events, 3, t.median("M5", events), c, "events")
	}
	for _, what := range t.cases("M5", func(what string) bool { return strings.Contains(what, "due when created") }) {
		t.atMost("M5", what, 3, t.median("M5", what), "", "")
	}
}

func (t *targetRows) memory() {
	for _, what := range t.cases("M7", func(what string) bool { return strings.HasSuffix(what, anonymousOnly) }) {
		var own, foreign int
		if n, _ := fmt.Sscanf(what, "%d of its own, %d foreign", &own, &foreign); n == 2 {
			alone := fmt.Sprintf("%d pods of its own%s", own, anonymousOnly)
			added := func(arm string) measured {
				return paired(t.median("M7", what)(arm), t.median("M7", alone)(arm), difference)
			}
			t.atMost("M7", fmt.Sprintf("what %d foreign pods add", foreign), 1, added, r, "MiB")
		} else if limit := memoryTargets[own]; limit > 0 {
			t.atMost("M7", what, limit, t.median("M7", what), r, "MiB")
		}
	}
	for _, what := range t.cases("M7", func(what string) bool { return strings.HasSuffix(what, atPeak) }) {
		rest := strings.TrimSuffix(what, atPeak) + withoutForeign
		peak := func(arm string) measured {
			return paired(t.median("M7", what)(arm), t.median("M7", rest)(arm), quotient)
		}
		t.atMost("M7", what+" compared with the memory at rest without them", 2, peak, "", times)
	}
}

func (t *targetRows) restarts() {
	for _, target := range []struct {
		suffix string
		limit  float64
		unit   string
	}{
		{untilReconciled, 1, "s"}, {", writes", 0, "writes"}, {afterTerm, 3, "s"}, {afterKill, leaseSeconds + 2, "s"},
	} {
		for _, what := range t.cases("M8", func(what string) bool { return strings.HasSuffix(what, target.suffix) }) {
			t.atMost("M8", what, target.limit, t.median("M8", what), r, target.unit)
		}
	}
	for _, what := range t.cases("M9", func(string) bool { return true }) {
		for _, target := range []struct {
			unit  string
			limit float64
		}{{"writes", 0}, {"lists", 0}, {"mcores", 2}} {
			t.atMost("M9", what, target.limit, t.quantile("M9", what, target.unit, .5), "", target.unit)
		}
	}
}

func (t *targetRows) fairness() {
	for _, what := range t.cases("M10", func(what string) bool { return what != "idle" }) {
		extra := func(arm string) measured {
			return paired(t.get("M10", what, arm, "", p99), t.get("M10", "idle", arm, "", p99), difference)
		}
		t.atMost("M10", what+", p99 beyond that of an idle server", 300, extra, r, "ms")
	}
}

// targetTable writes the table of targets.
func targetTable(f figures) string {
	var page strings.Builder
	rows := targetsOf(f)
	slices.SortStableFunc(rows, func(a, b row) int { return byMetric(a.metric, b.metric) })
	page.WriteString("| | measured | target | before | now | repetitions | closest Kubernetes controller, tuned | reached |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&page, "| %s | %s | %s | %s | %s | %d | %s | %s |\n", r.metric, caseName(r.what), r.limit, r.before, r.value, r.reps, r.peer, r.verdict)
	}
	if missing := notMeasured(f); len(missing) > 0 {
		fmt.Fprintf(&page, "\nNot measured yet: %s.\n", strings.Join(missing, "; "))
	}
	return page.String()
}

// notMeasured lists what is part of a full run and is missing.
func notMeasured(f figures) []string {
	var missing []string
	for _, expected := range []struct {
		name, metric string
		has          func(*summary) bool
	}{
		{"the same requests of a bare client", "M1", func(s *summary) bool { return s.arm == wireAll }},
		{"a bare client next to bursts of timers", "M4", func(s *summary) bool { return s.arm == wirePods }},
		{"10000 timers at once", "M4", func(s *summary) bool { return s.what == "10000 at once" }},
		{"50000 pods of its own", "M7", func(s *summary) bool { return strings.HasPrefix(s.what, "50000 pods") }},
		{"the peak of memory at a start", "M7", func(s *summary) bool { return strings.HasSuffix(s.what, atPeak) }},
		{"capacity (M12)", capacityMetric, func(*summary) bool { return true }},
		{"time until the operator is ready and size of the image (M13)", "M13", func(*summary) bool { return true }},
	} {
		if !slices.ContainsFunc(f, func(s *summary) bool { return s.metric == expected.metric && expected.has(s) }) {
			missing = append(missing, expected.name)
		}
	}
	return missing
}
