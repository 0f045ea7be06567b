// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-at is at(1), atq, and atrm for a cluster: a kubectl plugin that creates Ats, lists them, and follows
// their runs.
package main

import (
	"cmp"
	"fmt"
	"os"
	_ "time/tzdata" // for --tz where the system has no time zones

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // every auth provider that kubectl has
	"k8s.io/utils/clock"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := newCommand(streams, clock.RealClock{}).Execute(); err != nil {
		message, code := describe(err)
		_, _ = fmt.Fprintln(textWriter{streams.ErrOut}, message)
		os.Exit(code)
	}
}

// newCommand returns "kubectl at".
func newCommand(streams genericiooptions.IOStreams, clock clock.WithTicker) *cobra.Command {
	p := newPlugin(streams, clock)
	root := newRoot(p)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	p.config.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&p.zone, "tz", "", "Time zone that TIME is in and that times are shown in, such as Europe/Berlin or +05:30; the default is that of this machine.")
	groups := []struct {
		title string
		verbs []verb
	}{
		{"Look at Ats:", []verb{listVerb(), catVerb(), logsVerb(), waitVerb()}},
		{"Change Ats:", []verb{rescheduleVerb(), suspendVerb(), resumeVerb(), approveVerb(), cancelVerb(), rerunVerb(), removeVerb()}},
	}
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, v := range group.verbs {
			command := v.command(p)
			command.GroupID = group.title
			root.AddCommand(command)
		}
	}
	setHelp(root)
	p.completeGlobalFlags(root)
	return root
}

// newRoot returns the command that creates Ats, which all others are below.
func newRoot(p *plugin) *cobra.Command {
	root := createVerb().command(p)
	root.DisableFlagsInUseLine = true
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl at"}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SuggestionsMinimumDistance = 2
	showVersion := root.Flags().Bool("version", false, "Print the version of the plugin.")
	create := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *showVersion:
			_, err := fmt.Fprintln(p.Out, "kubectl at version", version)
			return cmp.Or(err, p.raw.err)
		case len(args) == 0 && cmd.Flags().NFlag() == 0:
			return cmd.Help()
		}
		return create(cmd, args)
	}
	return root
}
