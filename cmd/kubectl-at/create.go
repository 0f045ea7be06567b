// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// leastTTLOfWait leaves --wait the time to read the outcome, also when its watch is interrupted.
const leastTTLOfWait = time.Minute

// createOptions are the flags of "kubectl at TIME...".
type createOptions struct {
	*plugin
	print *genericclioptions.PrintFlags

	file, stamp    string
	name           string
	pod            podOptions
	retries        int32
	deadline       time.Duration
	startDeadline  time.Duration
	ttl            time.Duration
	suspend        bool
	quiet, andWait bool
	dryRun         dryRun
}

func (o *createOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "file", "f", "", "File with a script to run with sh -c; - is standard input.")
	flags.StringVarP(&o.stamp, "time", "t", "", "Time as [[CC]YY]MMDDhhmm[.SS], in place of TIME.")
	flags.StringVar(&o.name, "name", "", "Name of the At; the default is at- and five random letters.")
	flags.StringVar(&o.pod.from, "from", "", "Workload whose image, environment, and volumes the command gets: KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web.")
	flags.StringVar(&o.pod.image, "image", "", "Image to run the command in.")
	flags.StringArrayVar(&o.pod.env, "env", nil, "Environment variable NAME=VALUE; may be repeated. Needs --from or --image.")
	flags.StringVar(&o.pod.serviceAccount, "serviceaccount", "", "Service account of the pod. Needs --from or --image.")
	flags.Int32Var(&o.retries, "retries", 0, "How often a run that failed is tried again, 0 to 10.")
	flags.DurationVar(&o.deadline, "deadline", 0, "How long the run may take, such as 30m; no limit by default.")
	flags.DurationVar(&o.startDeadline, "starting-deadline", 0, "How late the run may start, such as 10m; no limit by default.")
	flags.DurationVar(&o.ttl, "ttl", 0, "How long the At is kept after its end, such as 24h; the default is until it is deleted.")
	flags.BoolVar(&o.suspend, "suspend", false, "Hold the At until kubectl at resume.")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "Print nothing when the At is created.")
	flags.BoolVar(&o.andWait, "wait", false, "Wait for the run, print its logs, and exit with the exit code of the command.")
	hideDefaults(flags, "deadline", "starting-deadline", "ttl")
	o.dryRun.addFlag(flags)
	o.print.AddFlags(cmd)
}

