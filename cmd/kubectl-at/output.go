// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/term"
	"k8s.io/utils/clock"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/clierror"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/visible"
)

// version is set by the linker.
var version = "unknown"

// plugin is what all verbs share.
type plugin struct {
	genericiooptions.IOStreams // Its outputs are texts.

	stdout io.Writer // as it is, to ask whether it is a terminal
	raw    *output   // for the logs of a run, for programs, and for a screen
	clock  clock.WithTicker
	config *genericclioptions.ConfigFlags
	zone   string    // of --tz
	asked  time.Time // when TIME was read, or zero
}

func newPlugin(streams genericiooptions.IOStreams, clock clock.WithTicker) *plugin {
	p := &plugin{IOStreams: streams, stdout: streams.Out, raw: &output{to: streams.Out}, clock: clock, config: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag()}
	p.Out, p.ErrOut = textWriter{p.raw}, textWriter{streams.ErrOut}
	return p
}

// output remembers that something could not be written. Some printers of kubectl ignore it.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(data []byte) (int, error) {
	n, err := o.to.Write(data)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// textWriter is an output that escapes what is not printable. Otherwise everybody who may create an object could
// control the terminals of those who look at it.
type textWriter struct{ to io.Writer }

func (t textWriter) Write(data []byte) (int, error) {
	if _, err := io.WriteString(t.to, visible.Escape(string(data), "\n\t")); err != nil {
		return 0, err
	}
	return len(data), nil
}

// printable returns a value of an object as a part of a line.
func printable(value string) string { return visible.Escape(value, "") }

// data returns where an object is printed for programs: unchanged, unless a terminal shows it.
func (p *plugin) data() io.Writer {
	if (term.TTY{Out: p.stdout}).IsTerminalOut() {
		return p.Out
	}
	return p.raw
}

// warn prints warnings.
func (p *plugin) warn(warnings ...string) {
	for _, warning := range warnings {
		_, _ = fmt.Fprintln(p.ErrOut, "Warning:", printable(warning))
	}
}

// none is what kubectl prints for an empty value.
const none = "<none>"

// completeValues completes a flag with values.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// isOutputSet reports whether the flags of the command say how to print an object.
func isOutputSet(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("output") || cmd.Flags().Changed("template")
}

// suffixes are what the line about an At ends with.
var suffixes = map[cmdutil.DryRunStrategy]string{cmdutil.DryRunClient: " (dry run)", cmdutil.DryRunServer: " (server dry run)"}

// addDryRunFlag adds --dry-run, which means client without a value.
func addDryRunFlag(cmd *cobra.Command) {
	cmdutil.AddDryRunFlag(cmd)
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
	completeValues(cmd, "dry-run", "none", "server", "client")
}

// kinds are those that the operator brings, by the resource that an answer names. If the cluster does not have one, the
// API server answers that there is no such path, which is an answer without a reason of its own.
var kinds = map[string]string{"ats": "At", "podsets": "PodSet"}

// describe returns what is printed about an error, and its exit code.
func describe(err error) (string, int) { return clierror.Describe(err, kinds) }
