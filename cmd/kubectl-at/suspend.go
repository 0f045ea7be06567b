// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func newSuspendCommand(p *plugin) *cobra.Command {
	return newChangeCommand(p, &cobra.Command{
		Use:        "suspend NAME",
		Short:      "Hold an At that has not started",
		SuggestFor: []string{"hold", "pause"},
		Long:       templates.LongDesc(`Hold an At that has not started, until it is resumed.`),
		Example:    templates.Examples("# Hold an At\nkubectl at suspend at-7gk2p"),
	}, "suspended", func(o *changeOptions, cmd *cobra.Command, args []string) error {
		at, err := o.change(cmd.Context(), args[0], hasNotStarted, func(at *cnatv1alpha1.At) { at.Spec.Suspend = ptr.To(true) })
		if err != nil {
			return err
		}
		return o.report(at, fmt.Sprintf("at/%s suspended", at.Name))
	})
}

func newResumeCommand(p *plugin) *cobra.Command {
	return newChangeCommand(p, &cobra.Command{
		Use:        "resume NAME",
		Short:      "Release an At that is suspended",
		SuggestFor: []string{"release", "unsuspend"},
		Long:       templates.LongDesc(`Release an At that is suspended. If its time has passed, it runs at once.`),
		Example:    templates.Examples("# Release an At\nkubectl at resume at-7gk2p"),
	}, "resumed", func(o *changeOptions, cmd *cobra.Command, args []string) error {
		at, err := o.change(cmd.Context(), args[0], hasNotStarted, func(at *cnatv1alpha1.At) { at.Spec.Suspend = ptr.To(false) })
		if err != nil {
			return err
		}
		return o.reportDue(at, "resumed: ", nil)
	})
}