func (o *createOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.dryRun.validate(); err != nil {
		return err
	}
	if o.andWait && (o.dryRun != dryRunNone || o.suspend) {
		return errors.New("--wait goes without --dry-run and --suspend: nothing would run")
	}
	if o.andWait && cmd.Flags().Changed("ttl") && o.ttl < leastTTLOfWait {
		return fmt.Errorf("--wait goes with a --ttl of 1m or more, not %s: the At might be deleted before its outcome is read", o.ttl)
	}
	printer, err := o.printer(cmd)
	if err != nil {
		return err
	}
	words, command := args, []string(nil)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		words, command = args[:dash], args[dash:]
	}
	now := o.clock.Now()
	due, notes, err := o.when(words, o.stamp, now)
	if err != nil {
		return err
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	at, warnings, err := o.newAt(cmd, c, due, command)
	if err != nil {
		return err
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

// newAt returns the At that the flags and the command describe, and warnings about it.
func (o *createOptions) newAt(cmd *cobra.Command, c *cluster, due time.Time, command []string) (*cnatv1alpha1.At, []string, error) {
	at := &cnatv1alpha1.At{
		TypeMeta:   metav1.TypeMeta{APIVersion: cnatv1alpha1.GroupVersion.String(), Kind: "At"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: o.name},
		Spec:       cnatv1alpha1.AtSpec{Schedule: schedule(due)},
	}
	if o.name == "" {
		at.GenerateName = "at-"
	}
	if err := o.setLimits(cmd, &at.Spec); err != nil {
		return nil, nil, err
	}
	var err error
	if at.Spec.Command, err = o.command(command); err != nil {
		return nil, nil, err
	}
	var warnings []string
	if at.Spec.Template, warnings, err = o.pod.template(cmd.Context(), c); err != nil {
		return nil, nil, err
	}
	if t := at.Spec.Template; t != nil && (at.Spec.Command != "" || o.pod.image != "") {
		t.Spec.Containers[0].Command, t.Spec.Containers[0].Args = nil, nil // Those of --from belong to its image.
	}
	return at, warnings, nil
}

// setLimits sets the fields whose flags were given. The others stay absent.
func (o *createOptions) setLimits(cmd *cobra.Command, spec *cnatv1alpha1.AtSpec) error {
	for _, limit := range []struct {
		flag  string
		value time.Duration
		least time.Duration
		set   func(seconds int64)
	}{
		{"deadline", o.deadline, time.Second, func(s int64) { spec.ActiveDeadlineSeconds = &s }},
		{"starting-deadline", o.startDeadline, 0, func(s int64) { spec.StartingDeadlineSeconds = &s }},
		{"ttl", o.ttl, 0, func(s int64) { ttl := int32(min(s, 1<<31-1)); spec.TTLSecondsAfterFinished = &ttl }},
	} {
		if !cmd.Flags().Changed(limit.flag) {
			continue
		}
		if limit.value < limit.least || limit.value%time.Second != 0 {
			return fmt.Errorf("--%s %s: it is a number of whole seconds from %s", limit.flag, limit.value, limit.least)
		}
		limit.set(int64(limit.value / time.Second))
	}
	if o.suspend {
		spec.Suspend = &o.suspend
	}
	if cmd.Flags().Changed("retries") {
		spec.BackoffLimit = &o.retries
	}
	return nil
}

// command returns spec.command: the words after --, or a script. It is "" where neither is given and the container of --from or
// the image of --image has a program to run.
func (o *createOptions) command(words []string) (string, error) {
	if len(words) > 0 {
		if o.file != "" {
			return "", errors.New("the command is given twice: by --file, and after --")
		}
		return quoteWords(words)
	}
	script, given, err := o.script()
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(script) != "":
		return quoteWords([]string{"sh", "-c", script})
	case o.file != "":
		return "", fmt.Errorf("the script in %s is empty", o.file)
	case o.pod.isSet() && given:
		return "", errors.New("the script on standard input is empty; to run the program of the container, read from nothing: </dev/null")
	case o.pod.isSet():
		return "", nil
	}
	return "", errors.New("the command is missing: put it after --, pipe a script into standard input, or name a file with --file")
}

// script returns the script of --file or of standard input, and whether there is one.
func (o *createOptions) script() (script string, given bool, err error) {
	if o.file == "" || o.file == "-" {
		return readScript(o.In)
	}
	data, err := os.ReadFile(o.file)
	if err != nil {
		return "", false, fmt.Errorf("reading the script: %w", err)
	}
	return string(data), true, nil
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

// printer returns what prints the At as -o says, nil without -o. A mistake in -o must be found before the At exists, because a user
// who corrects it repeats the command.
func (o *createOptions) printer(cmd *cobra.Command) (printers.ResourcePrinter, error) {
	if !cmd.Flags().Changed("output") && !cmd.Flags().Changed("template") {
		return nil, nil
	}
	if err := o.dryRun.complete(o.print); err != nil {
		return nil, err
	}
	return o.print.ToPrinter()
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
		_, _ = fmt.Fprintf(o.ErrOut, "Warning: the clock of this machine, which has read the time, is %s %s that of the cluster\n", span(int64(skew.Abs()/time.Second)), how)
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
	name := at.Name
	if name == "" {
		name = at.GenerateName + "?????"
	}
	line := runsAt(name, due, o.clock.Now(), notes)
	if at.Spec.Suspend != nil && *at.Spec.Suspend {
		line += ", suspended"
	}
	_, err := fmt.Fprintln(out, line+o.dryRun.suffix())
	return err
}

// runsAt returns "at/NAME runs at TIME (DISTANCE)" and the notes.
func runsAt(name string, due, now time.Time, notes []string) string {
	line := fmt.Sprintf("at/%s runs at %s (%s)", name, absolute(due), distance(due, now))
	if now.Sub(due) >= time.Second {
		line = fmt.Sprintf("at/%s runs now, it was due at %s (%s)", name, absolute(due), distance(due, now))
	}
	if len(notes) > 0 {
		line += ": " + strings.TrimSuffix(strings.Join(notes, " "), ".")
	}
	return line
}
