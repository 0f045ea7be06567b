// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/clock"
)

// plugin is what all commands share.
type plugin struct {
	genericiooptions.IOStreams
	clock  clock.WithTicker
	config *genericclioptions.ConfigFlags
	zone   string // of --tz
}

var (
	rootLong = templates.LongDesc(`
		Run a command once, at one time, in the cluster: at(1) for Kubernetes.

		TIME is in the language of at(1): an optional time of day, an optional date, and an optional step, in the time zone
		of this machine or of --tz. What follows -- is the command, and is passed unchanged and without a shell. Without --,
		a script on standard input or in a file runs with sh -c.`)
	rootExample = templates.Examples(`
		# Migrate the database tonight, with the image and the environment of a Deployment
		kubectl at tomorrow 02:00 --from deploy/web -- bin/rails db:migrate

		# Run a script on standard input, as at(1) does
		echo 'backup.sh && notify' | kubectl at 23:30 --image registry.example.com/tools

		# Run now, follow the logs, and exit with the exit code of the command
		kubectl at now --wait -- sh -c 'date; exit 3'

		# Other times
		kubectl at now + 2 hours -- true
		kubectl at 4pm next monday -- true
		kubectl at noon Nov 28 --tz America/New_York -- true
		kubectl at -t 202611280200 -- true`)
)

// newCommand returns "kubectl at".
func newCommand(streams genericiooptions.IOStreams, clock clock.WithTicker) *cobra.Command {
	p := &plugin{IOStreams: streams, clock: clock, config: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag()}
	root := newCreateCommand(p)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	p.config.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&p.zone, "tz", "", "Time zone that TIME is in and that times are shown in, such as Europe/Berlin or +05:30; the default is that of this machine.")
	root.Flags().Bool("version", false, "Print the version.") // that of cobra has the shorthand -v, which is --v of kubectl

	groups := templates.CommandGroups{
		{Message: "Look at Ats:", Commands: []*cobra.Command{newListCommand(p), newCatCommand(p), newLogsCommand(p), newWaitCommand(p)}},
		{Message: "Change Ats:", Commands: []*cobra.Command{newRescheduleCommand(p), newSuspendCommand(p), newResumeCommand(p), newApproveCommand(p), newCancelCommand(p), newRerunCommand(p), newRemoveCommand(p)}},
	}
	groups.Add(root)
	root.AddCommand(newCompletionCommand(p), newOptionsCommand(p))
	templates.ActsAsRootCommand(root, []string{"options", "help"}, groups...)
	explainFlagErrors(root)
	p.completeGlobalFlags(root)
	return root
}

// newCreateCommand returns the command that creates Ats, which all others are below.
func newCreateCommand(p *plugin) *cobra.Command {
	create := &createOptions{plugin: p, print: newPrintFlags("created")}
	cmd := &cobra.Command{
		// Completion scripts are for this name.
		Use:                        "kubectl-at TIME... [flags] -- COMMAND [ARG...]",
		DisableFlagsInUseLine:      true,
		Annotations:                map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl at"},
		Short:                      "Run a command once, at one time, in the cluster",
		Long:                       rootLong,
		Example:                    rootExample,
		Version:                    version,
		SilenceErrors:              true,
		SilenceUsage:               true,
		Args:                       cobra.ArbitraryArgs,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true},
		ValidArgsFunction:          completeTime,
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && cmd.Flags().NFlag() == 0 {
				return cmd.Help()
			}
			words, command := args, []string(nil)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				words, command = args[:dash], args[dash:]
			}
			if err := create.pod.validate(); err != nil { // --from deploy web leaves web to TIME
				return err
			}
			due, notes, err := p.parseTime(words, create.stamp, p.clock.Now())
			if err != nil {
				return explainTimeError(cmd, words, command, err)
			}
			return create.run(cmd, due, notes, command)
		},
	}
	create.addFlags(cmd)
	create.addPodFlags(cmd)
	return cmd
}

// explainFlagErrors adds to the error about a flag of "kubectl at TIME..." that it may belong to a command that has no -- before it.
func explainFlagErrors(root *cobra.Command) {
	explain := root.FlagErrorFunc()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown := new(pflag.NotExistError); cmd == root && errors.As(err, &unknown) {
			err = fmt.Errorf("%w; a command and its flags stand behind --", err)
		}
		return explain(cmd, err)
	})
}

// hideDefaults leaves the defaults of flags out of the help, because their values mean that the flag was not given.
func hideDefaults(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.Lookup(name).DefValue = ""
	}
}

// newOptionsCommand returns "kubectl at options", which the help of the other commands points to.
func newOptionsCommand(p *plugin) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "options",
		Short: "Print the list of flags inherited by all commands",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Usage() },
	}
	cmd.SetOut(p.Out)
	cmd.SetErr(p.Out)
	templates.UseOptionsTemplates(cmd)
	return cmd
}
