// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-at is at(1), atq, and atrm for a cluster: a kubectl plugin that creates Ats, lists them, and follows
// their runs.
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	_ "time/tzdata" // for --tz where the system has no time zones

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		{"Look at Ats:", []verb{listVerb(), catVerb(), rehearseVerb(), logsVerb(), waitVerb()}},
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
	root.Version = version
	root.SetVersionTemplate("kubectl at version {{.Version}}\n")
	root.Flags().Bool("version", false, "Print the version of the plugin.") // Cobra's own has -v.
	create := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && cmd.Flags().NFlag() == 0 {
			return cmd.Help()
		}
		return create(cmd, args)
	}
	return root
}

// helpTemplate is that of cobra with the usage first, and without the flags of all commands, which "kubectl at options"
// prints.
const helpTemplate = `Usage:
  {{.UseLine}}

{{with or .Long .Short}}{{.}}{{end}}
{{with .Example}}
Examples:
{{.}}
{{end}}{{$commands := .Commands}}{{range $group := .Groups}}
{{.Title}}{{range $commands}}{{if eq .GroupID $group.ID}}
  {{rpad .Name 12}} {{.Short}}{{end}}{{end}}
{{end}}{{if .HasAvailableSubCommands}}
Other commands:{{range $commands}}{{if and .IsAvailableCommand (not .GroupID)}}
  {{rpad .Name 12}} {{.Short}}{{end}}{{end}}
{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{wrapped .LocalNonPersistentFlags}}{{end}}
"kubectl at COMMAND -h" describes a command, and "kubectl at options" lists the flags of all commands.
`

var indentation = regexp.MustCompile(`(?m)^\t+`)

// paragraphs returns a text of the source without its indentation.
func paragraphs(text string) string {
	return strings.TrimSpace(indentation.ReplaceAllString(text, ""))
}

func setHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("wrapped", func(flags *pflag.FlagSet) string { return flags.FlagUsagesWrapped(100) })
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(helpTemplate)
	root.SetFlagErrorFunc(explainFlag)
	root.PersistentFlags().BoolP("help", "h", false, "Describe the command.")
	root.SetHelpCommand(&cobra.Command{Hidden: true}) // -h is enough.
	root.AddCommand(&cobra.Command{
		Use: "options", Short: "List the flags of all commands", Args: noArguments.check,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), "Flags of all commands:\n", cmd.InheritedFlags().FlagUsagesWrapped(100))
			return err
		},
	})
}

// optionsOfAt are what the options of at(1) are here.
var optionsOfAt = map[string]string{
	"l": `"kubectl at list" lists Ats`, "r": `"kubectl at rm NAME" deletes an At`, "d": `"kubectl at rm NAME" deletes an At`,
	"c": `"kubectl at cat NAME" prints an At`, "b": `"kubectl at now -- COMMAND" runs a command at once`,
	"m": "there is no mail, but an alert for a failed At: docs/monitoring.md", "M": "no mail is sent", "V": `"kubectl at --version" prints the version`,
}

// explainFlag adds to an error about a flag what is right.
func explainFlag(cmd *cobra.Command, err error) error {
	remedy := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && !cmd.HasParent() {
		remedy = "; a command and its flags go after --"
		if option := optionsOfAt[unknown.GetSpecifiedShortnames()]; option != "" && cmd.Flags().NArg() == 0 {
			remedy = "; " + option
		}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok && strings.HasPrefix(invalid.GetValue(), "--") {
		err = missingValue(invalid.GetFlag().Name, invalid.GetValue())
	}
	return fmt.Errorf("%w%s; \"%s -h\" lists the flags", err, remedy, cmd.CommandPath())
}

func missingValue(flag, next string) error {
	return fmt.Errorf("the flag --%s needs a value, and is followed by %s", flag, next)
}

// checkValues returns an error about a flag that has taken the next flag, or the -- before the command, for its value.
func checkValues(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if value := strings.Trim(flag.Value.String(), "[]"); strings.HasPrefix(value, "--") {
			err = missingValue(flag.Name, value)
		}
	})
	return err
}
