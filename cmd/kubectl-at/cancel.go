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

func newCancelCommand(p *plugin) *cobra.Command {
	return newChangeCommand(p, &cobra.Command{
		Use:        "cancel NAME",
		Short:      "Stop an At that waits or runs, and keep its record",
		SuggestFor: []string{"abort", "kill", "stop"},
		Long: templates.LongDesc(`
			Stop an At that waits or runs. It ends as Failed with the reason Canceled, and its record stays. A command that runs
			is stopped, and is not tried again. This cannot be taken back; kubectl at rerun runs the command again.`),
		Example: templates.Examples("# Stop an At\nkubectl at cancel at-7gk2p"),
	}, "canceled", func(o *changeOptions, cmd *cobra.Command, args []string) error {
		at, err := o.change(cmd.Context(), args[0], isNotDone, func(at *cnatv1alpha1.At) { at.Spec.Cancel = ptr.To(true) })
		if err != nil {
			return err
		}
		line := fmt.Sprintf("at/%s canceled", at.Name)
		if at.Status.Phase == cnatv1alpha1.PhaseRunning {
			line = fmt.Sprintf("at/%s is being canceled: its command is stopped", at.Name)
		}
		return o.report(at, line)
	})
}
