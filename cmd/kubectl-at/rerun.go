// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"
)

func newRerunCommand(p *plugin) *cobra.Command {
	o := &createOptions{plugin: p, print: newPrintFlags("created")}
	cmd := &cobra.Command{
		Use:        "rerun NAME [TIME...]",
		Short:      "Create an At that does the same again, now or at another time",
		SuggestFor: []string{"repeat", "restart", "retry"},
		Long: templates.LongDesc(`
			Create an At with the command, the pod, the retries, and the deadlines of another, at TIME or now. It has a name and a
			record of its own, and names the At that it repeats in the annotation cnat.d2iq.com/rerun-of.

			To change the command, use kubectl at TIME... --from at/NAME.`),
		Example: templates.Examples(`
			# Run a command again, and wait for it
			kubectl at rerun at-7gk2p --wait

			# Run it again tonight
			kubectl at rerun at-7gk2p 23:30`),
		Args:              atLeastOneName,
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				return errors.New("rerun repeats the command of the At; to run another one, use kubectl at TIME... --from at/NAME -- COMMAND")
			}
			name, err := nameOf(args[0])
			if err != nil {
				return err
			}
			words := args[1:]
			if len(words) == 0 && o.stamp == "" {
				words = []string{"now"}
			}
			due, notes, err := p.parseTime(words, o.stamp, p.clock.Now())
			if err != nil {
				return err
			}
			o.pod.from = "at/" + name
			return o.run(cmd, due, notes, nil)
		},
	}
	o.addFlags(cmd)
	return cmd
}
