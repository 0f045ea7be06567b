// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// enough is how many repetitions decide about a target.
const enough = 3

// near is the share of a target within which repetitions that disagree do not decide.
const near = 0.1

// measured is what a row compares with a target. Without repetitions, nothing was measured.
type measured struct {
	value float64   // that of all repetitions
	reps  []float64 // those of each repetition
	run   int
	// samples is how many samples a p99 is of, and fewest how many a repetition has at least. For other values they are 0.
	samples, fewest int
}

// once is a value of the operator that was measured once.
func once(value float64) valueOf {
	return func(arm string) measured {
		if arm != p {
			return measured{}
		}
		return measured{value: value, reps: []float64{value}}
	}
}

// p99 is the quantile that needs many samples.
const p99 = .99

// measuredOf returns a quantile of what was measured.
func measuredOf(s *summary, q float64) measured {
	if s == nil {
		return measured{}
	}
	m := measured{value: s.at(q), reps: s.perRep(q), run: s.run}
	if q == p99 {
		m.samples, m.fewest = len(s.all()), s.fewestSamples()
	}
	return m
}

// paired combines the values of each repetition that both have. The result is the median. Values of different runs are not combined.
func paired(a, b measured, combine func(a, b float64) float64) measured {
	n := min(len(a.reps), len(b.reps))
	if n == 0 || a.run != b.run {
		return measured{}
	}
	result := measured{run: a.run, samples: a.fewest, fewest: a.fewest}
	for i := range n {
		result.reps = append(result.reps, combine(a.reps[i], b.reps[i]))
	}
	result.value = median(result.reps)
	return result
}

func quotient(a, b float64) float64   { return a / b }
func difference(a, b float64) float64 { return a - b }
func product(a, b float64) float64    { return a * b }

// text writes a value with its unit. A p99 of too few samples is their maximum.
func (m measured) text(unit string) string {
	if len(m.reps) == 0 {
		return ""
	}
	text := withUnit(m.value, unit)
	if m.samples > 0 && m.samples < tailSamples {
		text += fmt.Sprintf(" (max of %d)", m.samples)
	}
	return text
}

// withUnit writes a value with its unit.
func withUnit(value float64, unit string) string {
	if unit == times {
		return number(value) + unit
	}
	return strings.TrimSpace(number(value) + " " + unit)
}

// verdict tells whether a target is reached. Too few repetitions do not tell, and neither do repetitions that disagree if their median
// is near the target.
func (m measured) verdict(limit float64, needed int, reaches func(v float64) bool) string {
	disagree := slices.ContainsFunc(m.reps, func(v float64) bool { return reaches(v) != reaches(m.value) })
	switch {
	case len(m.reps) < needed, disagree && math.Abs(m.value-limit) <= near*math.Abs(limit):
		return "undecided"
	case reaches(m.value):
		return "yes"
	default:
		return "**no**"
	}
}

// repetitionsNeeded is how many repetitions decide about a target: one for M9, M12, and 50000 own pods, which take too long for more,
// and for the size of the image, which does not vary.
func repetitionsNeeded(metric, what string) int {
	if metric == capacityMetric || metric == "M9" || metric == "M7" && strings.HasPrefix(what, "50000") || what == imageCase {
		return 1
	}
	return enough
}
