// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubectl/pkg/util/templates"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func newRemoveCommand(p *plugin) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:        "rm NAME...",
		Aliases:    []string{"atrm", "delete"},
		SuggestFor: []string{"remove"},
		Short:      "Delete Ats",
		Long: templates.LongDesc(`
			Delete Ats with their pods and logs: atrm(1) for Kubernetes.

			An At that runs is deleted only with --force, which stops its command.`),
		Example: templates.Examples(`
			# Delete two Ats that have not started or are done
			kubectl at rm at-7gk2p at-x9s4m`),
		Args:              atLeastOneName,
		ValidArgsFunction: p.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect()
			if err != nil {
				return err
			}
			var failed []error
			for _, arg := range args {
				name, err := nameOf(arg)
				if err == nil {
					err = c.remove(cmd.Context(), name, force)
				}
				if err != nil {
					failed = append(failed, err)
					continue
				}
				if _, err := fmt.Fprintf(p.Out, "at/%s deleted\n", name); err != nil {
					return err
				}
			}
			if len(failed) == 1 {
				return failed[0]
			}
			return utilerrors.NewAggregate(failed)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "Delete an At that runs, too, and stop its command.")
	return cmd
}

// remove deletes an At. Without force it does not delete one that runs, or that starts in this very moment.
func (c *cluster) remove(ctx context.Context, name string, force bool) error {
	at := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}
	if force {
		return c.Delete(ctx, at)
	}
	for {
		if err := c.Get(ctx, c.key(name), at); err != nil {
			return err
		}
		if at.Status.Phase == cnatv1alpha1.PhaseRunning {
			return errors.New("at/" + name + " is running; --force deletes it and stops its command")
		}
		seen := client.Preconditions{UID: &at.UID, ResourceVersion: &at.ResourceVersion}
		if err := c.Delete(ctx, at, seen); !apierrors.IsConflict(err) {
			return err
		}
	}
}
