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
	metric, what, limit, value string
	reps                       int
	peer, verdict              string
}

// targetRows compares figures with the targets.
type targetRows struct {
	figures
	rows []row
}

// atMost adds a target that is reached if value is no larger than limit, at the precision at which both are shown. There is no row
// if value was not measured. The peer may be missing too.
func (t *targetRows) atMost(metric, what string, limit float64, value, peer measured, unit string) {
	t.add(metric, what, "at most ", limit, value, peer, unit, func(v float64) bool { return math.Round(v*100) <= math.Round(limit*100) })
}

// atLeast adds a target that is reached if value is no smaller than limit.
func (t *targetRows) atLeast(metric, what string, limit float64, value measured, unit string) {
	t.add(metric, what, "at least ", limit, value, measured{}, unit, func(v float64) bool { return math.Round(v*100) >= math.Round(limit*100) })
}

func (t *targetRows) add(metric, what, relation string, limit float64, value, peer measured, unit string, reaches func(v float64) bool) {
	if len(value.reps) == 0 {
		return
	}
	if peer.run != value.run {
		peer = measured{}
	}
	t.rows = append(t.rows, row{
		metric: metric, what: what, limit: relation + withUnit(limit, unit), value: value.text(unit), reps: len(value.reps),
		peer: peer.text(unit), verdict: value.verdict(limit, repetitionsNeeded(metric, what), reaches),
	})
}

// get returns a quantile of what was measured.
func (t *targetRows) get(metric, what, arm, unit string, q float64) measured {
	return measuredOf(t.of(metric, what, arm, unit), q)
}

// median returns the median of what was measured.
func (t *targetRows) median(metric, what, arm string) measured {
	return t.get(metric, what, arm, "", .5)
}

// comparison divides the medians of two arms.
func (t *targetRows) comparison(metric, what, arm, other string) measured {
	return paired(t.median(metric, what, arm), t.median(metric, what, other), quotient)
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
		t.atLeast("M1", g+", speed compared with the same requests of a bare client", shareOfWire, t.comparison("M1", g, p, wireAll), times)
		t.atLeast("M1", g+", speed compared with the ReplicaSet controller, tuned", 1, t.comparison("M1", g, p, r), times)
	}
	for _, g := range grids {
		if strings.HasSuffix(g, " x 10") {
			create := g + " create, per pod"
			t.atMost("M2", create, writesPerPod, t.median("M2", create, p), t.median("M2", create, r), "writes")
			down := g + " 10 to 7, per set"
			t.atMost("M2", down, 3+writesToScaleDown, t.median("M2", down, p), t.median("M2", down, r), "writes")
		}
		remove := g + " delete, per set"
		t.atMost("M2", remove, 0, t.median("M2", remove, p), t.median("M2", remove, r), "writes")
	}
	ready := "100 x 10 ready, per set" // In the other grids, the pods take longer than 5 s to become ready.
	t.atMost("M2", ready, writesUntilReady, t.median("M2", ready, p), t.median("M2", ready, r), "writes")
	for _, what := range t.cases("M3", func(what string) bool { return !strings.Contains(what, "kwok") }) {
		t.atMost("M3", what, .5, t.median("M3", what, p), t.median("M3", what, r), "reconciles")
	}
	for _, g := range grids {
		t.atMost("M11", g+", processor time compared with the ReplicaSet controller, tuned", 1, t.comparison("M11", g, p, r), measured{}, times)
	}
}

