// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/retry"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func newSuspendCommand(p *plugin) *cobra.Command {
	return &cobra.Command{
		Use:               "suspend NAME",
		Short:             "Hold an At that has not started",
		Long:              templates.LongDesc(`Hold an At that has not started, until it is resumed.`),
		Example:           templates.Examples("# Hold an At\nkubectl at suspend at-7gk2p"),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := nameOf(args[0])
			_, err := p.change(cmd.Context(), name, func(at *cnatv1alpha1.At) { at.Spec.Suspend = ptr.To(true) })
			if err == nil {
				_, err = fmt.Fprintf(p.Out, "at/%s suspended\n", name)
			}
			return err
		},
	}
}

func newResumeCommand(p *plugin) *cobra.Command {
	return &cobra.Command{
		Use:               "resume NAME",
		Short:             "Release an At that is suspended",
		Long:              templates.LongDesc(`Release an At that is suspended. If its time has passed, it runs at once.`),
		Example:           templates.Examples("# Release an At\nkubectl at resume at-7gk2p"),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := p.change(cmd.Context(), nameOf(args[0]), func(at *cnatv1alpha1.At) { at.Spec.Suspend = ptr.To(false) })
			if err != nil {
				return err
			}
			return p.printDue(at, "resumed: ", nil)
		},
	}
}

func newRescheduleCommand(p *plugin) *cobra.Command {
	var stamp string
	cmd := &cobra.Command{
		Use:   "reschedule NAME TIME...",
		Short: "Give an At that has not started another time",
		Long:  templates.LongDesc(`Give an At that has not started another time. TIME is as in kubectl at.`),
		Example: templates.Examples(`
			# Run an At two hours from now instead
			kubectl at reschedule at-7gk2p now + 2 hours`),
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			due, notes, err := p.when(args[1:], stamp, p.clock.Now())
			if err != nil {
				return err
			}
			at, err := p.change(cmd.Context(), nameOf(args[0]), func(at *cnatv1alpha1.At) { at.Spec.Schedule = schedule(due) })
			if err != nil {
				return err
			}
			at.Status.ScheduledTime = nil // of the old schedule
			return p.printDue(at, "", notes)
		},
	}
	cmd.Flags().StringVarP(&stamp, "time", "t", "", "Time as [[CC]YY]MMDDhhmm[.SS], in place of TIME.")
	return cmd
}

// printDue prints when an At runs.
func (p *plugin) printDue(at *cnatv1alpha1.At, prefix string, notes []string) error {
	location, err := p.location()
	if err != nil {
		return err
	}
	line := runsAt(at.Name, dueTime(at).In(location), p.clock.Now(), notes)
	if at.Spec.Suspend != nil && *at.Spec.Suspend {
		line += ", suspended"
	}
	_, err = fmt.Fprintln(p.Out, prefix+line)
	return err
}

// change edits an At that has not started, and that does not start meanwhile.
func (p *plugin) change(ctx context.Context, name string, edit func(*cnatv1alpha1.At)) (*cnatv1alpha1.At, error) {
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	at := &cnatv1alpha1.At{}
	return at, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, c.key(name), at); err != nil {
			return err
		}
		if at.Status.Phase == cnatv1alpha1.PhaseRunning {
			return fmt.Errorf("at/%s has started and cannot be changed", name)
		}
		if isDone(at) {
			return fmt.Errorf("at/%s is done and cannot be changed", name)
		}
		base := at.DeepCopy()
		edit(at)
		return c.Patch(ctx, at, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	})
}
