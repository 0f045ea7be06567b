// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// million is how many waiting Ats the model is asked about.
const million = 1_000_000

// restartTarget is the longest time of a restart next to all objects, in s. It is a goal, not a limit.
const restartTarget = 15

// line is a straight line that was fitted to measured points.
type line struct{ start, slope float64 }

func (l line) at(x float64) float64 { return l.start + l.slope*x }

// fit returns the line with the least squares of the distances from the points, of which there must be two.
func fit(points [][2]float64) line {
	var x, y, xx, xy float64
	for _, p := range points {
		x, y, xx, xy = x+p[0], y+p[1], xx+p[0]*p[0], xy+p[0]*p[1]
	}
	n := float64(len(points))
	slope := (n*xy - x*y) / (n*xx - x*x)
	return line{start: (y - slope*x) / n, slope: slope}
}

// residual returns the largest distance of a point from the line.
func (l line) residual(points [][2]float64) float64 {
	largest := 0.0
	for _, p := range points {
		largest = max(largest, math.Abs(p[1]-l.at(p[0])))
	}
	return largest
}

// lastSlope returns the slope between the last two points. If it differs from that of the line, the points are not on a line.
func lastSlope(points [][2]float64) float64 {
	a, b := points[len(points)-2], points[len(points)-1]
	return (b[1] - a[1]) / (b[0] - a[0])
}

// levelsOf are the measured points of a unit of M12, by the number of objects.
func (f figures) levelsOf(suffix, unit string) [][2]float64 {
	var points [][2]float64
	for _, s := range f {
		number, found := strings.CutSuffix(s.what, suffix)
		if n, err := strconv.Atoi(number); found && err == nil && s.metric == capacityMetric && s.unit == unit {
			points = append(points, [2]float64{float64(n), s.at(.5)})
		}
	}
	slices.SortFunc(points, func(a, b [2]float64) int { return int(a[0] - b[0]) })
	return points
}

// model returns the line of a unit, or false if fewer than two sizes were measured.
func (f figures) model(suffix, unit string) (line, bool) {
	points := f.levelsOf(suffix, unit)
	if len(points) < 2 {
		return line{}, false
	}
	return fit(points), true
}

// wireRate is the highest rate of the bare client that creates only pods.
func (f figures) wireRate() float64 {
	best := 0.0
	for _, g := range f.cases("M1", isGrid) {
		if s := f.of("M1", g, wirePods, ""); s != nil {
			best = max(best, s.at(.5))
		}
	}
	return best
}

// capacity adds the targets of M12.
func (t *targetRows) capacity() {
	for _, target := range []struct {
		suffix, object string
		limit          float64
	}{{waitingAts, "waiting At", 2}, {podsByKwok, "pod", 3}} {
		for _, memory := range []struct{ name, unit string }{{"live memory", operatorHeap}, {"resident memory, with garbage,", operatorRSS}} {
			if l, ok := t.model(target.suffix, memory.unit); ok {
				t.atMost(capacityMetric, memory.name+" of the operator for each "+target.object, target.limit, once(l.slope*1024), "", "KiB")
			}
		}
	}
	for _, what := range t.cases(capacityMetric, func(what string) bool { return strings.HasSuffix(what, dueInMinute) }) {
		t.atMost(capacityMetric, what+", p99 of the delay", 100, t.quantile(capacityMetric, what, msLate, p99), "", "ms")
	}
	for _, next := range []struct{ suffix, also string }{{waitingAts, ""}, {podsByKwok, ", and all Ats"}} {
		if points := t.levelsOf(next.suffix, restartTime); len(points) > 0 {
			last := points[len(points)-1]
			t.atMost(capacityMetric, fmt.Sprintf("restart next to %.0f%s%s", last[0], next.suffix, next.also), restartTarget, once(last[1]), "", "s")
		}
	}
	for _, target := range []struct {
		suffix string
		limit  float64
	}{{afterTerm, restartTarget}, {afterKill, restartTarget + leaseSeconds}} {
		t.atMost(capacityMetric, allOfIt+target.suffix, target.limit, t.median(capacityMetric, allOfIt+target.suffix), "", "s")
	}
	t.atMost("M13", startCase, 500, t.median("M13", startCase), "", "ms")
	t.atMost("M13", imageCase, 15, t.median("M13", imageCase), "", "MB")
}

