// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/width"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/util/term"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/timespec"
)

// maxShown is how many characters of a command a table shows, except for -o wide.
const maxShown = 40

// columns are what a table shows.
type columns struct {
	namespace, wide bool
	location        *time.Location
}

// sortByTime puts the Ats in the order in which they run.
func sortByTime(ats []cnatv1alpha1.At) {
	slices.SortFunc(ats, func(a, b cnatv1alpha1.At) int {
		if order := dueTime(&a).Compare(dueTime(&b)); order != 0 {
			return order
		}
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
}

// cell is a column of an At.
type cell struct{ name, value string }

// cells returns the columns that are shown.
func (c columns) cells(a *cnatv1alpha1.At, now time.Time) []cell {
	due, in, command := "<unknown>", "<unknown>", commandLine(a)
	if t := dueTime(a); !t.IsZero() {
		due, in = timespec.Format(t.In(c.location)), strings.TrimPrefix(timespec.Distance(t, now), "in ")
	}
	if runes := []rune(command); !c.wide && len(runes) > maxShown {
		command = string(runes[:maxShown-3]) + "..."
	}
	cells := []cell{
		{"NAME", a.Name}, {"DUE", due}, {"IN", in}, {"PHASE", orNone(string(a.Status.Phase))},
		{"RESULT", orNone(string(a.Status.Result))}, {"REASON", orNone(reasonOf(a))},
	}
	if c.wide {
		exit := ""
		if a.Status.ExitCode != nil {
			exit = fmt.Sprint(*a.Status.ExitCode)
		}
		cells = append(cells, cell{"EXIT", orNone(exit)}, cell{"POD", orNone(a.Status.PodName)})
	}
	if c.namespace {
		cells = append([]cell{{"NAMESPACE", a.Namespace}}, cells...)
	}
	return append(cells, cell{"COMMAND", command})
}

// reasonOf returns why an At does not run, or has failed, in one word, or "" if there is nothing to say.
func reasonOf(a *cnatv1alpha1.At) string {
	ready := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionReady)
	switch {
	case a.Status.Result == cnatv1alpha1.ResultSucceeded:
		return ""
	case atrun.IsDone(&a.Status):
		return a.Status.Reason
	case ptr.Deref(a.Spec.Cancel, false):
		return cnatv1alpha1.ReasonCanceled
	case ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason != cnatv1alpha1.ReasonRunning:
		return ready.Reason
	case ptr.Deref(a.Spec.Suspend, false) && !atrun.HasStarted(&a.Status):
		return cnatv1alpha1.ReasonSuspended
	}
	return ""
}

// commandLine returns the command of an At on one line.
func commandLine(a *cnatv1alpha1.At) string {
	command := a.Spec.Command
	if t := a.Spec.Template; command == "" && t != nil && len(t.Spec.Containers) > 0 {
		first := t.Spec.Containers[0]
		words := first.Command
		if len(words) == 0 {
			words = []string{"(entrypoint of " + first.Image + ")"}
		}
		command = strings.Join(slices.Concat(words, first.Args), " ")
	}
	return printable(strings.TrimSpace(command))
}

// lines returns a table of the Ats as kubectl prints it, with or without its header. On a terminal of a width, no line is longer.
func (c columns) lines(ats []cnatv1alpha1.At, now time.Time, header bool, width int) []string {
	var text strings.Builder
	tab := printers.GetNewTabWriter(&text)
	write := func(a *cnatv1alpha1.At, part func(cell) string) {
		var parts []string
		for _, cell := range c.cells(a, now) {
			parts = append(parts, printable(part(cell)))
		}
		_, _ = fmt.Fprintln(tab, strings.Join(parts, "\t")) // A strings.Builder returns no error.
	}
	if header {
		write(&cnatv1alpha1.At{}, func(c cell) string { return c.name })
	}
	for i := range ats {
		write(&ats[i], func(c cell) string { return c.value })
	}
	_ = tab.Flush()
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = cut(lines[i], width)
	}
	return lines
}

// cut returns the part of a line that fits in a width, all of it with a width of 0. East Asian characters and emoji are two wide.
func cut(line string, columns int) string {
	used := 0
	for i, r := range line {
		used++
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			used++
		}
		if columns > 0 && used > columns {
			return line[:i]
		}
	}
	return line
}

// screen is a terminal on which a table is drawn again and again.
type screen struct {
	out     io.Writer
	columns columns
	header  bool
}

// isScreen reports whether an output is a terminal that can be cleared.
func isScreen(out io.Writer) bool {
	name := os.Getenv("TERM")
	return term.TTY{Out: out}.IsTerminalOut() && name != "dumb" && (name != "" || runtime.GOOS == "windows")
}

// sizeOf returns the columns and lines of a terminal, or zeros if it is none or does not know its size.
func sizeOf(out io.Writer) (width, height int) {
	size := term.TTY{Out: out}.GetSize()
	if size == nil {
		return 0, 0
	}
	return int(size.Width), int(size.Height)
}

// draw prints the table in place of what the terminal shows. It has less lines than the terminal, so that nothing scrolls away.
func (s *screen) draw(ats []cnatv1alpha1.At, now time.Time) error {
	width, height := sizeOf(s.out)
	shown, header := fit(ats, height, s.header)
	lines := s.columns.lines(shown, now, header, width)
	if hidden := len(ats) - len(shown); hidden > 0 && height > 3 {
		lines = append(lines, cut(fmt.Sprintf("... and %d more", hidden), width))
	}
	// To the upper left corner, and clear from there.
	_, err := io.WriteString(s.out, "\x1b[H\x1b[J"+strings.Join(lines, "\n")+"\n")
	return err
}

// fit returns the Ats that a terminal of a height has lines for, with those that are not done before those that are, and whether there is
// a line for the header. One line is for the cursor, and one for the number of the others.
func fit(ats []cnatv1alpha1.At, height int, wantsHeader bool) (shown []cnatv1alpha1.At, header bool) {
	header = wantsHeader && (height == 0 || height > 2)
	lines := height - 1
	if header {
		lines--
	}
	if height == 0 || len(ats) <= lines {
		return ats, header
	}
	if height > 3 {
		lines--
	}
	lines = max(lines, 1)
	next := slices.IndexFunc(ats, func(a cnatv1alpha1.At) bool { return !atrun.IsDone(&a.Status) })
	if next < 0 {
		next = len(ats)
	}
	first := min(next, len(ats)-lines)
	return ats[first : first+lines], header
}
