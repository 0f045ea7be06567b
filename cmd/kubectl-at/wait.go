// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/kubectl/pkg/util/templates"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// timeoutExitCode is that of timeout(1).
const timeoutExitCode = 124

func newWaitCommand(p *plugin) *cobra.Command {
	var timeout durationValue
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait for the end, and exit with the exit code of the command",
		Long: templates.LongDesc(`
			Wait until an At is done, and exit with the exit code of its command.

			The exit code is 1 when the command failed or was not run and there is no exit code, and 124 on timeout. An At that
			nothing happens to without a change, such as one with an invalid template, is not waited for.`),
		Example: templates.Examples(`
			# Wait for an At for up to an hour
			kubectl at wait at-7gk2p --timeout 1h`),
		Args:              exactlyOneName,
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, name, err := p.connectTo(args[0])
			if err != nil {
				return err
			}
			limit := time.Duration(timeout)
			if limit < 0 {
				limit = 7 * 24 * time.Hour
			}
			var at *cnatv1alpha1.At
			if cmd.Flags().Changed("timeout") {
				at, err = p.waitFor(cmd.Context(), c, name, limit)
			} else {
				at, err = p.awaitAt(cmd.Context(), c, name, isOver)
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
	cmd.Flags().Var(&timeout, "timeout", "How long to wait, such as 1h; 0 looks once, and a negative number waits for a week, as in kubectl wait. No limit by default.")
	hideDefaults(cmd.Flags(), "timeout")
	completeValues(cmd, "timeout")
	return cmd
}

// waitFor waits for the end of an At for a time. With 0 it looks once.
func (p *plugin) waitFor(ctx context.Context, c *cluster, name string, limit time.Duration) (*cnatv1alpha1.At, error) {
	timedOut := utilexec.CodeExitError{Err: fmt.Errorf("error: at/%s is not done after %s", name, limit), Code: timeoutExitCode}
	if limit == 0 {
		at := &cnatv1alpha1.At{}
		if err := c.Get(ctx, c.key(name), at); err != nil {
			return nil, err
		}
		if !isOver(at) {
			return nil, timedOut
		}
		return at, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	at, err := p.awaitAt(ctx, c, name, isOver)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, timedOut
	}
	return at, err
}

// isOver reports whether nothing more happens to an At by itself: it is done, or the operator says that it is stalled by its current
// spec. The operator creates a rejected pod again, so that an At which waits for a quota goes on by itself.
func isOver(at *cnatv1alpha1.At) bool {
	isOutdated := at.Status.ObservedGeneration > 0 && at.Status.ObservedGeneration < at.Generation
	stalled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionStalled)
	return isDone(at) || !isOutdated && stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason != cnatv1alpha1.ReasonFailedCreate
}

// followToEnd prints the logs of a run until it is done, and returns its outcome.
func (p *plugin) followToEnd(ctx context.Context, c *cluster, name string) error {
	at, complete, err := p.follow(ctx, c, name, newest)
	if err != nil {
		return err
	}
	if err := outcome(at); err != nil {
		return err
	}
	if !complete {
		return fmt.Errorf("at/%s succeeded, but its log is not complete", name)
	}
	return nil
}

// outcome returns nil for an At that succeeded, else an error with the exit code of the command.
func outcome(at *cnatv1alpha1.At) error {
	if at.Status.Result == cnatv1alpha1.ResultSucceeded {
		return nil
	}
	if !isDone(at) {
		return fmt.Errorf("at/%s does not run: %s", at.Name, heldBy(at))
	}
	text, code := fmt.Sprintf("error: at/%s failed: %s", at.Name, at.Status.Reason), 1
	if exit := at.Status.ExitCode; exit != nil && *exit != 0 {
		text = fmt.Sprintf("%s, exit code %d", text, *exit)
		if 0 < *exit && *exit < 256 { // A process cannot exit with those of Windows.
			code = int(*exit)
		}
	}
	return utilexec.CodeExitError{Err: errors.New(text + failure(at)), Code: code}
}

// failure returns ": " and the message of the operator about an At that has failed, or "" if there is none or the exit code says it all.
func failure(at *cnatv1alpha1.At) string {
	failed := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionFailed)
	if failed == nil || failed.Message == "" || failed.Reason == cnatv1alpha1.ReasonNonZeroExitCode {
		return ""
	}
	return ": " + printable(failed.Message)
}
