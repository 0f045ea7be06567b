// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// leastTTLOfWait leaves --wait the time to read the outcome, also when its watch is interrupted.
const leastTTLOfWait = time.Minute

// createOptions are the flags of "kubectl at TIME..." and of "kubectl at rerun".
type createOptions struct {
	*plugin
	print *genericclioptions.PrintFlags

	file, stamp    string
	name           string
	pod            podOptions
	limits         limitOptions
	suspend        bool
	quiet, andWait bool
	dryRun         dryRun
}

// addFlags adds the flags that do not describe the command and its pod.
func (o *createOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.stamp, "time", "t", "", "Time as [[CC]YY]MMDDhhmm[.SS], in place of TIME.")
	flags.StringVar(&o.name, "name", "", "Name of the At; the default is at- and five random letters.")
	o.limits.addFlags(flags)
	flags.BoolVar(&o.suspend, "suspend", false, "Hold the At until kubectl at resume or, in a namespace with two keys, kubectl at approve.")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "Print nothing when the At is created.")
	flags.BoolVar(&o.andWait, "wait", false, "Wait for the run, print its logs, and exit with the exit code of the command.")
	o.dryRun.addFlag(cmd)
	o.print.AddFlags(cmd)
	completeOutput(cmd, o.print)
}

// addPodFlags adds the flags that describe the command and its pod.
func (o *createOptions) addPodFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "File with a script to run with sh -c; - is standard input.")
	o.pod.addFlags(cmd.Flags())
	o.completePodFlags(cmd)
}

// run creates an At that is due at a time, with the command of words, of a script, or of --from and --image.
func (o *createOptions) run(cmd *cobra.Command, due time.Time, notes, words []string) error {
	if err := o.validate(cmd.Flags()); err != nil {
		return err
	}
	// A mistake in -o must be found before the At exists, because a user who corrects it repeats the command.
	printer, err := o.dryRun.printer(cmd, o.print)
	if err != nil {
		return err
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	at, warnings, err := o.newAt(cmd, c, due, words)
	if err != nil {
		return err
	}
	if o.quiet || printer != nil { // Otherwise they are in the line that is printed.
		warnings = append(warnings, notes...)
	}
	for _, warning := range warnings {
		_, _ = fmt.Fprintln(o.ErrOut, "Warning:", warning)
	}
	if err := o.create(cmd, c, at); err != nil {
		return err
	}
	o.warnOfClock(at)
	if err := o.report(printer, at, due, notes); err != nil || !o.andWait {
		return err
	}
	return o.followToEnd(cmd.Context(), c, at.Name)
}

// validate returns an error about flags that do not go together or have no value.
func (o *createOptions) validate(flags *pflag.FlagSet) error {
	for _, name := range []string{"file", "from", "image", "name", "serviceaccount", "time"} {
		if flag := flags.Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			return fmt.Errorf("--%s has no value: is a variable empty?", name)
		}
	}
	if o.andWait && (o.dryRun != dryRunNone || o.suspend) {
		return errors.New("--wait goes without --dry-run and --suspend: nothing would run")
	}
	if ttl := time.Duration(o.limits.ttl); o.andWait && flags.Changed("ttl") && ttl < leastTTLOfWait {
		return fmt.Errorf("--wait goes with a --ttl of 1m or more, not %s: the At might be deleted before its outcome is read", ttl)
	}
	return nil
}

// newAt returns the At that the flags and the command describe, and warnings about it.
func (o *createOptions) newAt(cmd *cobra.Command, c *cluster, due time.Time, words []string) (*cnatv1alpha1.At, []string, error) {
	at := &cnatv1alpha1.At{
		TypeMeta:   metav1.TypeMeta{APIVersion: cnatv1alpha1.GroupVersion.String(), Kind: "At"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: o.name},
	}
	if o.name == "" {
		at.GenerateName = "at-"
	}
	command, warnings, err := o.command(cmd, words)
	if err != nil {
		return nil, nil, err
	}
	base, omitted, err := o.pod.source(cmd.Context(), c)
	if err != nil {
		return nil, nil, err
	}
	if base.repeats != "" && command == "" {
		at.Annotations = map[string]string{annotationRerunOf: base.repeats}
	}
	at.Spec = base.spec
	at.Spec.Schedule = formatSchedule(due)
	if command != "" {
		at.Spec.Command = command
	}
	if at.Spec.Template, err = o.pod.complete(at.Spec.Template, command != ""); err != nil {
		return nil, nil, err
	}
	if o.suspend {
		at.Spec.Suspend = &o.suspend
		if user, err := c.userName(cmd.Context()); err == nil { // Only two keys need it, and they say so.
			metav1.SetMetaDataAnnotation(&at.ObjectMeta, cnatv1alpha1.AnnotationRequestedBy, user)
		}
	}
	return at, append(warnings, omitted...), o.limits.set(cmd.Flags(), &at.Spec)
}

