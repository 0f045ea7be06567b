// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

var plotFile = flag.String("plot", "", "The file for a plot of the delays of timers that are due together, as SVG. If empty, there is no plot.")

// curve is the sorted delays of an arm.
type curve struct {
	arm    string
	delays []time.Duration
}

// colors are the colors of the arms. People who are color-blind can tell them apart.
var colors = map[string]string{operator.name: "#0072b2", cronJobController.name: "#d55e00", bareClient.name: "#7a7a7a"}

// The plot shows the share of the pods, from bottom to top, that exist after a time, from 10 ms to 10 s in a logarithmic scale.
const (
	left, right, top, bottom = 60.0, 780.0, 70.0, 350.0
	firstDecade, lastDecade  = 1, 4 // of milliseconds
)

func plotX(d time.Duration) float64 {
	decade := math.Log10(max(float64(d)/float64(time.Millisecond), 1))
	share := (decade - firstDecade) / (lastDecade - firstDecade)
	return left + min(max(share, 0), 1)*(right-left)
}

func plotY(share float64) float64 { return bottom - share*(bottom-top) }

// writePlot writes a plot.
func writePlot(path, title string, curves []curve) error {
	var svg strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&svg, format+"\n", a...) }
	line(`<svg xmlns="http://www.w3.org/2000/svg" width="820" height="400" viewBox="0 0 820 400" font-family="system-ui, sans-serif" font-size="13">`)
	line(`<rect width="100%%" height="100%%" rx="8" fill="#ffffff"/>`)
	line(`<text x="16" y="26" font-weight="bold" fill="#222222">%s (further left is better)</text>`, title)
	for share := 0.0; share <= 1; share += .25 {
		line(`<path d="M%g %gH%g" stroke="#d8d8d8"/>`, left, plotY(share), right)
		line(`<text x="%g" y="%g" text-anchor="end" fill="#222222">%g%%</text>`, left-8, plotY(share)+4, share*100)
	}
	for _, d := range []time.Duration{10, 30, 100, 300, 1000, 3000, 10000} {
		x := plotX(d * time.Millisecond)
		line(`<path d="M%.1f %gV%g" stroke="#d8d8d8"/>`, x, top, bottom)
		line(`<text x="%.1f" y="%g" text-anchor="middle" fill="#222222">%s</text>`, x, bottom+18, d*time.Millisecond)
	}
	line(`<text x="%g" y="%g" text-anchor="middle" fill="#222222">time after the timers were due</text>`, (left+right)/2, bottom+38)
	for i, c := range curves {
		x := left + float64(i)*220
		line(`<path d="M%g 48h22" stroke="%s" stroke-width="4"/>`, x, colors[c.arm])
		line(`<text x="%g" y="53" fill="#222222">%s</text>`, x+28, strings.ReplaceAll(c.arm, "-", " "))
		var points strings.Builder
		for percent := range 101 {
			fmt.Fprintf(&points, "%.1f,%.1f ", plotX(quantile(c.delays, float64(percent)/100)), plotY(float64(percent)/100))
		}
		line(`<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`, colors[c.arm], strings.TrimSpace(points.String()))
	}
	line(`</svg>`)
	return os.WriteFile(path, []byte(svg.String()), 0o644)
}
