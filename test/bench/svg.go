// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The plots have a light background of their own, so that they are legible on a dark page too.
const (
	paper, ink, faint, targetColor = "#ffffff", "#222222", "#d8d8d8", "#b00020"
	fontSize, lineHeight           = 13, 20
	plotWidth, margin              = 860, 16
)

// drawing is an SVG file that is being written.
type drawing struct {
	body   strings.Builder
	height float64
}

func (d *drawing) line(x1, y1, x2, y2 float64, color, extra string) {
	fmt.Fprintf(&d.body, "<line x1=%q y1=%q x2=%q y2=%q stroke=%q%s/>\n", px(x1), px(y1), px(x2), px(y2), color, extra)
}

func (d *drawing) rect(x, y, width, height float64, color string) {
	fmt.Fprintf(&d.body, "<rect x=%q y=%q width=%q height=%q fill=%q/>\n", px(x), px(y), px(width), px(height), color)
}

// text writes a text; anchor is start, middle, or end.
func (d *drawing) text(x, y float64, anchor, color, text string) {
	fmt.Fprintf(&d.body, "<text x=%q y=%q text-anchor=%q fill=%q>%s</text>\n", px(x), px(y), anchor, color, html.EscapeString(text))
}

func (d *drawing) heading(x, y float64, text string) {
	fmt.Fprintf(&d.body, "<text x=%q y=%q font-weight=\"bold\" fill=%q>%s</text>\n", px(x), px(y), ink, html.EscapeString(text))
}

func (d *drawing) path(points [][2]float64, color string) {
	fmt.Fprintf(&d.body, "<polyline fill=\"none\" stroke-width=\"2\" stroke=%q points=\"", color)
	for i, p := range points {
		if i > 0 {
			d.body.WriteByte(' ')
		}
		d.body.WriteString(px(p[0]) + "," + px(p[1]))
	}
	d.body.WriteString("\"/>\n")
}

// file returns the SVG file.
func (d *drawing) file() []byte {
	return fmt.Appendf(nil, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=%q viewBox=\"0 0 %d %s\" "+
		"font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"%d\">\n"+
		"<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=%q/>\n%s</svg>\n",
		plotWidth, px(d.height), plotWidth, px(d.height), fontSize, paper, d.body.String())
}

// px writes a coordinate with one decimal, or none.
func px(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// scale maps values from 0 to the last tick to coordinates.
type scale struct {
	from, to float64
	ticks    []float64
}

// newScale makes a scale with round ticks, the last of which is no less than largest.
func newScale(from, to, largest float64) scale {
	if largest <= 0 {
		largest = 1
	}
	step := roundStep(largest / 8)
	s := scale{from: from, to: to, ticks: []float64{0}}
	for i := 1; s.ticks[len(s.ticks)-1] < largest; i++ {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

// roundStep returns the smallest of 1, 2, 5, 10, 20, 50, and so on that is no less than v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= v*(1-1e-9) {
			return digit * power
		}
	}
	return 10 * power
}

func (s scale) at(v float64) float64 {
	return s.from + (s.to-s.from)*v/s.ticks[len(s.ticks)-1]
}

// tick writes the value of a tick.
func tick(v float64) string {
	switch {
	case v >= 10000:
		return strings.TrimSuffix(fmt.Sprintf("%d,%03d", int(v)/1000, int(v)%1000), ".0")
	case v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	default:
		return strings.TrimRight(fmt.Sprintf("%.3f", v), "0")
	}
}

// bar is a bar of a chart, and group is what belongs together, with the target that it is compared with.
type bar struct {
	name, color string
	value       float64
}

type group struct {
	name string
	bars []bar
	// target is 0 if there is none; goal says what it is.
	target float64
	goal   string
}

