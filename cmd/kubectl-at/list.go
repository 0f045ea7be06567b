// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/kube/await"
)

// listOptions are the flags of "kubectl at list".
type listOptions struct {
	print         *genericclioptions.PrintFlags
	allNamespaces bool
	watch         bool
	noHeaders     bool
	selector      string
}

func listVerb() verb {
	o := &listOptions{print: newPrintFlags("")}
	return verb{
		use: "list", args: noArguments,
		aliases:    []string{"atq", "ls"},
		suggestFor: []string{"get", "queue", "status"},
		short:      "List Ats, sorted by time, with a countdown",
		long: `
			List Ats, sorted by time: atq(1) for Kubernetes.

			DUE is in the time zone of this machine or of --tz. IN is how long it is until the At runs, or how long ago it was due.
			REASON is why it does not run, or failed.`,
		example: `
			# List the Ats of the namespace
			kubectl at list

			# Watch all Ats count down
			kubectl at list -A -w`,
		flags: o.addFlags,
		run:   o.run,
	}
}

func (o *listOptions) addFlags(cmd *cobra.Command) {
	flags, formats := cmd.Flags(), append([]string{"wide"}, o.print.AllowedFormats()...)
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "List the Ats of all namespaces.")
	flags.BoolVarP(&o.watch, "watch", "w", false, "Keep the list up to date and count down, until Ctrl-C.")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "Print no header.")
	flags.StringVarP(&o.selector, "selector", "l", "", "List the Ats with these labels only, such as -l team=db.")
	o.print.AddFlags(cmd)
	flags.Lookup("output").Usage = fmt.Sprintf("Output format. One of: (%s).", strings.Join(formats, ", "))
	completeValues(cmd, "output", formats...)
}

func (o *listOptions) run(r *request) error {
	location, err := r.location()
	if err != nil {
		return err
	}
	l := &lister{request: r, listOptions: o, columns: columns{namespace: o.allNamespaces, location: location, wide: *o.print.OutputFormat == "wide"}}
	if isOutputSet(r.cmd) && !l.columns.wide {
		if r.printer, err = o.print.ToPrinter(); err != nil {
			return err
		}
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return fmt.Errorf("invalid --selector %q: %w", o.selector, err)
	}
	in := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}}
	if !o.allNamespaces {
		in = append(in, client.InNamespace(r.namespace))
	}
	list := &cnatv1alpha1.AtList{}
	if err := r.List(r.ctx(), list, in...); err != nil {
		return err
	}
	sortByTime(list.Items)
	switch {
	case o.watch:
		return l.watch(list, in)
	case r.printer != nil:
		return l.printObjects(list)
	case len(list.Items) == 0:
		return l.printNone()
	}
	return l.printTable(list.Items, !o.noHeaders)
}

// lister is one call of "kubectl at list".
type lister struct {
	*request
	*listOptions

	columns columns
}

// printTable prints lines that fit a terminal, unless -o wide asks for all.
func (l *lister) printTable(ats []cnatv1alpha1.At, header bool) error {
	width := 0
	if !l.columns.wide {
		width, _ = sizeOf(l.stdout)
	}
	_, err := fmt.Fprintln(l.Out, strings.Join(l.columns.lines(ats, l.clock.Now(), header, width), "\n"))
	return err
}

// printNone says that there are none, as kubectl get does.
func (l *lister) printNone() error {
	text := "No Ats found in " + l.namespace + " namespace."
	if l.allNamespaces {
		text = "No Ats found."
	}
	_, err := fmt.Fprintln(l.ErrOut, text)
	return err
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

// watch keeps a list up to date. A screen is drawn again every second; elsewhere, each change is printed, as kubectl get -w does.
func (l *lister) watch(list *cnatv1alpha1.AtList, in []client.ListOption) error {
	screen, header := &screen{out: l.stdout, columns: l.columns, header: !l.noHeaders}, !l.noHeaders
	onScreen := l.printer == nil && isScreen(l.stdout)
	show := func(changed ...cnatv1alpha1.At) error {
		switch {
		case onScreen:
			return screen.draw(list.Items, l.clock.Now())
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
			list.Items = apply(list.Items, event.Type, *at)
			err = show(*at)
		}
	}
	return err
}

// apply returns the Ats after an event, sorted by time.
func apply(ats []cnatv1alpha1.At, event watch.EventType, at cnatv1alpha1.At) []cnatv1alpha1.At {
	ats = slices.DeleteFunc(ats, func(a cnatv1alpha1.At) bool { return a.UID == at.UID })
	if event != watch.Deleted {
		ats = append(ats, at)
	}
	sortByTime(ats)
	return ats
}
