// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// changeOptions are what the commands that change one At have in common.
type changeOptions struct {
	*plugin
	printer printers.ResourcePrinter // of -o, or nil if there is none
	dryRun  dryRun
}

// newChangeCommand completes a command that changes one At: its flags -o and --dry-run, its arguments, and their completion.
func newChangeCommand(p *plugin, cmd *cobra.Command, operation string, run func(o *changeOptions, cmd *cobra.Command, args []string) error) *cobra.Command {
	flags, dryRun := newPrintFlags(operation), dryRunNone
	if cmd.Args == nil {
		cmd.Args = exactlyOneName
	}
	cmd.ValidArgsFunction = p.completeName
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		o := &changeOptions{plugin: p, dryRun: dryRun}
		if o.printer, err = dryRun.printer(cmd, flags); err != nil { // A mistake is found before anything changes.
			return err
		}
		return run(o, cmd, args)
	}
	dryRun.addFlag(cmd)
	flags.AddFlags(cmd)
	completeOutput(cmd, flags)
	return cmd
}

// change edits an At that may be edited, and that does not start or end meanwhile.
func (o *changeOptions) change(ctx context.Context, argument string, mayEdit func(*cnatv1alpha1.At) error, edit func(*cnatv1alpha1.At)) (*cnatv1alpha1.At, error) {
	c, name, err := o.connectTo(argument)
	if err != nil {
		return nil, err
	}
	at := &cnatv1alpha1.At{}
	return at, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, c.key(name), at); err != nil {
			return err
		}
		if err := mayEdit(at); err != nil {
			return err
		}
		base := at.DeepCopy()
		edit(at)
		return o.patch(ctx, c, at, base)
	})
}

// patch writes the difference to base, if the At still has the version of base.
func (o *changeOptions) patch(ctx context.Context, c *cluster, at, base *cnatv1alpha1.At) error {
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	switch o.dryRun {
	case dryRunClient:
		return nil
	case dryRunServer:
		return c.Patch(ctx, at, patch, client.DryRunAll)
	default:
		return c.Patch(ctx, at, patch)
	}
}

// hasNotStarted returns an error about an At that has started.
func hasNotStarted(at *cnatv1alpha1.At) error {
	if at.Status.Phase == cnatv1alpha1.PhaseRunning {
		return fmt.Errorf("at/%s has started and cannot be changed", at.Name)
	}
	return isNotDone(at)
}

// isNotDone returns an error about an At that is done.
func isNotDone(at *cnatv1alpha1.At) error {
	if isDone(at) {
		return fmt.Errorf("at/%s is done and cannot be changed", at.Name)
	}
	return nil
}

// report prints an At as -o says, or else a line.
func (o *changeOptions) report(at *cnatv1alpha1.At, line string) error {
	if o.printer != nil {
		return o.printer.PrintObj(at, o.Out)
	}
	_, err := fmt.Fprintln(o.Out, line+o.dryRun.suffix())
	return err
}

// reportDue prints an At as -o says, or else when it runs.
func (o *changeOptions) reportDue(at *cnatv1alpha1.At, prefix string, notes []string) error {
	location, err := o.location()
	if err != nil {
		return err
	}
	if o.printer != nil {
		for _, note := range notes {
			_, _ = fmt.Fprintln(o.ErrOut, "Warning:", note)
		}
	}
	return o.report(at, prefix+runsAt(at, dueTime(at).In(location), o.clock.Now(), notes))
}
