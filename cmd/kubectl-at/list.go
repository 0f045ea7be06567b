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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/kubectl/pkg/util/templates"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// listOptions are the flags of "kubectl at list".
type listOptions struct {
	*plugin
	print         *genericclioptions.PrintFlags
	allNamespaces bool
	watch         bool
	noHeaders     bool
	selector      string
}

func newListCommand(p *plugin) *cobra.Command {
	o := &listOptions{plugin: p, print: newPrintFlags("")}
	cmd := &cobra.Command{
		Use:        "list",
		Aliases:    []string{"atq", "ls"},
		SuggestFor: []string{"get", "queue", "status"},
		Short:      "List Ats, sorted by time, with a countdown",
		Long: templates.LongDesc(`
			List Ats, sorted by the time they run: atq(1) for Kubernetes.

			DUE is in the time zone of this machine or of --tz. IN is how long it is until the At runs, how long ago it was due, or
			what keeps it from running.`),
		Example: templates.Examples(`
			# List the Ats of the namespace
			kubectl at list

			# Watch all Ats count down
			kubectl at list -A -w`),
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "List the Ats of all namespaces.")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "Keep the list up to date and count down, until Ctrl-C.")
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Print no header.")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "List the Ats with these labels only, such as -l team=db.")
	o.print.AddFlags(cmd)
	cmd.Flags().Lookup("output").Usage = fmt.Sprintf("Output format. One of: (%s).", strings.Join(o.formats(), ", "))
	completeValues(cmd, "output", o.formats()...)
	completeValues(cmd, "selector")
	return cmd
}

// formats are those of -o.
func (o *listOptions) formats() []string {
	return append([]string{"wide", formatCustomColumns}, o.print.AllowedFormats()...)
}

func (o *listOptions) run(cmd *cobra.Command) error {
	location, err := o.location()
	if err != nil {
		return err
	}
	columns, printer, err := o.output(cmd, location)
	if err != nil {
		return err
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return fmt.Errorf("--selector %s: %w", o.selector, err)
	}
	in := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}}
	if !o.allNamespaces {
		in = append(in, client.InNamespace(c.namespace))
	}
	list := &cnatv1alpha1.AtList{}
	if err := c.List(cmd.Context(), list, in...); err != nil {
		return err
	}
	sortByTime(list.Items)
	switch {
	case o.watch:
		return o.watchList(cmd.Context(), c, list, o.view(printer, columns), in)
	case printer != nil:
		return o.printObjects(printer, list)
	case len(list.Items) == 0:
		return o.printNone(c)
	}
	return printLines(o.Out, columns.lines(list.Items, o.clock.Now(), !o.noHeaders, o.width(columns)))
}

// width returns how wide the lines of a table may be, or 0 if they are printed as they are.
func (o *listOptions) width(columns columns) int {
	if columns.wide || columns.custom != nil {
		return 0
	}
	width, _ := sizeOf(o.Out)
	return width
}

// output returns the columns of the table, or what prints objects as -o says.
func (o *listOptions) output(cmd *cobra.Command, location *time.Location) (columns columns, printer printers.ResourcePrinter, err error) {
	columns.namespace, columns.location = o.allNamespaces, location
	format, spec, _ := strings.Cut(*o.print.OutputFormat, "=")
	switch {
	case format == "wide":
		columns.wide = true
	case format == formatCustomColumns:
		columns.custom, err = parseCustomColumns(spec)
	case isOutputSet(cmd):
		printer, err = o.print.ToPrinter()
	}
	return columns, printer, err
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
func (o *listOptions) printObjects(printer printers.ResourcePrinter, list *cnatv1alpha1.AtList) error {
	list.SetGroupVersionKind(cnatv1alpha1.GroupVersion.WithKind("AtList"))
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(atKind)
	}
	if *o.print.OutputFormat != "name" {
		return printer.PrintObj(list, o.Out)
	}
	return o.printEach(printer, list.Items) // -o name takes no list
}

func (o *listOptions) printEach(printer printers.ResourcePrinter, ats []cnatv1alpha1.At) error {
	for i := range ats {
		if err := printer.PrintObj(&ats[i], o.Out); err != nil {
			return err
		}
	}
	return nil
}

// view shows a list that is watched.
type view struct {
	// all prints the list at first and, on a screen, whenever it or the time changes.
	all func([]cnatv1alpha1.At) error
	// one prints an At that has changed, or is nil on a screen.
	one func(cnatv1alpha1.At) error
}

// view returns how to show changes: a screen is drawn again every second; elsewhere, each change is printed, as kubectl get -w does.
func (o *listOptions) view(printer printers.ResourcePrinter, columns columns) view {
	if printer != nil {
		return view{
			all: func(ats []cnatv1alpha1.At) error { return o.printEach(printer, ats) },
			one: func(at cnatv1alpha1.At) error { return o.printEach(printer, []cnatv1alpha1.At{at}) },
		}
	}
	if isScreen(o.Out) {
		screen := &screen{out: o.Out, columns: columns, header: !o.noHeaders}
		return view{all: func(ats []cnatv1alpha1.At) error { return screen.draw(ats, o.clock.Now()) }}
	}
	table := func(ats []cnatv1alpha1.At, header bool) error {
		return printLines(o.Out, columns.lines(ats, o.clock.Now(), header, o.width(columns)))
	}
	return view{
		all: func(ats []cnatv1alpha1.At) error { return table(ats, !o.noHeaders) },
		one: func(at cnatv1alpha1.At) error { return table([]cnatv1alpha1.At{at}, false) },
	}
}

// watchList keeps a list up to date.
func (o *listOptions) watchList(ctx context.Context, c *cluster, list *cnatv1alpha1.AtList, view view, in []client.ListOption) error {
	watching, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// An informer outlasts all interruptions of its watch. It begins with all Ats.
	_, _, changes, _ := watchtools.NewIndexerInformerWatcherWithLogger(logr.Discard(), c.listWatch(&cnatv1alpha1.AtList{}, in, cancel), &cnatv1alpha1.At{})
	defer changes.Stop()
	ticker := o.clock.NewTicker(time.Second)
	defer ticker.Stop()
	if err := view.all(list.Items); err != nil {
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
			if view.one != nil {
				continue
			}
		case event := <-changes.ResultChan():
			at, isAt := event.Object.(*cnatv1alpha1.At)
			isShown := func(a cnatv1alpha1.At) bool { return a.UID == at.UID && a.ResourceVersion == at.ResourceVersion }
			if !isAt || event.Type != watch.Deleted && slices.ContainsFunc(list.Items, isShown) {
				continue
			}
			list.Items = apply(list.Items, event.Type, *at)
			if view.one != nil {
				if err := view.one(*at); err != nil {
					return err
				}
				continue
			}
		}
		if err := view.all(list.Items); err != nil {
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

func printLines(out io.Writer, lines []string) error {
	_, err := io.WriteString(out, strings.Join(lines, "\n")+"\n")
	return err
}
