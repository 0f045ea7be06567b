// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/kubectl/pkg/util/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// listOptions are the flags of "kubectl at list".
type listOptions struct {
	*plugin
	print         *genericclioptions.PrintFlags
	allNamespaces bool
	watch         bool
}

func newListCommand(p *plugin) *cobra.Command {
	o := &listOptions{plugin: p, print: newPrintFlags("")}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"atq", "ls"},
		Short:   "List Ats, sorted by time, with a countdown",
		Long: templates.LongDesc(`
			List Ats, sorted by the time they run: atq(1) for Kubernetes.

			DUE is in the time zone of this machine or of --tz. IN is how long it is until the At runs, or how long ago it was due.`),
		Example: templates.Examples(`
			# List the Ats of the namespace
			kubectl at list

			# Watch all Ats count down
			kubectl at list -A -w`),
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "List the Ats of all namespaces.")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "Keep the list up to date and count down, until Ctrl-C.")
	o.print.AddFlags(cmd)
	cmd.Flags().Lookup("output").Usage = "Output format. One of: (wide, json, yaml, name, go-template, go-template-file, template, templatefile, jsonpath, jsonpath-as-json, jsonpath-file)."
	return cmd
}

func (o *listOptions) run(cmd *cobra.Command) error {
	location, err := o.location()
	if err != nil {
		return err
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	var in []client.ListOption
	if !o.allNamespaces {
		in = append(in, client.InNamespace(c.namespace))
	}
	list := &cnatv1alpha1.AtList{}
	if err := c.List(cmd.Context(), list, in...); err != nil {
		return err
	}
	sortByTime(list.Items)
	columns := columns{namespace: o.allNamespaces, wide: *o.print.OutputFormat == "wide", location: location}
	isTable := columns.wide || *o.print.OutputFormat == ""
	switch {
	case o.watch && isTable:
		return o.watchTable(cmd.Context(), c, list, columns, in)
	case o.watch:
		return fmt.Errorf("--watch shows a table: it goes with -o wide, and without -o %s", *o.print.OutputFormat)
	case !isTable:
		return o.printObjects(list)
	case len(list.Items) == 0:
		return o.printNone(c)
	}
	return columns.write(o.Out, list.Items, o.clock.Now(), true)
}

// printNone says that there are none, as kubectl get does.
func (o *listOptions) printNone(c *cluster) error {
	text := "No Ats found in " + c.namespace + " namespace."
	if o.allNamespaces {
		text = "No Ats found."
	}
	_, err := fmt.Fprintln(o.ErrOut, text)
	return err
}

// printObjects prints the list as -o says.
func (o *listOptions) printObjects(list *cnatv1alpha1.AtList) error {
	printer, err := o.print.ToPrinter()
	if err != nil {
		return err
	}
	list.SetGroupVersionKind(cnatv1alpha1.GroupVersion.WithKind("AtList"))
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(cnatv1alpha1.GroupVersion.WithKind("At"))
	}
	if *o.print.OutputFormat != "name" {
		return printer.PrintObj(list, o.Out)
	}
	for i := range list.Items { // -o name takes no list
		if err := printer.PrintObj(&list.Items[i], o.Out); err != nil {
			return err
		}
	}
	return nil
}

// watchTable keeps a table up to date. On a terminal it draws the table again every second; elsewhere it prints a line for
// each change, as kubectl get -w does.
func (o *listOptions) watchTable(ctx context.Context, c *cluster, list *cnatv1alpha1.AtList, columns columns, in []client.ListOption) error {
	watching, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// An informer outlasts all interruptions of its watch. It begins with all Ats.
	_, _, changes, _ := watchtools.NewIndexerInformerWatcherWithLogger(logr.Discard(), c.listWatch(&cnatv1alpha1.AtList{}, in, cancel), &cnatv1alpha1.At{})
	defer changes.Stop()
	screen := &screen{out: o.Out, columns: columns, terminal: term.TTY{Out: o.Out}.IsTerminalOut()}
	ticker := o.clock.NewTicker(time.Second)
	defer ticker.Stop()
	if err := screen.draw(list.Items, o.clock.Now()); err != nil {
		return err
	}
	for {
		select {
		case <-watching.Done():
			if ctx.Err() != nil {
				return nil
			}
			return context.Cause(watching)
		case <-ticker.C():
			if !screen.terminal {
				continue
			}
		case event := <-changes.ResultChan():
			at, isAt := event.Object.(*cnatv1alpha1.At)
			isShown := func(a cnatv1alpha1.At) bool { return a.UID == at.UID && a.ResourceVersion == at.ResourceVersion }
			if !isAt || event.Type != watch.Deleted && slices.ContainsFunc(list.Items, isShown) {
				continue
			}
			list.Items = apply(list.Items, event.Type, *at)
			if !screen.terminal {
				if err := columns.write(o.Out, []cnatv1alpha1.At{*at}, o.clock.Now(), false); err != nil {
					return err
				}
				continue
			}
		}
		if err := screen.draw(list.Items, o.clock.Now()); err != nil {
			return err
		}
	}
}

// apply returns the Ats after an event, in the order in which they run.
func apply(ats []cnatv1alpha1.At, event watch.EventType, at cnatv1alpha1.At) []cnatv1alpha1.At {
	ats = slices.DeleteFunc(ats, func(a cnatv1alpha1.At) bool { return a.UID == at.UID })
	if event != watch.Deleted {
		ats = append(ats, at)
	}
	sortByTime(ats)
	return ats
}

// screen is where a table is drawn.
type screen struct {
	out      io.Writer
	columns  columns
	terminal bool
}

// draw prints the table, on a terminal in place of what it shows.
func (s *screen) draw(ats []cnatv1alpha1.At, now time.Time) error {
	var text strings.Builder
	if s.terminal {
		text.WriteString("\x1b[H\x1b[J") // to the upper left corner, and clear from there
	}
	if err := s.columns.write(&text, ats, now, true); err != nil {
		return err
	}
	_, err := io.WriteString(s.out, text.String())
	return err
}