// barChart draws horizontal bars. Each has its name on the left and its value on the right, so there is no legend.
func barChart(title, unit string, groups []group) []byte {
	const left, top, barHeight = 290, 62, 15
	d := &drawing{}
	var largest float64
	height := float64(top)
	for _, g := range groups {
		for _, b := range g.bars {
			largest = max(largest, b.value)
		}
		largest = max(largest, g.target)
		height += float64(len(g.bars)+1)*lineHeight + 12
	}
	x := newScale(left, plotWidth-margin-60, largest)
	d.heading(margin, 26, title)
	d.text(left, 46, "start", ink, unit)
	for _, v := range x.ticks {
		d.line(x.at(v), top-8, x.at(v), height, faint, "")
		d.text(x.at(v), height+16, "middle", ink, tick(v))
	}
	y := float64(top)
	for _, g := range groups {
		d.heading(margin, y+14, g.name)
		start := y + lineHeight
		if g.target > 0 {
			anchor, offset := labelSide(x, g.target)
			d.text(x.at(g.target)+offset, y+14, anchor, targetColor, g.goal)
		}
		for i, b := range g.bars {
			y := start + float64(i)*lineHeight
			d.text(left-8, y+12, "end", ink, b.name)
			d.rect(left, y, max(x.at(b.value)-left, 1), barHeight, b.color)
		}
		end := start + float64(len(g.bars))*lineHeight
		if g.target > 0 {
			d.line(x.at(g.target), y+3, x.at(g.target), end-3, targetColor, ` stroke-width="2" stroke-dasharray="5 3"`)
		}
		for i, b := range g.bars {
			// The value is above the target line, and its light outline interrupts the line.
			fmt.Fprintf(&d.body, "<text x=%q y=%q fill=%q stroke=%q stroke-width=\"4\" paint-order=\"stroke\">%s</text>\n",
				px(x.at(b.value)+5), px(start+float64(i)*lineHeight+12), ink, paper, number(b.value))
		}
		y = end + 12
	}
	d.height = height + 28
	return d.file()
}

// labelSide returns on which side of a target its label has more space: how the text is anchored, and its distance.
func labelSide(x scale, target float64) (anchor string, offset float64) {
	if x.at(target) > (x.from+x.to)/2 {
		return "end", -6
	}
	return "start", 6
}

// curve is a line of a line chart.
type curve struct {
	name, color string
	points      [][2]float64
}

// lineChart draws curves over the same axes, with a legend above them. A target is a vertical line.
func lineChart(title, xUnit, yUnit string, curves []curve, target float64, goal string) []byte {
	const left, top, bottom = 70, 86, 400
	d := &drawing{height: bottom + 50}
	largestX, largestY := target, 0.0
	for _, c := range curves {
		for _, p := range c.points {
			largestX, largestY = max(largestX, p[0]), max(largestY, p[1])
		}
	}
	x, y := newScale(left, plotWidth-margin-20, largestX), newScale(bottom, top, largestY)
	d.heading(margin, 26, title)
	at := float64(left)
	for _, c := range curves {
		d.rect(at, 40, 22, 8, c.color)
		d.text(at+28, 49, "start", ink, c.name)
		at += 60 + 7*float64(len(c.name))
	}
	d.text(margin, 72, "start", ink, yUnit)
	for _, v := range y.ticks {
		d.line(left, y.at(v), x.to, y.at(v), faint, "")
		d.text(left-8, y.at(v)+4, "end", ink, tick(v))
	}
	for _, v := range x.ticks {
		d.line(x.at(v), top, x.at(v), bottom, faint, "")
		d.text(x.at(v), bottom+18, "middle", ink, tick(v))
	}
	d.text((x.from+x.to)/2, bottom+38, "middle", ink, xUnit)
	if target > 0 {
		d.line(x.at(target), top, x.at(target), bottom, targetColor, ` stroke-width="2" stroke-dasharray="5 3"`)
		anchor, offset := labelSide(x, target)
		d.text(x.at(target)+offset, 72, anchor, targetColor, goal)
	}
	for _, c := range curves {
		points := make([][2]float64, len(c.points))
		for i, p := range c.points {
			points[i] = [2]float64{x.at(p[0]), y.at(p[1])}
		}
		d.path(points, c.color)
	}
	return d.file()
}
