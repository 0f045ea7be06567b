// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// armNames are the arms in the order of the columns, with the names that the page shows and their colors in the plots, which the
// color-blind can tell apart (Okabe and Ito).
var armNames = []struct{ arm, name, color string }{
	{operatorArm.name, "podset-operator", "#0072b2"},
	{beforeArm.name, "podset-operator, before", "#56b4e9"},
	{wireAll, "bare client, same requests", "#7a7a7a"},
	{wirePods, "bare client, pods only", "#b0b0b0"},
	{replicaSetTuned.name, "ReplicaSet controller, tuned", "#e69f00"},
	{replicaSetStock.name, "ReplicaSet controller, default limits", "#c8b400"},
	{cronJobTuned.name, "CronJob and Job controllers, tuned", "#d55e00"},
	{naiveArm.name, "naive reconcilers", "#009e73"},
}

// byArm compares arms by the order of the columns.
func byArm(a, b string) int { return cmp.Compare(armIndex(a), armIndex(b)) }

func armIndex(arm string) int {
	for i, known := range armNames {
		if known.arm == arm {
			return i
		}
	}
	return len(armNames)
}

// fullName is what the page calls an arm.
func fullName(arm string) string {
	if i := armIndex(arm); i < len(armNames) {
		return armNames[i].name
	}
	return arm
}

// figures are the summaries of all samples.
type figures []*summary

// of returns the summary of a metric, case, and arm. The unit may be empty, if there is only one. It returns nil if nothing was
// measured.
func (f figures) of(metric, what, arm, unit string) *summary {
	i := slices.IndexFunc(f, func(s *summary) bool {
		return s.metric == metric && s.what == what && s.arm == arm && (unit == "" || s.unit == unit)
	})
	if i < 0 {
		return nil
	}
	return f[i]
}

// cases returns the cases of a metric for which keep is true, in the order in which they were measured.
func (f figures) cases(metric string, keep func(what string) bool) []string {
	var cases []string
	for _, s := range f {
		if s.metric == metric && keep(s.what) && !slices.Contains(cases, s.what) {
			cases = append(cases, s.what)
		}
	}
	return cases
}

// withBestWidths adds, for each bare client and case, the number of requests in flight with which it was fastest in the last run. The
// others are not shown.
func withBestWidths(all figures) figures {
	best := map[[2]string]*summary{}
	var rest figures
	for _, s := range all {
		what, bare := trimWidth(s.what)
		if !bare {
			rest = append(rest, s)
			continue
		}
		trimmed := *s
		trimmed.what = what
		key := [2]string{what, s.arm}
		if best[key] == nil {
			best[key] = &trimmed
			rest = append(rest, best[key])
		} else if trimmed.run > best[key].run || trimmed.run == best[key].run && trimmed.faster(best[key]) {
			*best[key] = trimmed
		}
	}
	return rest
}

// faster compares bare clients: by the pods per second of M1, or by the delay of the last pod of M4.
func (s *summary) faster(other *summary) bool {
	if s.metric == "M4" {
		return s.at(1) < other.at(1)
	}
	return s.at(.5) > other.at(.5)
}

var gridPrefix = regexp.MustCompile(`^(\d+) x (\d+)`)

// caseName is what the page calls a case: the grids are written out.
func caseName(what string) string {
	what = strings.Replace(what, "m0s", " minutes", 1)
	prefix := gridPrefix.FindString(what)
	if prefix == "" {
		return what
	}
	rest := what[len(prefix):]
	if strings.HasPrefix(rest, " ") {
		rest = "," + rest
	}
	return gridPrefix.ReplaceAllString(prefix, "$1 sets of $2") + rest
}

// trimWidth cuts the number of requests in flight off a case of a bare client.
func trimWidth(what string) (string, bool) {
	if !strings.HasSuffix(what, " in flight") {
		return what, false
	}
	return what[:strings.LastIndex(what, ", ")], true
}

// isGrid tells whether a case of M1 is a grid, and nothing more.
func isGrid(what string) bool {
	var grid [2]int
	n, _ := fmt.Sscanf(what, "%d x %d", &grid[0], &grid[1])
	return n == 2 && what == gridName(grid)
}

// isBurst tells whether a case is a burst of timers.
func isBurst(what string) bool { return strings.HasSuffix(what, " at once") }
