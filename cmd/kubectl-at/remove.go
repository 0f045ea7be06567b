// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/kubectl/pkg/util/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
)

// removeOptions are the flags of "kubectl at rm".
type removeOptions struct {
	force, finished bool
	olderThan       durationValue
}

func removeVerb() verb {
	o := &removeOptions{}
	return verb{
		use: "rm (NAME... | --finished)", args: anyNames, operation: "deleted",
		aliases:    []string{"atrm", "delete"},
		suggestFor: []string{"remove"},
		short:      "Delete Ats",
		long: `
			Delete Ats with their pods and logs: atrm(1) for Kubernetes.

			An At that runs is deleted only with --force, which stops its command.`,
		example: `
			# Delete two Ats that have not started or are done
			kubectl at rm at-7gk2p at-x9s4m

			# Show which Ats have ended more than a week ago, and delete them
			kubectl at rm --finished --older-than 7d --dry-run
			kubectl at rm --finished --older-than 7d`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&o.force, "force", false, "Delete an At that runs, too, and stop its command. With --finished: do not ask.")
			cmd.Flags().BoolVar(&o.finished, "finished", false, "Delete the Ats of the namespace that are done. In a terminal, it asks.")
			cmd.Flags().Var(&o.olderThan, "older-than", "With --finished: only those that ended longer ago than this, such as 7d.")
		},
		run: o.run,
	}
}

func (o *removeOptions) run(r *request) error {
	switch {
	case o.finished && len(r.names) > 0:
		return errors.New("--finished cannot be combined with NAME")
	case o.finished:
		return o.removeFinished(r)
	case r.cmd.Flags().Changed("older-than"):
		return errors.New("--older-than requires --finished")
	case len(r.names) == 0:
		return oneName.check(r.cmd, nil)
	}
	return r.each(len(r.names), func(i int) error { return o.remove(r, r.names[i]) })
}

// removeFinished deletes the Ats that are done, and no At that has replaced one of them.
func (o *removeOptions) removeFinished(r *request) error {
	list := &cnatv1alpha1.AtList{}
	if err := r.List(r.ctx(), list, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	list.Items = slices.DeleteFunc(list.Items, func(at cnatv1alpha1.At) bool {
		return !atrun.IsDone(&at.Status) || at.Status.CompletionTime.After(r.clock.Now().Add(-time.Duration(o.olderThan)))
	})
	if len(list.Items) == 0 {
		_, err := fmt.Fprintf(r.ErrOut, "No finished Ats to delete in %s namespace.\n", r.namespace)
		return err
	}
	sortByTime(list.Items)
	if !o.force && r.dryRun == dryRunNone && (term.TTY{In: r.In}).IsTerminalIn() {
		if yes, _ := r.ask(fmt.Sprintf("Delete %d finished Ats of the namespace %s, with their logs?", len(list.Items), r.namespace)); !yes {
			return errors.New("no At is deleted")
		}
	}
	return r.each(len(list.Items), func(i int) error { return r.delete(&list.Items[i]) })
}

// each does something n times. It returns the last error, and prints the others.
func (r *request) each(n int, do func(int) error) error {
	var last error
	for i := range n {
		if err := do(i); err != nil {
			if last != nil {
				message, _ := describe(last)
				_, _ = fmt.Fprintln(r.ErrOut, message)
			}
			last = err
		}
	}
	return last
}

// remove deletes an At. Without --force it does not delete one that runs, or that starts in this very moment.
func (o *removeOptions) remove(r *request, name string) error {
	at := &cnatv1alpha1.At{}
	for {
		if err := r.Get(r.ctx(), r.key(name), at); err != nil {
			return err
		}
		if !o.force && atrun.HasStarted(&at.Status) && !atrun.IsDone(&at.Status) {
			return errors.New("at/" + name + " is running; --force deletes it and stops its command")
		}
		if err := r.delete(at); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// delete deletes an At, if it still has this version.
func (r *request) delete(at *cnatv1alpha1.At) error {
	exactly := client.Preconditions{UID: &at.UID, ResourceVersion: &at.ResourceVersion}
	if err := r.send(func(w client.Writer) error { return w.Delete(r.ctx(), at, exactly) }); err != nil {
		return err
	}
	return r.report(at, "at/"+at.Name+" deleted")
}
