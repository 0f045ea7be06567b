// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
)

// removeOptions are the flags of "kubectl at rm".
type removeOptions struct {
	force, finished bool
	olderThan       durationValue
	dryRun          dryRun
}

func removeVerb() verb {
	o := &removeOptions{}
	return verb{
		use: "rm (NAME... | --finished)", args: anyNames,
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
			cmd.Flags().BoolVar(&o.force, "force", false, "Delete an At that runs, too, and stop its command.")
			cmd.Flags().BoolVar(&o.finished, "finished", false, "Delete the Ats of the namespace that are done.")
			cmd.Flags().Var(&o.olderThan, "older-than", "With --finished: only those that ended longer ago than this, such as 7d.")
			hideDefaults(cmd.Flags(), "older-than")
			o.dryRun.addFlag(cmd)
		},
		run: o.run,
	}
}

func (o *removeOptions) run(r *request) error {
	names, finished := r.names, map[string]*cnatv1alpha1.At{}
	_, err := o.dryRun.printer(r.cmd, newPrintFlags("deleted"))
	switch {
	case err != nil:
		return err
	case o.finished && (len(names) > 0 || o.force):
		return errors.New("--finished cannot be combined with NAME or --force")
	case !o.finished && r.cmd.Flags().Changed("older-than"):
		return errors.New("--older-than requires --finished")
	case !o.finished && len(names) == 0:
		return oneName.check(r.cmd, nil)
	case o.finished:
		list := &cnatv1alpha1.AtList{}
		if err := r.List(r.ctx(), list, client.InNamespace(r.namespace)); err != nil {
			return err
		}
		sortByTime(list.Items)
		for i := range list.Items {
			at := &list.Items[i]
			if atrun.IsDone(&at.Status) && !at.Status.CompletionTime.After(r.clock.Now().Add(-time.Duration(o.olderThan))) {
				names, finished[at.Name] = append(names, at.Name), at
			}
		}
	}
	if len(names) == 0 {
		_, err := fmt.Fprintf(r.ErrOut, "No finished Ats to delete in %s namespace.\n", r.namespace)
		return err
	}
	var failed []error
	for _, name := range names {
		if err := o.remove(r, name, finished[name]); err != nil {
			failed = append(failed, err)
			continue
		}
		if _, err := fmt.Fprintf(r.Out, "at/%s deleted%s\n", name, o.dryRun.suffix()); err != nil {
			return err
		}
	}
	if len(failed) == 1 {
		return failed[0]
	}
	return utilerrors.NewAggregate(failed)
}

// remove deletes an At. Without force it does not delete one that runs, or that starts in this very moment. seen is the version to delete, or
// nil for that of now.
func (o *removeOptions) remove(r *request, name string, seen *cnatv1alpha1.At) error {
	remove := func(at *cnatv1alpha1.At, options ...client.DeleteOption) error {
		return o.dryRun.send(
			func() error { return r.Delete(r.ctx(), at, options...) },
			func() error { return r.Delete(r.ctx(), at, append(options, client.DryRunAll)...) })
	}
	exactly := func(at *cnatv1alpha1.At) client.DeleteOption {
		return client.Preconditions{UID: &at.UID, ResourceVersion: &at.ResourceVersion}
	}
	if seen != nil {
		return remove(seen, exactly(seen))
	}
	at := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
	if o.force {
		return remove(at)
	}
	for {
		if err := r.Get(r.ctx(), r.key(name), at); err != nil {
			return err
		}
		if atrun.HasStarted(&at.Status) && !atrun.IsDone(&at.Status) {
			return errors.New("at/" + name + " is running; --force deletes it and stops its command")
		}
		if err := remove(at, exactly(at)); !apierrors.IsConflict(err) {
			return err
		}
	}
}
