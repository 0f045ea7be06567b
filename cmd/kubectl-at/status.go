// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
)

// isUnseen reports whether no operator has seen an At, which then has the default of a new one.
func isUnseen(at *cnatv1alpha1.At) bool { return at.Status.ObservedGeneration < 0 }

// isOutdated reports whether the operator has not seen the newest edit of an At.
func isOutdated(at *cnatv1alpha1.At) bool {
	return at.Status.ObservedGeneration > 0 && at.Status.ObservedGeneration < at.Generation
}

// heldBy returns what keeps an At from starting at its time, such as its suspension or a rejected pod, or from ending:
// its pod waits, or another container outlives the command, or an attempt has failed. It is "" if there is nothing.
func heldBy(at *cnatv1alpha1.At) string {
	for _, c := range at.Status.Conditions {
		isHeld := c.Status == metav1.ConditionFalse && (c.Type == cnatv1alpha1.ConditionScheduled || c.Type == cnatv1alpha1.ConditionReady && c.Reason != cnatv1alpha1.ReasonRunning)
		if isHeld && !proof.IsDone(&at.Status) {
			return printable(proof.JoinNonEmpty(": ", c.Reason, c.Message))
		}
	}
	return ""
}

// isBetweenAttempts reports whether an attempt has failed, and the next one has not started.
func isBetweenAttempts(at *cnatv1alpha1.At) bool {
	return at.Status.RetryTime != nil && !proof.IsDone(&at.Status)
}

// isSettled reports whether nothing more happens to an At by itself: it is done, or it is stalled because its current spec
// cannot be scheduled. The operator creates a rejected pod again, so that an At which waits for a quota goes on by
// itself.
func isSettled(at *cnatv1alpha1.At) bool {
	scheduled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	stalled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionStalled)
	isStalled := scheduled != nil && scheduled.Status == metav1.ConditionFalse && scheduled.Reason != cnatv1alpha1.ReasonFailedCreate &&
		stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == scheduled.Reason
	return proof.IsDone(&at.Status) || isStalled && !isOutdated(at)
}

// outcome returns nil for an At that succeeded, else an error with the exit code of the command.
func outcome(at *cnatv1alpha1.At) error {
	if !proof.IsDone(&at.Status) {
		return fmt.Errorf("at/%s does not run: %s", at.Name, heldBy(at))
	}
	if at.Status.Result == cnatv1alpha1.ResultSucceeded {
		return nil
	}
	code := 1
	if exit := at.Status.ExitCode; exit != nil && 0 < *exit && *exit < 256 { // A process cannot exit with those of Windows.
		code = int(*exit)
	}
	return utilexec.CodeExitError{Err: fmt.Errorf("error: at/%s failed: %s", at.Name, howEnded(at)), Code: code}
}

// howEnded returns why an At has ended: the reason and the message of the operator, and the exit code if the message
// does not have it.
func howEnded(at *cnatv1alpha1.At) string {
	text, message := at.Status.Reason, endMessage(at)
	if exit := at.Status.ExitCode; exit != nil && *exit != 0 && !strings.Contains(message, fmt.Sprintf("exit code %d", *exit)) {
		text += fmt.Sprintf(", exit code %d", *exit)
	}
	return proof.JoinNonEmpty(": ", text, message)
}

// endMessage returns what the operator says about the end of an At, or "".
func endMessage(at *cnatv1alpha1.At) string {
	for _, c := range at.Status.Conditions {
		if c.Type == cnatv1alpha1.ConditionFailed || c.Type == cnatv1alpha1.ConditionComplete {
			return printable(c.Message)
		}
	}
	return ""
}