// writeCapacity writes the page about capacity, if there are figures for it.
func writeCapacity(r *raw, all figures, path string) error {
	if len(all.levelsOf(waitingAts, operatorHeap)) < 2 {
		return nil
	}
	directory := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	page := []string{capacityIntroduction, conditionsOf(r, capacityMetric), capacityMethod}
	for i, g := range []struct{ title, suffix, file string }{
		{"Waiting Ats", waitingAts, "waiting-ats.svg"}, {"Waiting Ats with a template", templatedAts, ""}, {"Pods", podsByKwok, "pods.svg"},
	} {
		if len(all.levelsOf(g.suffix, operatorHeap)) < 2 {
			continue
		}
		section := "## " + g.title + "\n\n"
		if g.file != "" {
			if err := os.WriteFile(filepath.Join(directory, g.file), memoryCurves(all, g.title, g.suffix), 0o644); err != nil {
				return err
			}
			section += fmt.Sprintf("![%s](%s/%s)\n\n", g.title, filepath.Base(directory), g.file)
		}
		page = append(page, section+levelTable(all, g.suffix))
		if i == 0 {
			page = append(page, millionTable(all))
		}
	}
	page = append(page, "## All of it\n\n"+tableOf(slices.DeleteFunc(slices.Clone(all), func(s *summary) bool {
		return slices.ContainsFunc([]string{waitingAts, templatedAts, podsByKwok}, func(suffix string) bool { return strings.HasSuffix(s.what, suffix) })
	}), capacityMetric), capacityAdvice)
	return os.WriteFile(path, []byte(strings.Join(page, "\n")), 0o644)
}

// memoryCurves draws what the objects take where.
func memoryCurves(all figures, title, suffix string) []byte {
	var curves []curve
	for _, c := range []struct{ unit, name, color string }{
		{operatorRSS, "operator, resident memory", "#0072b2"}, {serverHeap, "kube-apiserver, live memory", "#d55e00"}, {etcdSize, "etcd, stored", "#009e73"},
	} {
		if points := all.levelsOf(suffix, c.unit); len(points) > 1 {
			curves = append(curves, curve{name: c.name, color: c.color, points: points})
		}
	}
	return lineChart(title+": memory and storage", strings.TrimSpace(suffix), "MiB", curves, 0, "")
}

// levelTable shows the measured values, and what the model says each object adds.
func levelTable(all figures, suffix string) string {
	var table strings.Builder
	var levels []int
	for _, point := range all.levelsOf(suffix, operatorHeap) {
		levels = append(levels, int(point[0]))
	}
	table.WriteString("| |")
	for _, n := range levels {
		fmt.Fprintf(&table, " %s |", tick(float64(n)))
	}
	table.WriteString(" each adds | each adds, last step | largest residual |\n|---|" + strings.Repeat("---|", len(levels)+3) + "\n")
	for _, unit := range []string{operatorHeap, operatorRSS, serverHeap, etcdSize, restartTime, writeCount, cpuTime} {
		points := all.levelsOf(suffix, unit)
		fmt.Fprintf(&table, "| %s |", unit)
		for _, n := range levels {
			cell := ""
			if i := slices.IndexFunc(points, func(p [2]float64) bool { return int(p[0]) == n }); i >= 0 {
				cell = number(points[i][1])
			}
			fmt.Fprintf(&table, " %s |", cell)
		}
		table.WriteString(modelCells(points, unit) + "\n")
	}
	return table.String()
}

// modelCells are what the model says that one object adds to a value, what it adds between the last two sizes, and how far the model is
// from a measured value at most.
func modelCells(points [][2]float64, unit string) string {
	if len(points) < 2 || unit == writeCount || unit == cpuTime {
		return " | | |"
	}
	factor, small, large := 1024.0, "KiB", "MiB"
	if unit == restartTime {
		factor, small, large = 1e6, "us", "s"
	}
	l := fit(points)
	return fmt.Sprintf(" %s %s | %s %s | %s %s |", number(l.slope*factor), small, number(lastSlope(points)*factor), small, number(l.residual(points)), large)
}