// command returns spec.command: the words after --, or a script. It is "" where neither is given and the container of --from or
// the image of --image has a program to run.
func (o *createOptions) command(cmd *cobra.Command, words []string) (string, []string, error) {
	if len(words) > 0 {
		if o.file != "" {
			return "", nil, errors.New("the command is given twice: by --file, and after --")
		}
		if words[0] == "" {
			return "", nil, errors.New("the command begins with an empty word, which is no program")
		}
		command, err := quoteCommand(words)
		return command, commandWarnings(words), err
	}
	if cmd.Flags().Lookup("file") == nil { // rerun
		return "", nil, nil
	}
	script, given, err := o.readScript()
	switch {
	case err != nil:
		return "", nil, err
	case strings.TrimSpace(script) != "":
		command, err := quoteCommand([]string{"sh", "-c", script})
		return command, scriptWarnings(script), err
	case o.file != "":
		return "", nil, fmt.Errorf("the script in %s is empty", o.file)
	case o.pod.isSet() && given:
		return "", nil, errors.New("the script on standard input is empty; to run the program of the container, read from nothing: </dev/null")
	case o.pod.isSet():
		return "", nil, nil
	}
	return "", nil, errors.New("the command is missing: put it after --, pipe a script into standard input, or name a file with --file")
}

func (o *createOptions) create(cmd *cobra.Command, c *cluster, at *cnatv1alpha1.At) error {
	switch o.dryRun {
	case dryRunClient:
		return nil
	case dryRunServer:
		return c.Create(cmd.Context(), at, client.DryRunAll)
	default:
		return c.Create(cmd.Context(), at)
	}
}

// mostSkew is how far the clocks of this machine and of the API server may differ before a warning.
const mostSkew = 5 * time.Second

// warnOfClock warns if this machine, which has read the time, has another time than the API server.
func (o *createOptions) warnOfClock(at *cnatv1alpha1.At) {
	if o.dryRun != dryRunNone {
		return
	}
	if skew := time.Since(at.CreationTimestamp.Time); skew.Abs() > mostSkew {
		how := "ahead of"
		if skew < 0 {
			how = "behind"
		}
		_, _ = fmt.Fprintf(o.ErrOut, "Warning: the clock of this machine, which has read the time, is %s %s that of the cluster\n", humanDuration(int64(skew.Abs()/time.Second)), how)
	}
}

// report prints the At as -o says, or one line.
func (o *createOptions) report(printer printers.ResourcePrinter, at *cnatv1alpha1.At, due time.Time, notes []string) error {
	if o.quiet {
		return nil
	}
	out := o.Out
	if o.andWait {
		out = o.ErrOut // Standard output is that of the command.
	}
	if printer != nil {
		return printer.PrintObj(at, out)
	}
	_, err := fmt.Fprintln(out, runsAt(at, due, o.clock.Now(), notes)+o.dryRun.suffix())
	return err
}

// runsAt returns "at/NAME runs at TIME (DISTANCE)" and the notes.
func runsAt(at *cnatv1alpha1.At, due, now time.Time, notes []string) string {
	name := at.Name
	if name == "" {
		name = at.GenerateName + "?????"
	}
	late, suspended := now.Sub(due), at.Spec.Suspend != nil && *at.Spec.Suspend
	deadline := at.Spec.StartingDeadlineSeconds
	line := fmt.Sprintf("at/%s runs at %s (%s)", name, formatTime(due), relativeTime(due, now))
	switch {
	case deadline != nil && int64(late/time.Second) > *deadline:
		line = fmt.Sprintf("at/%s does not run: it was due at %s (%s), and its starting deadline is over", name, formatTime(due), relativeTime(due, now))
	case late >= time.Second:
		line = fmt.Sprintf("at/%s runs now, it was due at %s (%s)", name, formatTime(due), relativeTime(due, now))
	}
	if len(notes) > 0 {
		line += ": " + strings.TrimSuffix(strings.Join(notes, " "), ".")
	}
	if suspended {
		line += ", suspended"
	}
	return line
}
