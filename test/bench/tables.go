// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// metrics are the titles of the tables, in their order.
var metrics = []struct{ name, title string }{
	{"M1", "pods per second, from the creation of the sets to the last pod (more is better)"},
	{"M2", "writes to the API server"},
	{"M3", "reconciles"},
	{"M4", "delay of the pod of a timer, in ms"},
	{"M5", "writes for a timer, from its creation to its end"},
	{"M6", "time from the end of a pod to the result in its At or Job, in ms"},
	{"M7", "resident memory, in MiB: at rest, and the peak of a start"},
	{"M8", "restart and failover"},
	{"M9", "load at rest"},
	{"M10", "time until a one-pod set has its pod, in ms"},
	{"M11", "processor time for 1000 pods from creation to deletion, in seconds"},
	{capacityMetric, "capacity"},
	{"M13", "time from the start of the process until it is ready, and size of the image"},
	{callsMetric, "requests to the API server, from its audit log"},
}

// metricIndex is the place of a metric in the order of the tables.
func metricIndex(name string) int {
	return slices.IndexFunc(metrics, func(m struct{ name, title string }) bool { return m.name == name })
}

// byMetric compares metrics by the order of the tables.
func byMetric(a, b string) int { return metricIndex(a) - metricIndex(b) }

// summary is all samples of one metric, case and arm.
type summary struct {
	metric, what, arm, unit string
	run                     int
	distribution            bool
	reps                    [][]float64
}

// summarize groups samples, in the order in which they were taken.
func summarize(samples []sample) figures {
	var all figures
	byKey := map[[4]string]*summary{}
	for _, s := range samples {
		group, ok := byKey[s.key()]
		if !ok {
			group = &summary{metric: s.Metric, what: s.Case, arm: s.Arm, unit: s.Unit, run: s.Run}
			byKey[s.key()] = group
			all = append(all, group)
		}
		group.reps = append(group.reps, s.Values)
		group.distribution = group.distribution || len(s.Values) > 1
	}
	return all
}

// sameRun tells whether both were measured, and in the same run, so that they can be compared.
func (s *summary) sameRun(other *summary) bool { return s != nil && other != nil && s.run == other.run }

// all returns the values of all repetitions, sorted.
func (s *summary) all() []float64 { return slices.Sorted(slices.Values(slices.Concat(s.reps...))) }

// at returns the median of a quantile of each repetition. For single values it is their median. If a repetition has too few samples
// for a p99, at returns the quantile of the samples of all repetitions.
func (s *summary) at(q float64) float64 {
	if s.distribution && s.fewestSamples() < tailSamples {
		return quantile(s.all(), q)
	}
	return median(s.perRep(q))
}

// fewestSamples returns how many samples a repetition has at least.
func (s *summary) fewestSamples() int {
	return len(slices.MinFunc(s.reps, func(a, b []float64) int { return len(a) - len(b) }))
}

// perRep returns a quantile of each repetition.
func (s *summary) perRep(q float64) []float64 {
	perRep := make([]float64, len(s.reps))
	for i, values := range s.reps {
		perRep[i] = quantile(slices.Sorted(slices.Values(values)), q)
	}
	return perRep
}

// cell returns the text of a table cell: the median and the range.
func (s *summary) cell() string {
	all := s.all()
	if s.distribution {
		return describeQuantiles(s.at, len(all), all[len(all)-1])
	}
	if all[0] == all[len(all)-1] {
		return number(all[0])
	}
	return fmt.Sprintf("%s (%s to %s)", number(median(all)), number(all[0]), number(all[len(all)-1]))
}

// tables writes a table for each metric: a row for each case and a column for each arm.
func tables(r *raw, all figures) string {
	var page strings.Builder
	for _, metric := range metrics {
		table := tableOf(all, metric.name)
		if table == "" || metric.name == capacityMetric { // The page about capacity has these figures.
			continue
		}
		fmt.Fprintf(&page, "\n## %s: %s\n\n%s", metric.name, metric.title, table)
		if metric.name == callsMetric {
			page.WriteString(agents(r))
		}
	}
	return page.String()
}

