// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-at is at(1), atq, and atrm for a cluster: a kubectl plugin that creates Ats, lists them, and follows
// their runs.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	_ "time/tzdata" // for --tz where the system has no time zones

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // every auth provider that kubectl has
	"k8s.io/kubectl/pkg/util/templates"
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

	commands := func(verbs ...verb) (commands []*cobra.Command) {
		for _, v := range verbs {
			commands = append(commands, v.command(p))
		}
		return commands
	}
	groups := templates.CommandGroups{
		{Message: "Look at Ats:", Commands: commands(listVerb(), catVerb(), logsVerb(), waitVerb())},
		{Message: "Change Ats:", Commands: commands(rescheduleVerb(), suspendVerb(), resumeVerb(), approveVerb(), cancelVerb(), rerunVerb(), removeVerb())},
	}
	groups.Add(root)
	root.AddCommand(newOptionsCommand(p))
	templates.ActsAsRootCommand(root, []string{"options", "help"}, groups...)
	explain := root.FlagErrorFunc()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if _, ok := errors.AsType[*pflag.NotExistError](err); ok && cmd == root {
			err = fmt.Errorf("%w; a command and its flags go after --", err)
		}
		return explain(cmd, err)
	})
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

// newOptionsCommand returns "kubectl at options", which the help of the other commands points to.
func newOptionsCommand(p *plugin) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "options",
		Short: "Print the list of flags inherited by all commands",
		Args:  noArguments.check,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Usage() },
	}
	cmd.SetOut(p.Out)
	cmd.SetErr(p.Out)
	templates.UseOptionsTemplates(cmd)
	return cmd
}
