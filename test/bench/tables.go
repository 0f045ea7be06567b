// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// metrics are the titles of the tables, in their order.
var metrics = []struct{ name, title string }{
	{"M1", "from the creation of the sets to the last pod, in pods per second (more is better)"},
	{"M2", "writes to the API server"},
	{"M3", "reconciles"},
	{"M4", "delay of the pod of a timer, in ms"},
	{"M5", "writes for a timer, end to end"},
	{"M6", "time from the end of a pod to the result in its At (or Job), in ms"},
	{"M7", "resident memory, in MiB: at rest, and the peak of a start"},
	{"M8", "restart and failover"},
	{"M9", "at rest"},
	{"M10", "time until a one-pod set has its pod, in ms"},
	{"M11", "processor time for 1000 pods from creation to deletion, in seconds"},
	{callsMetric, "requests to the API server, from its audit log"},
}

// armOrder is the order of the columns.
var armOrder = []string{"P", "W", "R-tuned", "R-stock", "C-tuned", "C-stock", "N"}

// summary is all samples of one metric, case and arm.
type summary struct {
	metric, what, arm, unit string
	distribution            bool
	reps                    [][]float64
}

// summarize groups samples, in the order in which they were taken.
func summarize(samples []sample) []*summary {
	var all []*summary
	byKey := map[[4]string]*summary{}
	for _, s := range samples {
		group, ok := byKey[s.key()]
		if !ok {
			group = &summary{metric: s.Metric, what: s.Case, arm: s.Arm, unit: s.Unit}
			byKey[s.key()] = group
			all = append(all, group)
		}
		group.reps = append(group.reps, s.Values)
		group.distribution = group.distribution || len(s.Values) > 1
	}
	return all
}

// all returns the values of all repetitions, sorted.
func (s *summary) all() []float64 { return slices.Sorted(slices.Values(slices.Concat(s.reps...))) }

// at returns the median of a quantile of each repetition. For single values it is their median.
func (s *summary) at(q float64) float64 {
	perRep := make([]float64, len(s.reps))
	for i, values := range s.reps {
		perRep[i] = quantile(slices.Sorted(slices.Values(values)), q)
	}
	return median(perRep)
}

// cell returns the text of a table cell: the median and the range.
func (s *summary) cell() string {
	all := s.all()
	if s.distribution {
		return fmt.Sprintf("p50 %s, p99 %s, max %s", number(s.at(.5)), number(s.at(.99)), number(all[len(all)-1]))
	}
	if all[0] == all[len(all)-1] {
		return number(all[0])
	}
	return fmt.Sprintf("%s (%s to %s)", number(median(all)), number(all[0]), number(all[len(all)-1]))
}

// tables writes a table for each metric: a row for each case and a column for each arm.
func tables(r *raw) string {
	var page strings.Builder
	all := summarize(r.Samples)
	for _, metric := range metrics {
		var rows, arms []string
		cells := map[[2]string]string{}
		for _, s := range all {
			if s.metric != metric.name {
				continue
			}
			row := s.what
			if metric.name == "M9" {
				row += ", " + s.unit
			}
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
			if !slices.Contains(arms, s.arm) {
				arms = append(arms, s.arm)
			}
			cells[[2]string{row, s.arm}] = s.cell()
		}
		if len(rows) == 0 {
			continue
		}
		if metric.name == callsMetric { // The calls of all arms in a phase are listed together.
			rows = byPhase(rows)
		}
		slices.SortFunc(arms, func(a, b string) int {
			return cmp.Compare(slices.Index(armOrder, a), slices.Index(armOrder, b))
		})
		fmt.Fprintf(&page, "\n### %s: %s\n\n| | %s |\n|---|%s\n", metric.name, metric.title, strings.Join(arms, " | "), strings.Repeat("---|", len(arms)))
		for _, row := range rows {
			fmt.Fprintf(&page, "| %s |", row)
			for _, arm := range arms {
				fmt.Fprintf(&page, " %s |", cells[[2]string{row, arm}])
			}
			page.WriteString("\n")
		}
		if metric.name == callsMetric {
			page.WriteString(agents(r, arms))
		}
	}
	return page.String()
}

// byPhase groups rows named "phase: call" by phase, in the order of the phases.
func byPhase(rows []string) []string {
	var phases []string
	calls := map[string][]string{}
	for _, row := range rows {
		phase, _, _ := strings.Cut(row, ": ")
		if calls[phase] == nil {
			phases = append(phases, phase)
		}
		calls[phase] = append(calls[phase], row)
	}
	var sorted []string
	for _, phase := range phases {
		sorted = append(sorted, slices.Sorted(slices.Values(calls[phase]))...)
	}
	return sorted
}

// agents lists the user agents of the arms.
func agents(r *raw, arms []string) string {
	var page strings.Builder
	page.WriteString("\nThe user agents:\n\n")
	for _, arm := range arms {
		fmt.Fprintf(&page, "- %s: `%s`\n", arm, strings.Join(slices.Sorted(slices.Values(r.Agents[arm])), "`, `"))
	}
	return page.String()
}

// conditions describes the machine, the time, and the versions of the measurement.
func conditions(r *raw) string {
	var page strings.Builder
	loads := make([]float64, 0, len(r.Samples))
	reps := 0
	var commits []string
	for _, s := range r.Samples {
		loads = append(loads, s.Load)
		if !slices.Contains(commits, s.Commit) {
			commits = append(commits, s.Commit)
		}
		reps = max(reps, s.Rep+1)
	}
	slices.Sort(loads)
	m := r.Machine
	fmt.Fprintf(&page, "\nMeasured on %s, from %s UTC: %s, %d cores, %d GB, Linux %s, %s.\n", r.Started.Format("2 January 2006"),
		r.Started.Format("15:04"), m.CPU, m.Cores, m.MemoryGB, m.Kernel, m.Go)
	fmt.Fprintf(&page, "Load average during the measurement, including the benchmark: median %s, from %s to %s. Repetitions: at most %d.\n\n",
		number(median(loads)), number(loads[0]), number(loads[len(loads)-1]), reps)
	fmt.Fprintf(&page, "| program | version |\n|---|---|\n| podset-operator | %s |\n", strings.Join(commits, ", "))
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "etcd", "kwok"} {
		fmt.Fprintf(&page, "| %s | %s |\n", name, m.Versions[name])
	}
	return page.String()
}