// stalled returns why an At that has not ended cannot go on without a change, or "".
func stalled(at *cnatv1alpha1.At) string {
	c := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionStalled)
	if c == nil || c.Status != metav1.ConditionTrue || proof.IsDone(&at.Status) {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// reasonOf returns what an At waits for, or how it ended, in one word as kubectl get shows it, or "" if the operator
// has not said it.
func reasonOf(a *cnatv1alpha1.At) string {
	if proof.IsDone(&a.Status) {
		return a.Status.Reason
	}
	if ready := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}

// isTooLate reports whether the starting deadline of an At that is due at a time is over.
func isTooLate(a *cnatv1alpha1.At, due, now time.Time) bool {
	deadline := a.Spec.StartingDeadlineSeconds
	return deadline != nil && !due.IsZero() && int64(now.Sub(due)/time.Second) > *deadline
}

// hasNotStarted returns an error about an At that has started.
func hasNotStarted(at *cnatv1alpha1.At) error {
	switch err := isNotDone(at); {
	case err != nil:
		return err
	case proof.HasStarted(&at.Status):
		return fmt.Errorf("at/%s has started and cannot be changed", at.Name)
	case ptr.Deref(at.Spec.Cancel, false):
		return fmt.Errorf("at/%s is canceled and never runs", at.Name)
	}
	return nil
}

// isNotDone returns an error about an At that is done.
func isNotDone(at *cnatv1alpha1.At) error {
	if proof.IsDone(&at.Status) {
		return fmt.Errorf("at/%s is done and cannot be changed", at.Name)
	}
	return nil
}

// Exit codes of --outcome-codes, which docs/kubectl-at.md explains. Neither shells nor Go programs exit with them by
// themselves.
const (
	codeFailed  = 10
	codeNotRun  = 11
	codeUnknown = 12
	codeRefused = 13
	codeNotRead = 14
)

func addOutcomeFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("outcome-codes", false, "Do not exit with the exit code of the command, but with 10 if it failed, 11 if it did not run, 12 if that is unknown, "+
		"13 if the API server or the operator refuses the At, and 14 if the API server cannot be asked.")
}

func hasOutcomeCodes(cmd *cobra.Command) bool {
	isSet, err := cmd.Flags().GetBool("outcome-codes")
	return err == nil && isSet
}

// exit gives an error the exit code of --outcome-codes, unless it has one, as that of a timeout.
func (r *request) exit(code int, err error) error {
	if err == nil || !hasOutcomeCodes(r.cmd) || errors.As(err, new(utilexec.ExitError)) {
		return err
	}
	message, _ := describe(err)
	return utilexec.CodeExitError{Err: errors.New(message), Code: code}
}

// unsent gives an exit code to an error because of which no At was created. An error about the command line keeps 1.
func (r *request) unsent(err error) error {
	var status apierrors.APIStatus
	switch isAnswer := errors.As(err, &status); {
	case isAnswer && status.Status().Code < http.StatusInternalServerError:
		return r.exit(codeRefused, err)
	case isAnswer, errors.As(err, new(*url.Error)):
		return r.exit(codeNotRead, err)
	}
	return err
}

// unread gives an exit code to an error because of which the end of an At is not known. A deleted At may have run.
func (r *request) unread(err error) error {
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return r.exit(codeUnknown, err)
	}
	return r.exit(codeNotRead, err)
}

// end prints an At that is over as -o says, and returns its outcome.
func (r *request) end(at *cnatv1alpha1.At) error {
	if r.printer != nil {
		if err := r.printer.PrintObj(at, r.data()); err != nil {
			return err
		}
	}
	err := outcome(at)
	if err != nil && hasOutcomeCodes(r.cmd) {
		return utilexec.CodeExitError{Err: errors.New("error: " + strings.TrimPrefix(err.Error(), "error: ")), Code: outcomeCode(at)}
	}
	return err
}

// outcomeCode returns the exit code of --outcome-codes for an At that has not succeeded. Only what the status proves
// counts.
func outcomeCode(at *cnatv1alpha1.At) int {
	ran := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionCommandRan)
	switch isDone := proof.IsDone(&at.Status); {
	case at.Status.ExitCode != nil || ran != nil && ran.Status == metav1.ConditionTrue:
		return codeFailed
	case isDone && ran != nil && ran.Status == metav1.ConditionFalse:
		return codeNotRun
	case !isDone && !proof.HasStarted(&at.Status):
		return codeRefused
	}
	return codeUnknown
}
