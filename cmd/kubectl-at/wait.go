// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/kubectl/pkg/util/templates"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// timeoutExitCode is that of timeout(1).
const timeoutExitCode = 124

func newWaitCommand(p *plugin) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait for the end, and exit with the exit code of the command",
		Long: templates.LongDesc(`
			Wait until an At is done, and exit with the exit code of its command.

			The exit code is 1 when the command failed or was not run and there is no exit code, and 124 on timeout.`),
		Example: templates.Examples(`
			# Wait for an At for up to an hour
			kubectl at wait at-7gk2p --timeout 1h`),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			name := nameOf(args[0])
			at, err := p.awaitAt(ctx, c, name, isDone)
			if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return utilexec.CodeExitError{Err: fmt.Errorf("error: at/%s is not done after %s", name, timeout), Code: timeoutExitCode}
			}
			if err != nil {
				return err
			}
			if err := outcome(at); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Out, "at/%s succeeded\n", at.Name)
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "How long to wait, such as 1h; no limit by default.")
	hideDefaults(cmd.Flags(), "timeout")
	return cmd
}

// followToEnd prints the logs of a run until it is done, and returns its outcome.
func (p *plugin) followToEnd(ctx context.Context, c *cluster, name string) error {
	at, err := p.follow(ctx, c, name, newest)
	if err != nil {
		return err
	}
	return outcome(at)
}

// outcome returns nil for an At that succeeded, else an error with the exit code of the command.
func outcome(at *cnatv1alpha1.At) error {
	if at.Status.Result == cnatv1alpha1.ResultSucceeded {
		return nil
	}
	text, code := fmt.Sprintf("error: at/%s failed: %s", at.Name, at.Status.Reason), 1
	if exit := at.Status.ExitCode; exit != nil && *exit != 0 {
		text, code = fmt.Sprintf("%s, exit code %d", text, *exit), int(*exit)
	}
	return utilexec.CodeExitError{Err: errors.New(text), Code: code}
}
