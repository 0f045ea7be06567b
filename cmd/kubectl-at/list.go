// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/kubectl/pkg/util/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/await"
)

// lister is "kubectl at list" with its flags.
type lister struct {
	*request

	columns   columns
	print     *genericclioptions.PrintFlags
	isWatch   bool
	noHeaders bool
	selector  string
}

func listVerb() verb {
	l := &lister{print: genericclioptions.NewPrintFlags("").WithTypeSetter(scheme)}
	return verb{
		use: "list", args: noArguments,
		aliases:    []string{"atq", "ls"},
		suggestFor: []string{"get", "queue", "status"},
		short:      "List Ats, sorted by time, with a countdown",
		long: `
			List Ats, sorted by time: atq(1) for Kubernetes.

			DUE is in the time zone of this machine or of --tz. IN is how long it is until the At runs, or how long ago it was due.
			REASON is what it waits for, or how it ended.`,
		example: `
			# List the Ats of the namespace
			kubectl at list

			# Watch all Ats count down
			kubectl at list -A -w`,
		flags: l.addFlags,
		run:   l.run,
	}
}

func (l *lister) addFlags(cmd *cobra.Command) {
	flags, formats := cmd.Flags(), append([]string{"wide"}, l.print.AllowedFormats()...)
	flags.BoolVarP(&l.columns.namespace, "all-namespaces", "A", false, "List the Ats of all namespaces.")
	flags.BoolVarP(&l.isWatch, "watch", "w", false, "Keep the list up to date and count down, until Ctrl-C.")
	flags.BoolVar(&l.noHeaders, "no-headers", false, "Print no header.")
	flags.StringVarP(&l.selector, "selector", "l", "", "List the Ats with these labels only, such as -l team=db.")
	l.print.AddFlags(cmd)
	flags.Lookup("output").Usage = fmt.Sprintf("Output format. One of: (%s).", strings.Join(formats, ", "))
	completeValues(cmd, "output", formats...)
}

func (l *lister) run(r *request) (err error) {
	l.request, l.columns.wide = r, *l.print.OutputFormat == "wide"
	if l.columns.location, err = r.location(); err != nil {
		return err
	}
	if isOutputSet(r.cmd) && !l.columns.wide {
		if r.printer, err = l.print.ToPrinter(); err != nil {
			return err
		}
	}
	selector, err := labels.Parse(l.selector)
	if err != nil {
		return fmt.Errorf("invalid --selector %q: %w", l.selector, err)
	}
	in := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}}
	if !l.columns.namespace {
		in = append(in, client.InNamespace(r.namespace))
	}
	list := &cnatv1alpha1.AtList{}
	if err := r.List(r.ctx(), list, in...); err != nil {
		return err
	}
	sortByTime(list.Items)
	switch {
	case l.isWatch:
		return l.watch(list, in)
	case r.printer != nil:
		return l.printObjects(list)
	case len(list.Items) > 0:
		return l.printTable(list.Items, !l.noHeaders)
	}
	where := " in " + r.namespace + " namespace" // as kubectl get says it
	if l.columns.namespace {
		where = ""
	}
	_, err = fmt.Fprintf(r.ErrOut, "No Ats found%s.\n", where)
	return err
}

func (l *lister) printTable(ats []cnatv1alpha1.At, header bool) error {
	_, err := fmt.Fprintln(l.Out, strings.Join(l.columns.lines(ats, l.clock.Now(), header), "\n"))
	return err
}

// isScreen reports whether standard output is a terminal that can be cleared.
func (l *lister) isScreen() bool {
	name := os.Getenv("TERM")
	return term.TTY{Out: l.stdout}.IsTerminalOut() && name != "dumb" && (name != "" || runtime.GOOS == "windows")
}

// draw prints the table in place of what the terminal shows. Only the last Ats are shown if it has not enough lines, so
// that nothing scrolls.
func (l *lister) draw(ats []cnatv1alpha1.At) error {
	size := term.TTY{Out: l.stdout}.GetSize()
	if size != nil {
		l.columns.width = int(size.Width)
	}
	lines := l.columns.lines(ats, l.clock.Now(), !l.noHeaders)
	if size != nil {
		lines = lastLines(lines, int(size.Height)-1, !l.noHeaders) // The last line is that of the cursor.
	}
	const erase, cutLines, wrapLines = "\x1b[H\x1b[J", "\x1b[?7l", "\x1b[?7h"
	_, err := io.WriteString(l.raw, erase+cutLines+strings.Join(lines, "\n")+"\n"+wrapLines)
	return err
}

// lastLines returns the header of a table and the last of its other lines, up to most in all.
func lastLines(lines []string, most int, header bool) []string {
	first := 0
	if header {
		first = 1
	}
	return slices.Delete(lines, first, max(first, len(lines)-max(most-first, 0)))
}

// printObjects prints the list as -o says.
func (l *lister) printObjects(list *cnatv1alpha1.AtList) error {
	if *l.print.OutputFormat == "name" { // It takes no list.
		return l.printEach(list.Items...)
	}
	list.SetGroupVersionKind(cnatv1alpha1.GroupVersion.WithKind("AtList"))
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(atKind)
	}
	return l.printer.PrintObj(list, l.data())
}

func (l *lister) printEach(ats ...cnatv1alpha1.At) error {
	for i := range ats {
		if err := l.printer.PrintObj(&ats[i], l.data()); err != nil {
			return err
		}
	}
	return nil
}

// watch keeps a list up to date. A screen is drawn again every second; elsewhere, each change is printed, as kubectl
// get -w does.
func (l *lister) watch(list *cnatv1alpha1.AtList, in []client.ListOption) error {
	header, onScreen := !l.noHeaders, l.printer == nil && l.isScreen()
	show := func(changed ...cnatv1alpha1.At) error {
		switch {
		case onScreen:
			return l.draw(list.Items)
		case l.printer != nil:
			return l.printEach(changed...)
		}
		defer func() { header = false }()
		return l.printTable(changed, header)
	}
	ctx := l.ctx()
	watching, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// An informer outlasts all interruptions of its watch. It begins with all Ats.
	_, _, changes, _ := watchtools.NewIndexerInformerWatcherWithLogger(logr.Discard(), await.ListWatch(l.WithWatch, &cnatv1alpha1.AtList{}, in, cancel), &cnatv1alpha1.At{})
	defer changes.Stop()
	ticker := l.clock.NewTicker(time.Second)
	defer ticker.Stop()
	err := show(list.Items...)
	for err == nil {
		select {
		case <-watching.Done():
			if ctx.Err() != nil {
				return nil
			}
			return context.Cause(watching)
		case <-ticker.C():
			if onScreen {
				err = show()
			}
		case event := <-changes.ResultChan():
			at, isAt := event.Object.(*cnatv1alpha1.At)
			isShown := func(a cnatv1alpha1.At) bool { return a.UID == at.UID && a.ResourceVersion == at.ResourceVersion }
			if !isAt || event.Type != watch.Deleted && slices.ContainsFunc(list.Items, isShown) {
				continue
			}
			list.Items = slices.DeleteFunc(list.Items, func(a cnatv1alpha1.At) bool { return a.UID == at.UID })
			if event.Type != watch.Deleted {
				list.Items = append(list.Items, *at)
			}
			sortByTime(list.Items)
			err = show(*at)
		}
	}
	return err
}
