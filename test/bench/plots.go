// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// picture is a plot in a file. It has no data if there are no figures for it.
type picture struct {
	title, file string
	data        []byte
}

// writePlots writes all plots for which there are figures.
func writePlots(all figures, directory string) ([]picture, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	drawn := slices.DeleteFunc([]picture{speed(all), writes(all), processorTime(all), memoryAtRest(all), delays(all)}, func(p picture) bool { return p.data == nil })
	for _, p := range drawn {
		if err := os.WriteFile(filepath.Join(directory, p.file), p.data, 0o644); err != nil {
			return nil, err
		}
	}
	return drawn, nil
}

// bars draws the medians of a metric: a group of bars for each case, a bar for each arm. goal gives the target of a case, 0 for
// none, and what it is called.
func (p picture) bars(all figures, metric, unit string, keep func(what string) bool, goal func(what string) (float64, string)) picture {
	var groups []group
	for _, what := range all.cases(metric, keep) {
		g := group{name: caseName(strings.TrimSuffix(what, anonymousOnly))}
		if goal != nil {
			g.target, g.goal = goal(what)
		}
		for _, known := range armNames {
			if s := all.of(metric, what, known.arm, ""); s != nil {
				g.bars = append(g.bars, bar{name: known.name, color: known.color, value: s.at(.5)})
			}
		}
		groups = append(groups, g)
	}
	if len(groups) > 0 {
		p.data = barChart(p.title, unit, groups)
	}
	return p
}

func speed(all figures) picture {
	goal := func(what string) (float64, string) {
		if s := all.of("M1", what, wireAll, ""); s.sameRun(all.of("M1", what, operatorArm.name, "")) {
			return shareOfWire * s.at(.5), "target: 90% of the same requests"
		}
		return 0, ""
	}
	return picture{title: "Speed: pods per second, until the last pod exists (more is better)", file: "pods-per-second.svg"}.
		bars(all, "M1", "pods per second", isGrid, goal)
}

func writes(all figures) picture {
	const suffix = " create, per pod"
	goal := func(what string) (float64, string) {
		if strings.HasSuffix(what, " x 10"+suffix) {
			return writesPerPod, "target: at most " + number(writesPerPod)
		}
		return 0, ""
	}
	return picture{title: "Load: writes to the API server for each created pod (fewer are better)", file: "writes-per-pod.svg"}.
		bars(all, "M2", "writes per pod", func(what string) bool {
			return isGrid(strings.TrimSuffix(what, suffix)) && strings.HasSuffix(what, suffix)
		}, goal)
}

func processorTime(all figures) picture {
	goal := func(what string) (float64, string) {
		if s := all.of("M11", what, replicaSetTuned.name, ""); s.sameRun(all.of("M11", what, operatorArm.name, "")) {
			return s.at(.5), "target: no more than the ReplicaSet controller"
		}
		return 0, ""
	}
	return picture{title: "Processor time of 1000 pods, from creation to deletion (less is better)", file: "processor-time.svg"}.
		bars(all, "M11", "seconds", isGrid, goal)
}

func memoryAtRest(all figures) picture {
	goal := func(what string) (float64, string) {
		var own int
		if _, err := fmt.Sscanf(what, "%d pods of its own", &own); err != nil || memoryTargets[own] == 0 {
			return 0, ""
		}
		return memoryTargets[own], fmt.Sprintf("target: %s MiB", number(memoryTargets[own]))
	}
	return picture{title: "Memory at rest" + anonymousOnly + " (less is better)", file: "memory.svg"}.
		bars(all, "M7", "MiB", func(what string) bool { return strings.HasSuffix(what, anonymousOnly) }, goal)
}

// delays shows, for the largest burst, what share of its pods existed after a time.
func delays(all figures) picture {
	most, largest := 0, ""
	for _, what := range all.cases("M4", isBurst) {
		var n int
		if _, err := fmt.Sscanf(what, "%d at once", &n); err == nil && n > most {
			most, largest = n, what
		}
	}
	p := picture{title: fmt.Sprintf("Delay of %d timers that are due at the same time (further left is better)", most), file: "lateness.svg"}
	var curves []curve
	for _, known := range armNames {
		s := all.of("M4", largest, known.arm, "")
		if s == nil {
			continue
		}
		line := curve{name: known.name, color: known.color}
		for percent := range percentiles + 1 {
			line.points = append(line.points, [2]float64{s.at(float64(percent)/percentiles) / 1000, float64(percent)})
		}
		curves = append(curves, line)
	}
	if len(curves) == 0 {
		return p
	}
	target, goal := 0.0, ""
	if s := all.of("M4", largest, wirePods, ""); s.sameRun(all.of("M4", largest, operatorArm.name, "")) {
		target, goal = burstOverWire*s.at(1)/1000, "target for 99%"
	}
	p.data = lineChart(p.title, "seconds after the timers were due", "% of the pods exist", curves, target, goal)
	return p
}
