// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
)

func rescheduleVerb() verb {
	stamp := ""
	return verb{
		use: "reschedule NAME TIME...", args: nameAndTime, operation: "rescheduled",
		short:      "Give an At that has not started another time",
		suggestFor: []string{"move", "postpone"},
		example: `
			# Run an At two hours from now instead
			kubectl at reschedule at-7gk2p now + 2 hours`,
		flags: func(cmd *cobra.Command) { addTimeFlag(cmd, &stamp) },
		run: func(r *request) error {
			due, notes, err := r.parseTime(r.words, stamp)
			if err != nil {
				return err
			}
			schedule := func(at *cnatv1alpha1.At) { at.Spec.Schedule = formatSchedule(due) }
			return r.change(hasNotStarted, schedule, func(at *cnatv1alpha1.At) error {
				at.Status.ScheduledTime = nil // of the old schedule
				return r.reportDue(at, "", notes)
			})
		},
	}
}

func suspendVerb() verb {
	return verb{
		use: "suspend NAME", args: oneName, operation: "suspended",
		short:      "Hold an At that has not started",
		suggestFor: []string{"hold", "pause"},
		run: func(r *request) error {
			suspend := func(at *cnatv1alpha1.At) { at.Spec.Suspend = ptr.To(true) }
			return r.change(hasNotStarted, suspend, func(at *cnatv1alpha1.At) error { return r.report(at, "at/"+at.Name+" suspended") })
		},
	}
}

func resumeVerb() verb {
	return verb{
		use: "resume NAME", args: oneName, operation: "resumed",
		short:      "Release an At that is suspended",
		suggestFor: []string{"release", "unsuspend"},
		long:       `Release an At that is suspended. If its time has passed, it runs at once.`,
		run: func(r *request) error {
			resume := func(at *cnatv1alpha1.At) { at.Spec.Suspend = ptr.To(false) }
			return r.change(hasNotStarted, resume, func(at *cnatv1alpha1.At) error { return r.reportDue(at, "resumed: ", nil) })
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
		run: func(r *request) error {
			cancel := func(at *cnatv1alpha1.At) { at.Spec.Cancel = ptr.To(true) }
			return r.change(isNotDone, cancel, func(at *cnatv1alpha1.At) error {
				line := "at/" + at.Name + " canceled"
				switch reason := reasonOf(at); {
				case !proof.HasStarted(&at.Status):
				case isBetweenAttempts(at):
					line += ": it is not tried again"
				case reason == "" || reason == cnatv1alpha1.ReasonRunning:
					line = "at/" + at.Name + " is being canceled: its command is stopped"
				default:
					line = "at/" + at.Name + " is being canceled: its pod is stopped"
				}
				return r.report(at, line)
			})
		},
	}
}

// change edits an At that may be edited, and that does not start or end meanwhile, and reports it.
func (r *request) change(mayEdit func(*cnatv1alpha1.At) error, edit func(*cnatv1alpha1.At), report func(*cnatv1alpha1.At) error) error {
	at := &cnatv1alpha1.At{}
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := r.get(at); err != nil {
			return err
		}
		if err := mayEdit(at); err != nil {
			return err
		}
		base := at.DeepCopy()
		edit(at)
		return r.patch(at, base)
	}); err != nil {
		return err
	}
	return report(at)
}

// patch writes the difference to base, if the At still has the version of base.
func (r *request) patch(at, base *cnatv1alpha1.At) error {
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	return r.send(func(w client.Writer) error { return w.Patch(r.ctx(), at, patch) })
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
	return r.report(at, prefix+r.line(at, dueTime(at).In(location), notes))
}

func removeVerb() verb {
	force := false
	return verb{
		use: "rm NAME...", args: someNames, operation: "deleted",
		aliases:    []string{"atrm", "delete"},
		suggestFor: []string{"remove"},
		short:      "Delete Ats",
		long: `
			Delete Ats with their pods and logs: atrm(1) for Kubernetes.

			An At that runs is deleted only with --force, which stops its command.`,
		example: `
			# Delete an At that runs, and stop its command
			kubectl at rm at-7gk2p --force`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&force, "force", false, "Delete an At that runs, too, and stop its command.")
		},
		run: func(r *request) error {
			var errs []error
			for _, name := range r.names {
				errs = append(errs, remove(r, name, force))
			}
			return utilerrors.NewAggregate(errs)
		},
	}
}

// remove deletes an At. Without --force it does not delete one that runs, or that starts in this very moment.
func remove(r *request, name string, force bool) error {
	at := &cnatv1alpha1.At{}
	for {
		if err := r.Get(r.ctx(), r.key(name), at); err != nil {
			return err
		}
		if !force && proof.HasStarted(&at.Status) && !proof.IsDone(&at.Status) {
			if isBetweenAttempts(at) {
				return errors.New("at/" + name + " is tried again; --force deletes it")
			}
			return errors.New("at/" + name + " is running; --force deletes it and stops its command")
		}
		exactly := client.Preconditions{UID: &at.UID, ResourceVersion: &at.ResourceVersion}
		err := r.send(func(w client.Writer) error { return w.Delete(r.ctx(), at, exactly) })
		switch {
		case err == nil:
			return r.report(at, "at/"+at.Name+" deleted")
		case !apierrors.IsConflict(err):
			return err
		}
	}
}