// millionTable shows what the model says about a million waiting Ats. What has a limit comes first, the part that gives first at the top.
func millionTable(all figures) string {
	type part struct {
		name, measured, unit string
		limit                float64 // 0: none
		note                 string
		needed               float64
	}
	var parts []part
	for _, p := range []part{
		{name: "etcd, default quota", measured: etcdSize, unit: "MiB", limit: 2 * 1024, note: "`--quota-backend-bytes` by default"},
		{name: "etcd, largest quota", measured: etcdSize, unit: "MiB", limit: 8 * 1024, note: "the largest quota that etcd recommends"},
		{name: "resident memory of the operator", measured: operatorRSS, unit: "MiB", limit: 512, note: "the memory limit in config/manager, which can be raised"},
		{name: "live memory of kube-apiserver", measured: serverHeap, unit: "MiB", note: "the memory of its machine, which it shares with etcd"},
		{name: "time of a restart", measured: restartTime, unit: "s", note: "none; the target is " + number(restartTarget) + " s"},
	} {
		if l, ok := all.model(waitingAts, p.measured); ok {
			p.needed = l.at(million)
			parts = append(parts, p)
		}
	}
	share := func(p part) float64 {
		if p.limit == 0 {
			return 0
		}
		return p.needed / p.limit
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(share(b), share(a)) })
	var table strings.Builder
	table.WriteString("## A million waiting Ats without a template\n\nThe model is a straight line through the measured points. " +
		"What has the largest share of its limit gives first. The size of etcd is that of the objects and events, without history and free " +
		"pages, so the file is larger. The operator was measured without a memory limit. " +
		"With one, the Go runtime collects garbage more often.\n\n| | needed | limit | share |\n|---|---|---|---|\n")
	for _, p := range parts {
		limit, percent := p.note, ""
		if p.limit > 0 {
			limit, percent = fmt.Sprintf("%s %s, %s", number(p.limit), p.unit, p.note), fmt.Sprintf("%.0f%%", 100*share(p))
		}
		fmt.Fprintf(&table, "| %s | %s %s | %s | %s |\n", p.name, number(p.needed), p.unit, limit, percent)
	}
	if writes, cpu := all.levelsOf(waitingAts, writeCount), all.levelsOf(waitingAts, cpuTime); len(writes) > 0 && len(cpu) > 0 {
		fmt.Fprintf(&table, "\nUntil all are PENDING, the operator makes %s million writes and uses %s minutes of one core.\n",
			number(writes[len(writes)-1][1]*million/1e6), number(cpu[len(cpu)-1][1]*million/1000/60))
	}
	if rate := all.wireRate(); rate > 0 {
		fmt.Fprintf(&table, "\nIn M1 of [benchmarks.md](benchmarks.md), the API server created %s pods per second for a bare client. If a million Ats were due at "+
			"the same time, their pods alone would take at least %s minutes there, with any operator.\n", number(rate), number(million/rate/60))
	}
	return table.String()
}

const capacityIntroduction = `# Capacity

This page shows what many objects cost: waiting Ats, Ats that are due within a minute, and pods of PodSets. It is generated by
` + "`make bench-report`" + ` from the figures of M12. [benchmarks.md](benchmarks.md) describes the machine and the other measurements.
`

const capacityMethod = `## How it is measured

<!-- commands: checked (takes hours) -->

` + "```" + `
make bench METRICS=M12
make bench METRICS=M12 SIZES='-waiting 1000,3000,10000 -kwoksets 50,150,500 -due 1000'   # a tenth, for a small machine
` + "```" + `

- More and more Ats are created that are due on the next day, with a schedule and a command only, and then some with a template of
  500 bytes. Then PodSets of 10 are created next to them, whose pods [kwok](https://kwok.sigs.k8s.io) makes ready.
- At each number of objects, the operator is restarted. The time counts from the start of the process until it has reconciled each
  object once. The live memory is read after a garbage collection, the size of etcd after a compaction and a defragmentation. The size
  of etcd includes the events, which expire after an hour.
- Then Ats are created next to all of that which are due one after the other within a minute. Their pods end after that minute. At the
  end, the leader of two operators is ended, by SIGTERM and by ` + "`kill -9`" + `, and the time counts until the standby has created the
  pod of a new PodSet. A standby fills its caches only when it leads. After ` + "`kill -9`" + `, the 15 s of the lease are
  added.
- "Each adds" is the slope of a straight line that is fitted to the measured points, and "last step" the slope between the last two of
  them. "Largest residual" is the largest distance of a point from the line.
- Resident memory is without the program's file, at least 35 s after a start: after 30 s, the operator returns the garbage of its start
  to the operating system. It includes some garbage, so it is larger than the live memory, and grows when the operator has more to do.
`

const capacityAdvice = `## How to go on

- Raise the memory limit of the operator first: see ` + "`MEMORY_LIMIT`" + ` in [configuration.md](configuration.md).
- One installation for each group of namespaces, with ` + "`WATCH_NAMESPACE`" + `, divides the memory, the restart, and the work of the
  leader. It does not relieve the API server and etcd, which all installations share.
- An At that is done stays in etcd until it is deleted. Set ` + "`spec.ttlSecondsAfterFinished`" + `, and keep what you need elsewhere.
- A template is stored in each At: compare the tables of Ats with and without one.
- What etcd cannot store needs several clusters.
`
