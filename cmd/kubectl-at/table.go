// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/cli-runtime/pkg/printers"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
)

// maxCommand is how many characters of a command a table shows, except for -o wide.
const maxCommand = 40

// columns are what a table shows.
type columns struct {
	namespace, wide bool
	location        *time.Location
}

// dueTime returns when an At runs: what the operator says, or what its schedule means. It is zero when there is none.
func dueTime(a *cnatv1alpha1.At) time.Time {
	if a.Status.ScheduledTime != nil {
		return a.Status.ScheduledTime.Time
	}
	due, err := at.ParseSchedule(a.Spec.Schedule, a.CreationTimestamp.Time)
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
	names := []string{"NAME", "DUE", "IN", "PHASE", "RESULT", "COMMAND"}
	if c.wide {
		names = []string{"NAME", "DUE", "IN", "PHASE", "RESULT", "EXIT", "POD", "COMMAND"}
	}
	if c.namespace {
		names = append([]string{"NAMESPACE"}, names...)
	}
	return names
}

// row returns the cells of an At.
func (c columns) row(a *cnatv1alpha1.At, now time.Time) []string {
	due, command := dueTime(a), commandLine(a)
	dueText := "<unknown>"
	if !due.IsZero() {
		dueText = absolute(due.In(c.location))
	}
	if runes := []rune(command); !c.wide && len(runes) > maxCommand {
		command = string(runes[:maxCommand-3]) + "..."
	}
	cells := []string{a.Name, dueText, countdown(a, due, now), orNone(string(a.Status.Phase)), orNone(string(a.Status.Result))}
	if c.wide {
		exit := "<none>"
		if a.Status.ExitCode != nil {
			exit = fmt.Sprint(*a.Status.ExitCode)
		}
		cells = append(cells, exit, orNone(a.Status.PodName))
	}
	if c.namespace {
		cells = append([]string{a.Namespace}, cells...)
	}
	return append(cells, command)
}

// countdown returns what the column IN shows: how long until the At runs, or how long ago it was due.
func countdown(a *cnatv1alpha1.At, due, now time.Time) string {
	pending := a.Status.Phase == cnatv1alpha1.PhasePending || a.Status.Phase == ""
	switch {
	case due.IsZero():
		return "<unknown>"
	case pending && a.Spec.Suspend != nil && *a.Spec.Suspend:
		return "suspended"
	default:
		return strings.TrimPrefix(distance(due, now), "in ")
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

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

// write prints a table of the Ats as kubectl does.
func (c columns) write(out io.Writer, ats []cnatv1alpha1.At, now time.Time, header bool) error {
	tab := printers.GetNewTabWriter(out)
	if header {
		_, _ = fmt.Fprintln(tab, strings.Join(c.header(), "\t")) // Flush returns what goes wrong.
	}
	for i := range ats {
		_, _ = fmt.Fprintln(tab, strings.Join(c.row(&ats[i], now), "\t"))
	}
	return tab.Flush()
}
