// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/timespec"
)

// columns are what a table shows.
type columns struct {
	namespace, wide bool
	location        *time.Location
	layout          string // of DUE
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
		{"RESULT", cmp.Or(string(a.Status.Result), none)}, {"REASON", cmp.Or(reasonOf(a), none)},
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
	return append(cells, cell{"COMMAND", command})
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
	return strings.TrimSpace(command)
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
