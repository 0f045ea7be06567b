// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
)

func removeVerb() verb {
	force := false
	return verb{
		use: "rm NAME...", args: someNames, operation: "deleted",
		aliases:    []string{"atrm", "delete"},
		suggestFor: []string{"remove"},
		short:      "Delete Ats",
		long: `
			Delete Ats with their pods and logs: atrm(1) for Kubernetes.

			An At that runs is deleted only with --force, which stops its command.`,
		example: `
			# Delete two Ats that have not started or are done
			kubectl at rm at-7gk2p at-x9s4m

			# Delete an At that runs, and stop its command
			kubectl at rm at-7gk2p --force`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&force, "force", false, "Delete an At that runs, too, and stop its command.")
		},
		run: func(r *request) error { return removeAll(r, force) },
	}
}

// removeAll deletes the Ats that are named. It returns the last error, and prints the others.
func removeAll(r *request, force bool) error {
	var last error
	for _, name := range r.names {
		if err := remove(r, name, force); err != nil {
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
func remove(r *request, name string, force bool) error {
	at := &cnatv1alpha1.At{}
	for {
		if err := r.Get(r.ctx(), r.key(name), at); err != nil {
			return err
		}
		if !force && atrun.HasStarted(&at.Status) && !atrun.IsDone(&at.Status) {
			if isBetweenAttempts(at) {
				return errors.New("at/" + name + " is tried again; --force deletes it")
			}
			return errors.New("at/" + name + " is running; --force deletes it and stops its command")
		}
		exactly := client.Preconditions{UID: &at.UID, ResourceVersion: &at.ResourceVersion}
		err := r.send(func(w client.Writer) error { return w.Delete(r.ctx(), at, exactly) })
		switch {
		case err == nil:
			return r.report(at, "at/"+at.Name+" deleted")
		case !apierrors.IsConflict(err):
			return err
		}
	}
}
