// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
)

func rescheduleVerb() verb {
	stamp := ""
	return verb{
		use: "reschedule NAME TIME...", args: nameAndTime, operation: "rescheduled",
		short:      "Give an At that has not started another time",
		suggestFor: []string{"move", "postpone"},
		long:       `Give an At that has not started another time. TIME is as in kubectl at.`,
		example: `
			# Run an At two hours from now instead
			kubectl at reschedule at-7gk2p now + 2 hours`,
		flags: func(cmd *cobra.Command) { addTimeFlag(cmd, &stamp) },
		run: func(r *request) error {
			due, notes, err := r.parseTime(r.words, stamp)
			if err != nil {
				return err
			}
			at, err := r.change(hasNotStarted, func(at *cnatv1alpha1.At) { at.Spec.Schedule = formatSchedule(due) })
			if err != nil {
				return err
			}
			at.Status.ScheduledTime = nil // of the old schedule
			return r.reportDue(at, "", notes)
		},
	}
}

func suspendVerb() verb {
	return verb{
		use: "suspend NAME", args: oneName, operation: "suspended",
		short:      "Hold an At that has not started",
		suggestFor: []string{"hold", "pause"},
		long:       `Hold an At that has not started, until it is resumed.`,
		example: `
			# Hold an At
			kubectl at suspend at-7gk2p`,
		run: func(r *request) error {
			at, err := r.change(hasNotStarted, func(at *cnatv1alpha1.At) { at.Spec.Suspend = ptr.To(true) })
			if err != nil {
				return err
			}
			return r.report(at, fmt.Sprintf("at/%s suspended", at.Name))
		},
	}
}

func resumeVerb() verb {
	return verb{
		use: "resume NAME", args: oneName, operation: "resumed",
		short:      "Release an At that is suspended",
		suggestFor: []string{"release", "unsuspend"},
		long:       `Release an At that is suspended. If its time has passed, it runs at once.`,
		example: `
			# Release an At
			kubectl at resume at-7gk2p`,
		run: func(r *request) error {
			at, err := r.change(hasNotStarted, func(at *cnatv1alpha1.At) { at.Spec.Suspend = ptr.To(false) })
			if err != nil {
				return err
			}
			return r.reportDue(at, "resumed: ", nil)
		},
	}
}

func cancelVerb() verb {
	return verb{
		use: "cancel NAME", args: oneName, operation: "canceled",
		short:      "Stop an At that waits or runs, and keep its record",
		suggestFor: []string{"abort", "kill", "stop"},
		long: `
			Stop an At that waits or runs. It ends as Failed with the reason Canceled, and its record stays. A command that runs
			is stopped, and is not tried again. This cannot be taken back; kubectl at rerun runs the command again.`,
		example: `
			# Stop an At
			kubectl at cancel at-7gk2p`,
		run: func(r *request) error {
			at, err := r.change(isNotDone, func(at *cnatv1alpha1.At) { at.Spec.Cancel = ptr.To(true) })
			if err != nil {
				return err
			}
			line := fmt.Sprintf("at/%s canceled", at.Name)
			if atrun.HasStarted(&at.Status) {
				line = fmt.Sprintf("at/%s is being canceled: its command is stopped", at.Name)
			}
			return r.report(at, line)
		},
	}
}

// change edits an At that may be edited, and that does not start or end meanwhile.
func (r *request) change(mayEdit func(*cnatv1alpha1.At) error, edit func(*cnatv1alpha1.At)) (*cnatv1alpha1.At, error) {
	at := &cnatv1alpha1.At{}
	return at, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := r.get(at); err != nil {
			return err
		}
		if err := mayEdit(at); err != nil {
			return err
		}
		base := at.DeepCopy()
		edit(at)
		return r.patch(at, base)
	})
}

// patch writes the difference to base, if the At still has the version of base.
func (r *request) patch(at, base *cnatv1alpha1.At) error {
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	return r.dryRun.send(
		func() error { return r.Patch(r.ctx(), at, patch) },
		func() error { return r.Patch(r.ctx(), at, patch, client.DryRunAll) })
}

// hasNotStarted returns an error about an At that has started.
func hasNotStarted(at *cnatv1alpha1.At) error {
	if err := isNotDone(at); err != nil {
		return err
	}
	if atrun.HasStarted(&at.Status) {
		return fmt.Errorf("at/%s has started and cannot be changed", at.Name)
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

// reportDue prints an At as -o says, or else when it runs.
func (r *request) reportDue(at *cnatv1alpha1.At, prefix string, notes []string) error {
	location, err := r.location()
	if err != nil {
		return err
	}
	if r.printer != nil {
		r.warn(notes...)
	}
	return r.report(at, prefix+runsAt(at, dueTime(at).In(location), r.clock.Now(), notes))
}
