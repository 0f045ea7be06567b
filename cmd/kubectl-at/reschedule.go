// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func newRescheduleCommand(p *plugin) *cobra.Command {
	var stamp string
	cmd := newChangeCommand(p, &cobra.Command{
		Use:        "reschedule NAME TIME...",
		Short:      "Give an At that has not started another time",
		SuggestFor: []string{"move", "postpone"},
		Long:       templates.LongDesc(`Give an At that has not started another time. TIME is as in kubectl at.`),
		Example: templates.Examples(`
			# Run an At two hours from now instead
			kubectl at reschedule at-7gk2p now + 2 hours`),
		Args: atLeastOneName,
	}, "rescheduled", func(o *changeOptions, cmd *cobra.Command, args []string) error {
		due, notes, err := p.parseTime(args[1:], stamp, p.clock.Now())
		if err != nil {
			return err
		}
		at, err := o.change(cmd.Context(), args[0], hasNotStarted, func(at *cnatv1alpha1.At) { at.Spec.Schedule = formatSchedule(due) })
		if err != nil {
			return err
		}
		at.Status.ScheduledTime = nil // of the old schedule
		return o.reportDue(at, "", notes)
	})
	cmd.Flags().StringVarP(&stamp, "time", "t", "", "Time as [[CC]YY]MMDDhhmm[.SS], in place of TIME.")
	return cmd
}
