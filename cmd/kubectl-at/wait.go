// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/client-go/util/exec"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/kube/await"
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

			The exit code is 1 when the command failed or was not run and there is no exit code, and 124 on timeout. An At that
			nothing happens to without a change, such as one with an invalid template, is not waited for.`,
		example: `
			# Wait for an At for up to an hour
			kubectl at wait at-7gk2p --timeout 1h`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().Var(&timeout, "timeout", "How long to wait, such as 1h; 0 looks once, and a negative number waits for a week, as in kubectl wait. No limit by default.")
			hideDefaults(cmd.Flags(), "timeout")
		},
		run: func(r *request) error {
			return r.untilInterrupted(r.names[0], func() error {
				at, err := r.waitFor(time.Duration(timeout), r.cmd.Flags().Changed("timeout"))
				if err != nil {
					return err
				}
				if err := outcome(at); err != nil {
					return err
				}
				_, err = fmt.Fprintf(r.Out, "at/%s succeeded\n", at.Name)
				return err
			})
		},
	}
}

// waitFor waits for the end of an At, for a time if it is limited. With 0 it looks once.
func (r *request) waitFor(limit time.Duration, isLimited bool) (*cnatv1alpha1.At, error) {
	ctx, name := r.ctx(), r.names[0]
	if !isLimited {
		return r.awaitAt(ctx, name, isOver)
	}
	timedOut := utilexec.CodeExitError{Err: fmt.Errorf("error: at/%s is not done after %s", name, limit), Code: timeoutExitCode}
	if limit == 0 {
		at := &cnatv1alpha1.At{}
		if err := r.get(at); err != nil {
			return nil, err
		}
		if !isOver(at) {
			return nil, timedOut
		}
		return at, nil
	}
	if limit < 0 {
		limit = 7 * 24 * time.Hour
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	at, err := r.awaitAt(ctx, name, isOver)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, timedOut
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

// operatorPatience is how long the operator may take to see a new At before that is reported, and hintInterval how often.
const (
	operatorPatience = 10 * time.Second
	hintInterval     = 30 * time.Second
)

// awaitAt watches an At until done says so. It prints what keeps the At from its start or its end.
func (r *request) awaitAt(ctx context.Context, name string, done func(*cnatv1alpha1.At) bool) (*cnatv1alpha1.At, error) {
	var mutex sync.Mutex
	unseen, reported := false, ""
	var timer *time.Timer
	mutex.Lock()
	timer = time.AfterFunc(operatorPatience, func() {
		mutex.Lock()
		defer mutex.Unlock()
		if unseen {
			_, _ = fmt.Fprintf(r.ErrOut, "at/%s waits: the operator has not seen it; is podset-operator running, and does it serve the namespace %s? \"kubectl at check -n %s\" finds out\n",
				name, r.namespace, r.namespace)
			timer.Reset(hintInterval)
		}
	})
	mutex.Unlock()
	defer timer.Stop()
	found, err := await.Object(ctx, r.WithWatch, r.key(name), &cnatv1alpha1.AtList{}, &cnatv1alpha1.At{}, func(a *cnatv1alpha1.At) bool {
		mutex.Lock()
		defer mutex.Unlock()
		unseen = a.Status.ObservedGeneration < 0 // the default of a new At
		if done(a) {
			return true
		}
		if reason := heldBy(a); reason != "" && reason != reported {
			reported = reason
			_, _ = fmt.Fprintf(r.ErrOut, "at/%s waits: %s\n", name, reason)
		}
		return false
	})
	mutex.Lock()
	defer mutex.Unlock()
	unseen = false
	return found, err
}

// heldBy returns what keeps an At from starting at its time, such as its suspension or a rejected pod, or from ending: its pod waits, or
// another container outlives the command. It is "" if there is nothing.
func heldBy(at *cnatv1alpha1.At) string {
	for _, condition := range at.Status.Conditions {
		isHeld := condition.Status == metav1.ConditionFalse &&
			(condition.Type == cnatv1alpha1.ConditionScheduled || condition.Type == cnatv1alpha1.ConditionReady && condition.Reason != cnatv1alpha1.ReasonRunning)
		if isHeld && !atrun.IsDone(&at.Status) {
			return condition.Reason + ": " + printable(condition.Message)
		}
	}
	return ""
}

// isOver reports whether nothing more happens to an At by itself: it is done, or it is stalled because its current spec cannot be scheduled.
// The operator creates a rejected pod again, so that an At which waits for a quota goes on by itself.
func isOver(at *cnatv1alpha1.At) bool {
	isOutdated := at.Status.ObservedGeneration > 0 && at.Status.ObservedGeneration < at.Generation
	scheduled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	stalled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionStalled)
	isStalled := scheduled != nil && scheduled.Status == metav1.ConditionFalse && scheduled.Reason != cnatv1alpha1.ReasonFailedCreate &&
		stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == scheduled.Reason
	return atrun.IsDone(&at.Status) || isStalled && !isOutdated
}

// outcome returns nil for an At that succeeded, else an error with the exit code of the command.
func outcome(at *cnatv1alpha1.At) error {
	if at.Status.Result == cnatv1alpha1.ResultSucceeded {
		return nil
	}
	if !atrun.IsDone(&at.Status) {
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
