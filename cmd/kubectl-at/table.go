// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atspec"
)

// maxShown is how many characters of a command a table shows, except for -o wide.
const maxShown = 40

// columns are what a table shows.
type columns struct {
	namespace, wide bool
	location        *time.Location
	custom          []customColumn // in place of all others
}

// dueTime returns when an At runs: what the operator says, or what its schedule means. It is zero when there is none.
func dueTime(a *cnatv1alpha1.At) time.Time {
	if a.Status.ScheduledTime != nil {
		return a.Status.ScheduledTime.Time
	}
	due, err := atspec.ParseSchedule(a.Spec.Schedule, a.CreationTimestamp.Time)
	if err != nil {
		return time.Time{}
	}
	return due
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

func (c columns) header() []string {
	if c.custom != nil {
		return customHeader(c.custom)
	}
	names := []string{"NAME", "DUE", "IN", "PHASE", "RESULT", "COMMAND"}
	if c.wide {
		names = []string{"NAME", "DUE", "IN", "PHASE", "RESULT", "REASON", "EXIT", "POD", "COMMAND"}
	}
	if c.namespace {
		names = append([]string{"NAMESPACE"}, names...)
	}
	return names
}

// row returns the cells of an At.
func (c columns) row(a *cnatv1alpha1.At, now time.Time) []string {
	if c.custom != nil {
		return customRow(c.custom, a)
	}
	due, command := dueTime(a), commandLine(a)
	dueText := "<unknown>"
	if !due.IsZero() {
		dueText = formatTime(due.In(c.location))
	}
	if runes := []rune(command); !c.wide && len(runes) > maxShown {
		command = string(runes[:maxShown-3]) + "..."
	}
	cells := []string{a.Name, dueText, countdown(a, due, now), orNone(string(a.Status.Phase)), orNone(string(a.Status.Result))}
	if c.wide {
		exit := "<none>"
		if a.Status.ExitCode != nil {
			exit = fmt.Sprint(*a.Status.ExitCode)
		}
		cells = append(cells, orNone(cmp.Or(a.Status.Reason, hangsFor(a))), exit, orNone(a.Status.PodName))
	}
	if c.namespace {
		cells = append([]string{a.Namespace}, cells...)
	}
	return append(cells, command)
}

// countdown returns what the column IN shows: how long until the At runs, how long ago it was due, or what keeps it from running.
func countdown(a *cnatv1alpha1.At, due, now time.Time) string {
	isPending := a.Status.Phase == cnatv1alpha1.PhasePending || a.Status.Phase == ""
	reason := hangsFor(a)
	switch {
	case isPending && ptr.Deref(a.Spec.Cancel, false):
		return "canceled"
	case isPending && ptr.Deref(a.Spec.Suspend, false):
		return "suspended"
	case reason != "":
		return reason
	case due.IsZero():
		return "<unknown>"
	default:
		return strings.TrimPrefix(relativeTime(due, now), "in ")
	}
}

// commandLine returns the command of an At on one line.
func commandLine(a *cnatv1alpha1.At) string {
	command := a.Spec.Command
	if t := a.Spec.Template; command == "" && t != nil && len(t.Spec.Containers) > 0 {
		main := t.Spec.Containers[0]
		words := main.Command
		if len(words) == 0 {
			words = []string{"(entrypoint of " + main.Image + ")"}
		}
		command = strings.Join(slices.Concat(words, main.Args), " ")
	}
	return printable(strings.TrimSpace(command))
}

// printable escapes what is not printable. Otherwise everybody who may create an At could control the terminals of those who list them.
func printable(text string) string {
	var escaped strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			escaped.WriteRune(r)
			continue
		}
		escaped.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return escaped.String()
}

// printableLines is printable for a text of several lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

// lines returns a table of the Ats as kubectl prints it, with or without its header. On a terminal of a width, no line is longer.
func (c columns) lines(ats []cnatv1alpha1.At, now time.Time, header bool, width int) []string {
	var text strings.Builder
	tab := printers.GetNewTabWriter(&text)
	if header {
		_, _ = fmt.Fprintln(tab, strings.Join(c.header(), "\t")) // A strings.Builder returns no error.
	}
	for i := range ats {
		_, _ = fmt.Fprintln(tab, strings.Join(c.row(&ats[i], now), "\t"))
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
