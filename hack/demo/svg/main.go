// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command svg draws the transcript of the demo, from standard input, as an animated SVG. The steps of the demo that have a number are its
// scenes. Their lines appear one by one. The picture begins with the poster, a scene that shows a result. Viewers without animation show
// only the poster.
package main

import (
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

const (
	columns    = 104 // longer lines are wrapped
	charWidth  = 783 // of the font at 13 px, in hundredths
	lineHeight = 18
	margin     = 16
	poster     = 1 // the second scene
)

// How long the picture shows the poster, how long it waits before a command, before the output of a command, and before each further line,
// and how long it shows a scene that is complete.
const (
	posterTime  = 1500 * time.Millisecond
	commandTime = 800 * time.Millisecond
	outputTime  = 500 * time.Millisecond
	lineTime    = 80 * time.Millisecond
	sceneTime   = 1800 * time.Millisecond
)

// line is a line of a scene and the time at which it appears.
type line struct {
	text string
	at   time.Duration
}

func (l line) isCommand() bool { return strings.HasPrefix(l.text, "$ ") }

// scene is a step of the demo. The first line is its title. The others disappear at its end.
type scene struct {
	lines []line
	end   time.Duration
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

// numbered matches the title of a step with a number, which follows an empty line.
var numbered = regexp.MustCompile(`(?m)^\n\d+\. `)

// parse returns the scenes of a transcript, with wrapped lines.
func parse(transcript string) []scene {
	var scenes []scene
	starts := numbered.FindAllStringIndex(transcript, -1)
	for _, start := range starts {
		step := transcript[start[1]:]
		// The title of the next step is above its first command.
		if end := regexp.MustCompile(`\n\n[^\n]+(\n\$ |\s*$)`).FindStringIndex(step); end != nil {
			step = step[:end[0]]
		}
		var s scene
		for _, text := range wrap(strings.Split(strings.TrimSpace(step), "\n")) {
			s.lines = append(s.lines, line{text: text})
		}
		scenes = append(scenes, s)
	}
	return scenes
}

// schedule sets the times of all lines and scenes. It returns the length of the picture.
func schedule(scenes []scene) time.Duration {
	now := posterTime
	for n := range scenes {
		lines := scenes[n].lines
		for m := range lines {
			switch {
			case m == 0: // The title appears when the scene begins.
			case lines[m].isCommand():
				now += commandTime
			case lines[m-1].isCommand():
				now += outputTime
			default:
				now += lineTime
			}
			lines[m].at = now
		}
		now += sceneTime
		scenes[n].end = now
	}
	return now
}

// wrap breaks long lines at the last space that fits, or inside a word that is too long.
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
	scenes := parse(transcript)
	if len(scenes) <= poster {
		return "", errors.New("the transcript has too few steps with a number")
	}
	length, most := schedule(scenes), 0
	for _, s := range scenes {
		most = max(most, len(s.lines))
	}
	width, height := columns*charWidth/100+2*margin, (most+1)*lineHeight+2*margin
	var styles, texts strings.Builder
	for n, s := range scenes {
		for m, l := range s.lines {
			if l.text != "" {
				name := fmt.Sprintf("s%dl%d", n, m)
				styles.WriteString(keyframes(name, l.at, s.end, length, n == poster))
				texts.WriteString(element(name, m, l, n == poster))
			}
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="The demo, step by step">
<style>
text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dee8; white-space: pre;
  animation: %.2fs step-end infinite; }
.title { fill: #8fe0d3; font-weight: bold; }
.command { fill: #ffe3c2; font-weight: bold; }
@media (prefers-reduced-motion: reduce) { text { animation: none; } }
%s</style>
<rect width="%d" height="%d" rx="8" fill="#16324f"/>
%s</svg>
`, width, height, length.Seconds(), styles.String(), width, height, texts.String()), nil
}

// keyframes returns the animation of a line, which is visible from one time to another. A line of the poster is also visible at first.
func keyframes(name string, from, to, length time.Duration, inPoster bool) string {
	percent := func(at time.Duration) float64 { return 100 * at.Seconds() / length.Seconds() }
	first := "opacity: 0"
	if inPoster {
		first = fmt.Sprintf("opacity: 1 } %.2f%% { opacity: 0", percent(posterTime))
	}
	return fmt.Sprintf("@keyframes %s { 0%% { %s } %.2f%% { opacity: 1 } %.2f%%, 100%% { opacity: 0 } }\n", name, first, percent(from), percent(to))
}

// element returns the text of a line. Without animation, only the poster is visible.
func element(name string, row int, l line, inPoster bool) string {
	class, opacity := "", 0
	switch {
	case row == 0:
		class = ` class="title"`
	case l.isCommand():
		class = ` class="command"`
	}
	if row > 0 {
		row++ // An empty line is below the title.
	}
	if inPoster {
		opacity = 1
	}
	return fmt.Sprintf(`<text%s style="animation-name: %s" opacity="%d" x="%d" y="%d" xml:space="preserve">%s</text>`+"\n",
		class, name, opacity, margin, margin+(row+1)*lineHeight-5, html.EscapeString(l.text))
}