// tableOf writes the table of a metric, or nothing if nothing was measured.
func tableOf(all figures, metric string) string {
	var rows, arms []string
	cells := map[[2]string]string{}
	for _, s := range all {
		if s.metric != metric {
			continue
		}
		row := s.what
		if slices.Contains([]string{"M8", "M9", capacityMetric, "M13"}, metric) { // They have several units.
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
		return ""
	}
	if metric == callsMetric { // The calls of all arms in a phase are listed together.
		rows = byPhase(rows)
	}
	slices.SortFunc(arms, byArm)
	var table strings.Builder
	table.WriteString("| |")
	for _, arm := range arms {
		fmt.Fprintf(&table, " %s |", fullName(arm))
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(arms)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(&table, "| %s |", caseName(row))
		for _, arm := range arms {
			fmt.Fprintf(&table, " %s |", cells[[2]string{row, arm}])
		}
		table.WriteString("\n")
	}
	return table.String()
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
func agents(r *raw) string {
	var page strings.Builder
	page.WriteString("\nThe user agents:\n\n")
	for _, arm := range slices.SortedFunc(maps.Keys(r.Agents), byArm) {
		fmt.Fprintf(&page, "- %s: `%s`\n", fullName(arm), strings.Join(slices.Sorted(slices.Values(r.Agents[arm])), "`, `"))
	}
	return page.String()
}

// repetitions tells how often the cases of each metric were measured.
func repetitions(samples []sample) string {
	fewest, most := map[string]int{}, map[string]int{}
	for _, s := range summarize(samples) {
		n := len(s.reps)
		if fewest[s.metric] == 0 || n < fewest[s.metric] {
			fewest[s.metric] = n
		}
		most[s.metric] = max(most[s.metric], n)
	}
	var texts []string
	for _, metric := range slices.SortedFunc(maps.Keys(most), byMetric) {
		text := fmt.Sprintf("%s %d", metric, fewest[metric])
		if most[metric] > fewest[metric] {
			text += fmt.Sprintf(" to %d", most[metric])
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// metricsOf lists the metrics of the samples of some arms.
func metricsOf(samples []sample, of func(arm string) bool) string {
	var measured []string
	for _, s := range samples {
		if of(s.Arm) && !slices.Contains(measured, s.Metric) {
			measured = append(measured, s.Metric)
		}
	}
	slices.SortFunc(measured, byMetric)
	return strings.Join(measured, ", ")
}

// conditionsOf describes the measurement of one metric.
func conditionsOf(r *raw, metric string) string {
	part := *r
	part.Samples = slices.DeleteFunc(slices.Clone(r.Samples), func(s sample) bool { return s.Metric != metric })
	return conditions(&part)
}

// conditions describes each run: what it measured, the commit of the operator, the time, the machine, and the versions.
func conditions(r *raw) string {
	var page strings.Builder
	page.WriteString("\n**These figures say nothing about later commits of the operator.**\n\n")
	for i, run := range r.Runs {
		samples := slices.DeleteFunc(slices.Clone(r.Samples), func(s sample) bool { return s.Run != i })
		if len(samples) > 0 {
			fmt.Fprintf(&page, "- %s\n", run.describe(samples))
		}
	}
	fmt.Fprintf(&page, "\nRepetitions: %s.\n", repetitions(r.Samples))
	return page.String()
}

// describe describes a run that took some samples.
func (r benchmarkRun) describe(samples []sample) string {
	loads, steals := make([]float64, 0, len(samples)), make([]float64, 0, len(samples))
	for _, s := range samples {
		loads, steals = append(loads, s.Load), append(steals, 100*s.Steal)
	}
	slices.Sort(loads)
	slices.Sort(steals)
	what := metricsOf(samples, func(arm string) bool { return arm == operatorArm.name })
	if what == "" {
		what = metricsOf(samples, func(string) bool { return true }) + " of other programs only"
	}
	m := r.Machine
	text := fmt.Sprintf("%s: commit %s, %s UTC, %d cores (%s), %d GB, Linux %s, %s, Kubernetes %s, etcd %s, kwok %s. Load average, including the benchmark: median %s, from %s to %s.",
		what, m.Versions[operatorVersion], r.Started.Format("2 January 2006, from 15:04"), m.Cores, m.CPU, m.MemoryGB, m.Kernel, m.Go,
		strings.TrimPrefix(m.Versions["kube-apiserver"], "Kubernetes "), m.Versions["etcd"], m.Versions["kwok"],
		number(median(loads)), number(loads[0]), number(loads[len(loads)-1]))
	if before := m.Versions[beforeVersion]; before != "" {
		text += fmt.Sprintf(" Before: commit %s.", before)
	}
	if most := steals[len(steals)-1]; most > 0 {
		text += fmt.Sprintf(" CPU steal: median %s%%, maximum %s%%.", number(median(steals)), number(most))
	}
	return text
}
