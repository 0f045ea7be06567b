// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
)

// isUnseen reports whether no operator has seen an At, which then has the default of a new one.
func isUnseen(at *cnatv1alpha1.At) bool { return at.Status.ObservedGeneration < 0 }

// isOutdated reports whether the operator has not seen the newest edit of an At.
func isOutdated(at *cnatv1alpha1.At) bool {
	return at.Status.ObservedGeneration > 0 && at.Status.ObservedGeneration < at.Generation
}

// heldBy returns what keeps an At from starting at its time, such as its suspension or a rejected pod, or from ending: its pod waits, or
// another container outlives the command, or an attempt has failed. It is "" if there is nothing.
func heldBy(at *cnatv1alpha1.At) string {
	isRetried := isBetweenAttempts(at)
	for _, c := range at.Status.Conditions {
		isHeld := c.Status == metav1.ConditionFalse && (c.Type == cnatv1alpha1.ConditionScheduled || c.Type == cnatv1alpha1.ConditionReady && c.Reason != cnatv1alpha1.ReasonRunning)
		switch {
		case atrun.IsDone(&at.Status):
		case isRetried && c.Type == cnatv1alpha1.ConditionScheduled:
			return printable(atrun.JoinNonEmpty(": ", reasonBackOff, c.Message))
		case isHeld && !isRetried:
			return printable(atrun.JoinNonEmpty(": ", c.Reason, c.Message))
		}
	}
	if isRetried {
		return fmt.Sprintf("%s: the next attempt is due at %s", reasonBackOff, at.Status.RetryTime.UTC().Format(time.RFC3339))
	}
	return ""
}

// reasonBackOff is why an At waits between two attempts.
const reasonBackOff = "BackOff"

// isBetweenAttempts reports whether an attempt has failed, and the next one has not started.
func isBetweenAttempts(at *cnatv1alpha1.At) bool {
	return at.Status.RetryTime != nil && !atrun.IsDone(&at.Status)
}

// isOver reports whether nothing more happens to an At by itself: it is done, or it is stalled because its current spec cannot be scheduled.
// The operator creates a rejected pod again, so that an At which waits for a quota goes on by itself.
func isOver(at *cnatv1alpha1.At) bool {
	scheduled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	stalled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionStalled)
	isStalled := scheduled != nil && scheduled.Status == metav1.ConditionFalse && scheduled.Reason != cnatv1alpha1.ReasonFailedCreate &&
		stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == scheduled.Reason
	return atrun.IsDone(&at.Status) || isStalled && !isOutdated(at)
}

// outcome returns nil for an At that succeeded, else an error with the exit code of the command.
func outcome(at *cnatv1alpha1.At) error {
	if !atrun.IsDone(&at.Status) {
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

// howEnded returns why an At has ended: the reason and the message of the operator, and the exit code if the message does not have it.
func howEnded(at *cnatv1alpha1.At) string {
	text, message := at.Status.Reason, endMessage(at)
	if exit := at.Status.ExitCode; exit != nil && *exit != 0 && !strings.Contains(message, fmt.Sprintf("exit code %d", *exit)) {
		text += fmt.Sprintf(", exit code %d", *exit)
	}
	return atrun.JoinNonEmpty(": ", text, message)
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
	if c == nil || c.Status != metav1.ConditionTrue || atrun.IsDone(&at.Status) {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// reasonOf returns what an At waits for, or how it ended, in one word as kubectl get shows it, or "" if the operator has not said it.
func reasonOf(a *cnatv1alpha1.At) string {
	switch {
	case atrun.IsDone(&a.Status):
		return a.Status.Reason
	case isBetweenAttempts(a):
		return reasonBackOff
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
	case atrun.HasStarted(&at.Status):
		return fmt.Errorf("at/%s has started and cannot be changed", at.Name)
	case ptr.Deref(at.Spec.Cancel, false):
		return fmt.Errorf("at/%s is canceled and never runs", at.Name)
	}
	return nil
}

// isNotDone returns an error about an At that is done.
func isNotDone(at *cnatv1alpha1.At) error {
	if atrun.IsDone(&at.Status) {
		return fmt.Errorf("at/%s is done and cannot be changed", at.Name)
	}
	return nil
}
