// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
	"k8s.io/cli-runtime/pkg/printers"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/timespec"
)

// columns are what a table shows.
type columns struct {
	namespace, wide bool
	location        *time.Location
	without         []string // the names of those that are left out
	layout          string   // of DUE
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
		due, in = t.In(c.location).Format(c.layout), strings.TrimPrefix(timespec.Distance(t, now), "in ")
	}
	if runes := []rune(command); !c.wide && len(runes) > 40 {
		command = string(runes[:37]) + "..."
	}
	cells := []cell{
		{"NAME", a.Name}, {"DUE", due}, {"IN", in}, {"PHASE", cmp.Or(string(a.Status.Phase), none)},
		{"RESULT", cmp.Or(string(a.Status.Result), none)}, {"REASON", cmp.Or(reasonOf(a, now), none)},
	}
	if c.wide {
		exit := none
		if a.Status.ExitCode != nil {
			exit = fmt.Sprint(*a.Status.ExitCode)
		}
		cells = append(cells, cell{"EXIT", exit}, cell{"POD", cmp.Or(a.Status.PodName, none)},
			cell{"REQUESTED BY", cmp.Or(a.Annotations[cnatv1alpha1.AnnotationRequestedBy], none)}, cell{"APPROVED BY", cmp.Or(a.Annotations[cnatv1alpha1.AnnotationApprovedBy], none)})
	}
	if c.namespace {
		cells = append([]cell{{"NAMESPACE", a.Namespace}}, cells...)
	}
	cells = append(cells, cell{"COMMAND", command})
	return slices.DeleteFunc(cells, func(cell cell) bool { return slices.Contains(c.without, cell.name) })
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

// lines returns a table of the Ats as kubectl prints it, with or without its header.
func (c columns) lines(ats []cnatv1alpha1.At, now time.Time, header bool) []string {
	c.layout = timespec.Layout
	if slices.ContainsFunc(ats, func(a cnatv1alpha1.At) bool { return dueTime(&a).Second() != 0 }) {
		c.layout = timespec.LayoutSeconds
	}
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
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// leastCommand is how much of a command is worth more than the columns RESULT and DUE on a narrow screen.
const leastCommand = 20

// fit returns a table in lines that are not wider than a screen. REASON implies RESULT, and IN implies DUE.
func (c columns) fit(ats []cnatv1alpha1.At, now time.Time, header bool, screen int) []string {
	for _, without := range [][]string{nil, {"RESULT"}, {"RESULT", "DUE"}} {
		c.without = append([]string{"COMMAND"}, without...)
		longest := 0
		for _, line := range c.lines(ats, now, header) {
			longest = max(longest, len([]rune(line)))
		}
		c.without = without
		if longest+leastCommand <= screen {
			break
		}
	}
	lines := c.lines(ats, now, header)
	for i := range lines {
		lines[i] = cut(lines[i], screen)
	}
	return lines
}

// cut returns a line that is not wider than a screen. What is left out is shown by an ellipsis.
func cut(line string, screen int) string {
	used, end := 0, 0 // end is where an ellipsis still fits.
	for i, r := range line {
		switch kind := width.LookupRune(r).Kind(); {
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			used += 2
		case !unicode.Is(unicode.Mn, r):
			used++
		}
		if used > screen {
			return line[:end] + "…"
		}
		if used < screen {
			end = i + utf8.RuneLen(r)
		}
	}
	return line
}
