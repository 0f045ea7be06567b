// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command svg draws the transcript of the demo, from standard input, as an animated SVG. Each step of the demo is a picture. The steps
// of kubectl at are first, because they are the main use. Without animation, the first picture is visible.
package main

import (
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"strings"
)

const (
	columns    = 112 // longer lines are wrapped
	charWidth  = 783 // of the font at 13 px, in hundredths
	lineHeight = 18
	margin     = 16
	seconds    = 7 // for which a step is visible
)

// step is a title and the lines below it.
type step struct {
	title string
	lines []string
}

func main() {
	transcript, err := io.ReadAll(os.Stdin)
	if err == nil {
		var picture string
		picture, err = draw(string(transcript))
		fmt.Print(picture)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "svg:", err)
		os.Exit(1)
	}
}

// parse returns the steps of a transcript. A title follows an empty line, and a command begins with a dollar sign.
func parse(transcript string) []step {
	var first, rest []step
	blocks := strings.Split(strings.TrimSpace(transcript), "\n\n")
	var steps []step
	for _, block := range blocks {
		lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
		// A block without a command is the second part of the output of one.
		if len(lines) > 1 && strings.HasPrefix(lines[1], "$ ") {
			steps = append(steps, step{title: lines[0], lines: lines[1:]})
		} else if len(steps) > 0 && len(lines) > 1 {
			steps[len(steps)-1].lines = append(append(steps[len(steps)-1].lines, ""), lines...)
		}
	}
	for _, s := range steps {
		if strings.HasPrefix(s.title, "kubectl at") {
			first = append(first, s)
		} else {
			rest = append(rest, s)
		}
	}
	return append(first, rest...)
}

// wrap breaks long lines at their last space that fits, or in a word that is too long.
func wrap(lines []string) []string {
	const indent = "    "
	var wrapped []string
	for _, line := range lines {
		line = strings.TrimRight(line, " ")
		for len(line) > columns {
			end := strings.LastIndex(line[:columns+1], " ")
			if end <= len(indent) {
				end = columns
			}
			wrapped = append(wrapped, strings.TrimRight(line[:end], " "))
			line = indent + strings.TrimLeft(line[end:], " ")
		}
		wrapped = append(wrapped, line)
	}
	return wrapped
}

func draw(transcript string) (string, error) {
	steps := parse(transcript)
	if len(steps) == 0 {
		return "", errors.New("the transcript has no steps")
	}
	most := 0
	for n := range steps {
		steps[n].lines = wrap(steps[n].lines)
		most = max(most, len(steps[n].lines))
	}
	width, height := columns*charWidth/100+2*margin, (most+2)*lineHeight+2*margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="The demo, step by step">`+"\n", width, height)
	share := 100.0 / float64(len(steps))
	fmt.Fprintf(&out, `<style>
text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dee8; white-space: pre; }
.title { fill: #8fe0d3; font-weight: bold; }
.command { fill: #ffe3c2; font-weight: bold; }
.step { opacity: 0; animation: show %ds infinite; }
#step0 { opacity: 1; }
@keyframes show { 0%%, %.2f%% { opacity: 1; } %.2f%%, 100%% { opacity: 0; } }
@media (prefers-reduced-motion: reduce) { .step { animation: none; } }
</style>
<rect width="%d" height="%d" rx="8" fill="#16324f"/>
`, seconds*len(steps), share-0.05, share, width, height)
	for n, s := range steps {
		opacity := 0
		if n == 0 {
			opacity = 1
		}
		fmt.Fprintf(&out, `<g id="step%d" class="step" opacity="%d" style="animation-delay: %ds">`+"\n", n, opacity, seconds*n)
		line(&out, "title", 0, s.title)
		for m, text := range s.lines {
			class := ""
			if strings.HasPrefix(text, "$ ") {
				class = "command"
			}
			line(&out, class, m+2, text)
		}
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.String(), nil
}

// line writes one line of text, unless it is empty.
func line(out *strings.Builder, class string, n int, text string) {
	if text == "" {
		return
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(out, `<text%s x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", class, margin, margin+(n+1)*lineHeight-5, html.EscapeString(text))
}
