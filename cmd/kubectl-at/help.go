// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpTemplate is that of cobra with the usage first, and without the flags of all commands, which "kubectl at options" prints.
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
