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
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
	"github.com/redhat/podset-operator/internal/at/proof"
)

// columns are what a table shows.
type columns struct {
	namespace, wide bool
	location        *time.Location
	width           int    // of the screen, or 0 if there is none
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
		due = t.In(c.location).Format(c.layout)
		switch neverStarts := proof.IsDone(&a.Status) || ptr.Deref(a.Spec.Cancel, false); {
		case isBetweenAttempts(a):
			in = strings.TrimPrefix(timespec.Distance(a.Status.RetryTime.Time, now), "in ")
		case neverStarts && t.After(now):
			in = none
		default:
			in = strings.TrimPrefix(timespec.Distance(t, now), "in ")
		}
	}
	if !c.wide {
		command = shorten(command, 40)
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

// shorten returns a text of at most some characters that has the first whole words, and says if there are more: a part
// of a word could be read as another command.
func shorten(text string, most int) string {
	const more = " ..."
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	end := max(most-len(more), 0)
	for end > 0 && runes[end] != ' ' {
		end--
	}
	return strings.TrimSpace(string(runes[:end]) + more)
}

// leastCommand is how many characters of the commands a table has room for, or it has none.
const leastCommand = 16

// fit shortens the commands of a table, or else leaves out columns, until it has the width of a screen.
func fit(table [][]string, width int) {
	for _, name := range []string{"", "APPROVED BY", "REQUESTED BY", "RESULT", "PHASE", "POD", "EXIT", "COMMAND", "DUE"} {
		if i := slices.Index(table[0], name); i >= 0 {
			for j := range table {
				table[j] = slices.Delete(table[j], i, i+1)
			}
		}
		used, last := 0, len(table[0])-1
		widest := func(column int) (most int) {
			for _, row := range table {
				most = max(most, len([]rune(row[column])))
			}
			return most
		}
		for i := range last {
			used += max(widest(i)+3, 6) // as printers.GetNewTabWriter does
		}
		if used+widest(last) <= width {
			return
		}
		if table[0][last] == "COMMAND" && width-used >= leastCommand {
			for j := range table {
				table[j][last] = shorten(table[j][last], width-used)
			}
			return
		}
	}
}

// lines returns a table of the Ats as kubectl prints it, with or without its header.
func (c columns) lines(ats []cnatv1alpha1.At, now time.Time, header bool) []string {
	c.layout = timespec.Layout
	if slices.ContainsFunc(ats, func(a cnatv1alpha1.At) bool { return dueTime(&a).Second() != 0 }) {
		c.layout = timespec.LayoutSeconds
	}
	table := make([][]string, len(ats)+1)
	for _, cell := range c.cells(&cnatv1alpha1.At{}, now) {
		table[0] = append(table[0], cell.name)
	}
	for i := range ats {
		for _, cell := range c.cells(&ats[i], now) {
			table[i+1] = append(table[i+1], printable(cell.value))
		}
	}
	if c.width > 0 {
		fit(table, c.width)
	}
	if !header {
		table = table[1:]
	}
	var text strings.Builder
	tab := printers.GetNewTabWriter(&text)
	for _, row := range table {
		_, _ = fmt.Fprintln(tab, strings.Join(row, "\t")) // A strings.Builder returns no error.
	}
	_ = tab.Flush()
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}
