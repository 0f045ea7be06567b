// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// picture is a plot in a file.
type picture struct{ title, file string }

// Colours that the colour-blind can tell apart (Okabe and Ito).
var colours = map[string]color.Color{
	"P": color.RGBA{R: 0, G: 114, B: 178, A: 255}, "W": color.RGBA{R: 120, G: 120, B: 120, A: 255},
	"R-tuned": color.RGBA{R: 230, G: 159, B: 0, A: 255}, "R-stock": color.RGBA{R: 240, G: 228, B: 66, A: 255},
	"C-tuned": color.RGBA{R: 213, G: 94, B: 0, A: 255}, "C-stock": color.RGBA{R: 204, G: 121, B: 167, A: 255},
	"N": color.RGBA{R: 0, G: 158, B: 115, A: 255},
}

// writePlots writes all plots for which there are figures.
func writePlots(r *raw, directory string) ([]picture, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	all := summarize(r.Samples)
	var pictures []picture
	for _, p := range []struct {
		picture
		draw func() (*plot.Plot, error)
	}{
		{picture{"Pods per second", "pods-per-second.svg"}, func() (*plot.Plot, error) { return bars(all, "M1", "", "pods/s") }},
		{picture{"Writes per pod, creation", "writes-per-pod.svg"}, func() (*plot.Plot, error) { return bars(all, "M2", "create, per pod", "writes") }},
		{picture{"Memory at rest", "memory.svg"}, func() (*plot.Plot, error) { return bars(all, "M7", "", "MiB") }},
		{picture{"Lateness of a burst of timers", "lateness.svg"}, func() (*plot.Plot, error) { return lateness(all) }},
	} {
		drawn, err := p.draw()
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", p.file, err)
		}
		if drawn == nil {
			continue
		}
		drawn.Title.Text = p.title
		drawn.Legend.Padding = vg.Points(6)
		if err := drawn.Save(20*vg.Centimeter, 8*vg.Centimeter, filepath.Join(directory, p.file)); err != nil {
			return nil, err
		}
		pictures = append(pictures, p.picture)
	}
	return pictures, nil
}

// inLines breaks the names of cases that are too long for one line.
var inLines = strings.NewReplacer(", ", ",\n", " run by ", "\nrun by ")

// bars shows the medians of a metric: a group of bars for each case that ends in suffix, a bar for each arm.
func bars(all []*summary, metric, suffix, unit string) (*plot.Plot, error) {
	var cases []string
	values := map[string]map[string]float64{}
	for _, s := range all {
		if s.metric != metric || !strings.HasSuffix(s.what, suffix) || strings.Contains(s.what, "in flight") || strings.HasSuffix(s.what, anonymousOnly) {
			continue
		}
		if !slices.Contains(cases, s.what) {
			cases = append(cases, s.what)
		}
		if values[s.arm] == nil {
			values[s.arm] = map[string]float64{}
		}
		values[s.arm][s.what] = s.at(.5)
	}
	if len(cases) == 0 {
		return nil, nil
	}
	p := plot.New()
	p.Y.Label.Text = unit
	p.Legend.Top = true
	width := vg.Points(12)
	n := 0
	for _, arm := range armOrder {
		if values[arm] == nil {
			continue
		}
		heights := make(plotter.Values, len(cases))
		for i, what := range cases {
			heights[i] = values[arm][what]
		}
		chart, err := plotter.NewBarChart(heights, width)
		if err != nil {
			return nil, err
		}
		chart.Color, chart.LineStyle.Width = colours[arm], 0
		chart.Offset = width * (vg.Length(n) - vg.Length(len(values)-1)/2)
		n++
		p.Add(chart)
		p.Legend.Add(arm, chart)
	}
	labels := make([]string, len(cases))
	for i, what := range cases {
		labels[i] = inLines.Replace(what)
	}
	p.NominalX(labels...)
	p.X.Min, p.X.Max = -0.5, float64(len(cases))-0.2 // Room for the legend.
	return p, nil
}

// lateness shows, for the largest burst, the share of timers that were served by a time.
func lateness(all []*summary) (*plot.Plot, error) {
	most, largest := 0, ""
	for _, s := range all {
		var n int
		if _, err := fmt.Sscanf(s.what, "%d at once", &n); err == nil && s.metric == "M4" && n > most {
			most, largest = n, s.what
		}
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = largest+": ms late", "share of the pods"
	n := 0
	for _, arm := range armOrder {
		i := slices.IndexFunc(all, func(s *summary) bool { return s.metric == "M4" && s.what == largest && s.arm == arm })
		if i < 0 || arm == "C-stock" {
			continue // It would squeeze the others into a corner.
		}
		sorted := all[i].all()
		points := make(plotter.XYs, len(sorted))
		for j, ms := range sorted {
			points[j] = plotter.XY{X: ms, Y: float64(j+1) / float64(len(sorted))}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colours[arm], vg.Points(2)
		p.Add(line)
		p.Legend.Add(arm, line)
		n++
	}
	if n == 0 {
		return nil, nil
	}
	return p, nil
}
