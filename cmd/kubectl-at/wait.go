// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	utilexec "k8s.io/client-go/util/exec"

	"k8s.io/apimachinery/pkg/api/meta"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/await"
	"github.com/redhat/podset-operator/internal/at/proof"
)

const (
	// timeoutExitCode is that of timeout(1), and interruptedExitCode that of a shell after Ctrl-C.
	timeoutExitCode     = 124
	interruptedExitCode = 130
)

func waitVerb() verb {
	var timeout durationValue
	return verb{
		use: "wait NAME", args: oneName,
		short: "Wait for the end, and exit with the exit code of the command",
		long: `
			Wait until an At is done, and exit with the exit code of its command.

			The exit code is 1 when the command failed or was not run and there is no exit code, and 124 on timeout. It stops
			waiting if the At cannot proceed until it is edited. With -o, it prints the At as it is in the end.`,
		example: `
			# Wait for an At for up to an hour
			kubectl at wait at-7gk2p --timeout 1h

			# In a program: the exit code says what happened, and the JSON why
			kubectl at wait at-7gk2p --outcome-codes -o json`,
		prints: true,
		flags: func(cmd *cobra.Command) {
			addOutcomeFlag(cmd)
			cmd.Flags().Var(&timeout, "timeout", "How long to wait, such as 1h; 0 looks once. No limit by default.")
		},
		run: func(r *request) error {
			return r.untilInterrupted(r.names[0], func() error {
				at, err := r.waitFor(time.Duration(timeout), r.cmd.Flags().Changed("timeout"))
				if err != nil {
					return r.unread(err)
				}
				if err := r.end(at); err != nil || r.printer != nil {
					return err
				}
				_, err = fmt.Fprintf(r.Out, "%s\n", proof.JoinNonEmpty(": ", "at/"+at.Name+" succeeded", endMessage(at)))
				return err
			})
		},
	}
}

// waitFor waits for the end of an At, for a time if it is limited. With 0 it looks once.
func (r *request) waitFor(limit time.Duration, isLimited bool) (*cnatv1alpha1.At, error) {
	ctx := r.ctx()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	at, err := r.awaitAt(ctx, r.names[0], func(at *cnatv1alpha1.At) bool { return isLimited && limit <= 0 || isSettled(at) })
	if err == nil && !isSettled(at) || err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, utilexec.CodeExitError{Err: fmt.Errorf("error: at/%s is not done after %s", r.names[0], limit), Code: timeoutExitCode}
	}
	return at, err
}

// untilInterrupted follows an At. If Ctrl-C or SIGTERM ends that, the error says that the At goes on.
func (r *request) untilInterrupted(name string, follow func() error) error {
	ctx, stop := signal.NotifyContext(r.ctx(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r.cmd.SetContext(ctx)
	err := follow()
	if err == nil || ctx.Err() == nil {
		return err
	}
	return utilexec.CodeExitError{Code: interruptedExitCode, Err: fmt.Errorf("at/%s goes on: %q follows it, %q stops it", name, r.hint("logs -f", name), r.hint("cancel", name))}
}

// hint returns a command about an At that works from everywhere.
func (r *request) hint(verb, name string) string {
	hint := fmt.Sprintf("kubectl at %s %s -n %s", verb, name, r.namespace)
	if context := *r.config.Context; context != "" {
		hint += " --context " + context
	}
	return hint
}

// operatorPatience is how long the operator may take to see a new At before that is reported.
var operatorPatience = 10 * time.Second

// awaitAt watches an At until done says so. It prints what keeps the At from its start or its end.
func (r *request) awaitAt(ctx context.Context, name string, done func(*cnatv1alpha1.At) bool) (*cnatv1alpha1.At, error) {
	var unseen atomic.Bool
	hint := time.AfterFunc(operatorPatience, func() {
		if unseen.Load() {
			_, _ = fmt.Fprintf(r.ErrOut, "at/%s waits: %s\n", name, r.unserved())
		}
	})
	defer hint.Stop()
	reported := ""
	return await.Object(ctx, r.WithWatch, r.key(name), &cnatv1alpha1.AtList{}, &cnatv1alpha1.At{}, func(at *cnatv1alpha1.At) bool {
		unseen.Store(isUnseen(at))
		if done(at) {
			return true
		}
		if reason := heldBy(at); reason != "" && reason != reported {
			reported = reason
			_, _ = fmt.Fprintf(r.ErrOut, "at/%s waits: %s\n", name, reason)
		}
		return false
	})
}

// unserved says that no operator has seen an At, as far as that is known: it can also wait for a slow webhook.
func (r *request) unserved() string {
	return fmt.Sprintf("the operator has not answered yet; is podset-operator running, and does it serve the namespace %s? \"kubectl get deployment -A -l app.kubernetes.io/name=podset-operator\" shows whether it is ready", r.namespace)
}

// problemOf returns what keeps an At from its time, or "" if there is nothing. It waits for the operator, up to a
// limit. The At was created, and this is only a warning about it, so an error is ignored.
func (r *request) problemOf(at *cnatv1alpha1.At, limit time.Duration) (problem string) {
	ctx, cancel := context.WithTimeout(r.ctx(), limit)
	defer cancel()
	_, err := await.Object(ctx, r.WithWatch, r.key(at.Name), &cnatv1alpha1.AtList{}, &cnatv1alpha1.At{}, func(at *cnatv1alpha1.At) bool {
		problem = stalled(at)
		ready := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionReady)
		return ready != nil && ready.ObservedGeneration == at.Generation
	})
	latest := &cnatv1alpha1.At{}
	if err != nil && r.Get(r.ctx(), r.key(at.Name), latest) == nil && isUnseen(latest) {
		problem = "at/" + at.Name + " is not checked yet: " + r.unserved()
	}
	return problem
}
