// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/client-go/util/exec"

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
	if atrun.IsDone(&a.Status) {
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
	if err := isNotDone(at); err != nil || !atrun.HasStarted(&at.Status) {
		return err
	}
	return fmt.Errorf("at/%s has started and cannot be changed", at.Name)
}

// isNotDone returns an error about an At that is done.
func isNotDone(at *cnatv1alpha1.At) error {
	if atrun.IsDone(&at.Status) {
		return fmt.Errorf("at/%s is done and cannot be changed", at.Name)
	}
	return nil
}