func (t *targetRows) timers() {
	for _, target := range []struct{ q, limit float64 }{{.5, 5}, {p99, 15}} {
		what := fmt.Sprintf("sparse, p%.0f of the delay", target.q*100)
		t.atMost("M4", what, target.limit, t.get("M4", "sparse", p, "", target.q), t.get("M4", "sparse", c, "", target.q), "ms")
	}
	t.atMost("M6", "sparse, p99", 35, t.get("M6", "sparse", p, "", p99), t.get("M6", "sparse", c, "", p99), "ms")
	for _, what := range t.cases("M4", isBurst) {
		allPods := t.get("M4", what, wirePods, "", 1) // the time until the bare client has created as many pods
		late := func(arm string) measured { return paired(t.get("M4", what, arm, "", p99), allPods, quotient) }
		t.atMost("M4", what+", p99 compared with a bare client that creates the pods", burstOverWire, late(p), late(c), times)
		behind := func(arm string) measured {
			allWrites := paired(allPods, t.median("M5", what+afterEnds, arm), product)
			return paired(t.get("M6", what, arm, "", p99), allWrites, quotient)
		}
		t.atMost("M6", what+", p99 compared with a bare client with as many writes", doneOverWire, behind(p), behind(c), times)
		writes, events := what+", without events, per timer", what+", events, per timer"
		t.atMost("M5", writes, 4, t.median("M5", writes, p), t.median("M5", writes, c), "writes")
		t.atMost("M5", events, 3, t.median("M5", events, p), t.median("M5", events, c), "events")
	}
	for _, what := range t.cases("M5", func(what string) bool { return strings.Contains(what, "due when created") }) {
		t.atMost("M5", what, 3, t.median("M5", what, p), measured{}, "")
	}
}

func (t *targetRows) memory() {
	for _, what := range t.cases("M7", func(what string) bool { return strings.HasSuffix(what, anonymousOnly) }) {
		var own, foreign int
		if n, _ := fmt.Sscanf(what, "%d of its own, %d foreign", &own, &foreign); n == 2 {
			alone := fmt.Sprintf("%d pods of its own%s", own, anonymousOnly)
			added := func(arm string) measured {
				return paired(t.median("M7", what, arm), t.median("M7", alone, arm), difference)
			}
			t.atMost("M7", fmt.Sprintf("what %d foreign pods add", foreign), 1, added(p), added(r), "MiB")
		} else if limit := memoryTargets[own]; limit > 0 {
			t.atMost("M7", what, limit, t.median("M7", what, p), t.median("M7", what, r), "MiB")
		}
	}
	for _, what := range t.cases("M7", func(what string) bool { return strings.HasSuffix(what, atPeak) }) {
		rest := strings.TrimSuffix(what, atPeak) + withoutForeign
		t.atMost("M7", what+" compared with the memory at rest without them", 2,
			paired(t.median("M7", what, p), t.median("M7", rest, p), quotient), measured{}, times)
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
			t.atMost("M8", what, target.limit, t.median("M8", what, p), t.median("M8", what, r), target.unit)
		}
	}
	for _, what := range t.cases("M9", func(string) bool { return true }) {
		for _, target := range []struct {
			unit  string
			limit float64
		}{{"writes", 0}, {"lists", 0}, {"mcores", 2}} {
			t.atMost("M9", what, target.limit, t.get("M9", what, p, target.unit, .5), measured{}, target.unit)
		}
	}
}

func (t *targetRows) fairness() {
	for _, what := range t.cases("M10", func(what string) bool { return what != "idle" }) {
		extra := func(arm string) measured {
			return paired(t.get("M10", what, arm, "", p99), t.get("M10", "idle", arm, "", p99), difference)
		}
		t.atMost("M10", what+", p99 beyond that of an idle server", 300, extra(p), extra(r), "ms")
	}
}

// targetTable writes the table of targets.
func targetTable(f figures) string {
	var page strings.Builder
	rows := targetsOf(f)
	slices.SortStableFunc(rows, func(a, b row) int { return byMetric(a.metric, b.metric) })
	page.WriteString("| | measured | target | podset-operator | repetitions | closest Kubernetes controller, tuned | reached |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&page, "| %s | %s | %s | %s | %d | %s | %s |\n", r.metric, caseName(r.what), r.limit, r.value, r.reps, r.peer, r.verdict)
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
		{"CronJob and Job controllers with default limits", "M4", func(s *summary) bool { return s.arm == cronJobStock.name }},
	} {
		if !slices.ContainsFunc(f, func(s *summary) bool { return s.metric == expected.metric && expected.has(s) }) {
			missing = append(missing, expected.name)
		}
	}
	return missing
}
