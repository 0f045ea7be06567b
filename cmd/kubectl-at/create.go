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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/clierror"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
)

// createOptions are the flags of "kubectl at TIME..." and of "kubectl at rerun".
type createOptions struct {
	repeats        bool // it is "kubectl at rerun"
	file, stamp    string
	name           string
	pod            podOptions
	limits         limitOptions
	suspend        bool
	quiet, andWait bool
	rehearse       bool
}

// createVerb is "kubectl at" itself.
func createVerb() verb {
	o := &createOptions{}
	return verb{
		// Completion scripts are for this name.
		use: "kubectl-at TIME... [flags] -- COMMAND [ARG...]", args: timeWords, operation: "created",
		short: "Run a command once, at one time, in the cluster",
		long: `
			Run a command once, at one time, in the cluster: at(1) for Kubernetes.

			TIME is in the language of at(1): an optional time of day, an optional date, and an optional step, in the time zone
			of this machine or of --tz. What follows -- is the command, and is passed unchanged and without a shell. Without --,
			a script on standard input or in a file runs with sh -c.`,
		example: `
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
			kubectl at -t 202611280200 -- true`,
		flags: func(cmd *cobra.Command) {
			o.addFlags(cmd)
			cmd.Flags().StringVarP(&o.file, "file", "f", "", "`FILE` with a script to run with sh -c; - is standard input.")
			o.pod.addFlags(cmd.Flags())
			cmd.Flags().BoolVar(&o.rehearse, "rehearse", false, "Create the At, and then show whether it would start, as kubectl at rehearse does. Requires --from or --image.")
		},
		run: func(r *request) error {
			words, command := r.words, []string(nil)
			if dash := r.cmd.ArgsLenAtDash(); dash >= 0 {
				words, command = r.words[:dash], r.words[dash:]
			}
			if err := o.validate(r.cmd.Flags(), r.dryRun); err != nil { // --from deploy web leaves web to TIME.
				return err
			}
			due, notes, err := r.parseTime(words, o.stamp)
			if err != nil {
				return explain(r.cmd, words, command, o.stamp, err)
			}
			return o.run(r, due, notes, command)
		},
	}
}

func rerunVerb() verb {
	o := &createOptions{repeats: true}
	return verb{
		use: "rerun NAME [TIME...]", args: nameAndTime, operation: "created",
		short:      "Create an At that does the same again, now or at another time",
		suggestFor: []string{"repeat", "restart", "retry"},
		long: `
			Create an At with the command, the pod, the retries, and the deadlines of another, at TIME or now. It has a name and a
			record of its own, and names the At that it repeats in the annotation cnat.d2iq.com/rerun-of.

			To change the command, use kubectl at TIME... --from at/NAME.`,
		example: `
			# Run a command again, and wait for it
			kubectl at rerun at-7gk2p --wait

			# Run it again tonight
			kubectl at rerun at-7gk2p 23:30`,
		flags: o.addFlags,
		run: func(r *request) error {
			if r.cmd.ArgsLenAtDash() >= 0 {
				return errors.New("unexpected command after --: rerun repeats the command of the At; to run another one, use kubectl at TIME... --from at/NAME -- COMMAND")
			}
			if err := o.validate(r.cmd.Flags(), r.dryRun); err != nil {
				return err
			}
			if len(r.words) == 0 && o.stamp == "" {
				r.words = []string{"now"}
			}
			due, notes, err := r.parseTime(r.words, o.stamp)
			if err != nil {
				return err
			}
			o.pod.from, o.pod.source = "at/"+r.names[0], reference{kind: "at", name: r.names[0]}
			return o.run(r, due, notes, nil)
		},
	}
}

// addFlags adds the flags that do not describe the command and its pod.
func (o *createOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	addTimeFlag(cmd, &o.stamp)
	flags.StringVar(&o.name, "name", "", "`NAME` of the At; the default is at- and five random letters.")
	o.limits.addFlags(flags)
	flags.BoolVar(&o.suspend, "suspend", false, "Hold the At until kubectl at resume or, in a namespace with two keys, kubectl at approve.")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "Print nothing when the At is created.")
	flags.BoolVar(&o.andWait, "wait", false, "Wait for the run, print its logs, and exit with the exit code of the command. With -o, print the At in the end, and its logs to standard error.")
	addOutcomeFlag(cmd)
}

// run creates an At that is due at a time, with the command of words, of a script, or of --from and --image.
func (o *createOptions) run(r *request, due time.Time, notes, words []string) error {
	at, warnings, err := o.newAt(r, due, words)
	if err != nil {
		return r.unsent(err)
	}
	r.warn(warnings...)
	if o.quiet || r.printer != nil && !o.andWait { // Otherwise they are in the line that is printed.
		r.warn(notes...)
	}
	if err := r.create(at); err != nil {
		return err
	}
	r.warnOfClock(at)
	r.toErrOut = o.andWait // Standard output is that of the command.
	if !o.quiet {
		if err := r.report(at, r.line(at, due, notes)); err != nil {
			return err
		}
	}
	if !o.andWait {
		if err := r.checkPod(at); err != nil || !o.rehearse {
			return err
		}
		return r.rehearse(at, rehearsalTimeout, "", false)
	}
	return r.untilInterrupted(at.Name, func() error { return r.followToEnd(at.Name) })
}

// validate returns an error about flags that do not go together or have no value.
func (o *createOptions) validate(flags *pflag.FlagSet, dryRun cmdutil.DryRunStrategy) error {
	for _, name := range []string{"file", "from", "image", "name", "serviceaccount", "time"} {
		if flag := flags.Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			return fmt.Errorf("invalid --%s \"\": must not be empty; is a variable empty?", name)
		}
	}
	switch ttl := time.Duration(o.limits.ttl); {
	case flags.Changed("outcome-codes") && !o.andWait:
		return errors.New("--outcome-codes requires --wait")
	case o.rehearse && (o.andWait || dryRun != cmdutil.DryRunNone || !o.pod.isSet()):
		return errors.New("--rehearse requires --from or --image, and cannot be combined with --wait or --dry-run")
	case o.andWait && dryRun != cmdutil.DryRunNone:
		return errors.New("--wait cannot be combined with --dry-run")
	case o.andWait && flags.Changed("ttl") && ttl < time.Minute: // The watch can be interrupted.
		return fmt.Errorf("invalid --ttl %s: must be 1m or more with --wait, because the At might be deleted before its outcome is read", ttl)
	}
	return o.pod.validate()
}

// newAt returns the At that the flags and the command describe, and warnings about it.
func (o *createOptions) newAt(r *request, due time.Time, words []string) (*cnatv1alpha1.At, []string, error) {
	at := &cnatv1alpha1.At{
		TypeMeta:   metav1.TypeMeta{APIVersion: cnatv1alpha1.GroupVersion.String(), Kind: "At"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: o.name},
	}
	command, warnings, err := o.command(r.In, words)
	switch {
	case err != nil:
		return nil, nil, err
	case o.name == "" && r.dryRun != cmdutil.DryRunNone:
		at.GenerateName = "at-"
	case o.name == "": // A name from the API server would be lost with its response.
		at.Name = "at-" + rand.String(5)
	case strings.Contains(o.name, "."):
		warnings = append(warnings, fmt.Sprintf("metadata.name %s: this is used in Pod names and hostnames, which can result in surprising behavior, "+
			"because the hostname ends at the first dot; a DNS label without dots is recommended", o.name))
	}
	var omitted []string
	if at.Spec, omitted, err = o.pod.spec(r, command); err != nil {
		return nil, nil, err
	}
	if isAt(o.pod.source.kind) && command == "" {
		at.Annotations = map[string]string{annotationRerunOf: o.pod.source.name}
	}
	at.Spec.Schedule = formatSchedule(due)
	if command != "" {
		at.Spec.Command = command
	}
	if at.Spec.Template, err = o.pod.complete(at.Spec.Template, command != ""); err != nil {
		return nil, nil, err
	}
	if o.suspend {
		at.Spec.Suspend = &o.suspend
	}
	if r.dryRun != cmdutil.DryRunClient {
		if user, err := r.userName(r.ctx()); err == nil { // Only two keys need it, and they say so.
			metav1.SetMetaDataAnnotation(&at.ObjectMeta, cnatv1alpha1.AnnotationRequestedBy, user)
		}
	}
	return at, append(warnings, omitted...), o.limits.set(r.cmd.Flags(), &at.Spec)
}

// warnOfClock warns if this machine, which has read the time, has another time than the API server.
func (r *request) warnOfClock(at *cnatv1alpha1.At) {
	skew := time.Since(at.CreationTimestamp.Time)
	if r.dryRun != cmdutil.DryRunNone || skew.Abs() <= 5*time.Second {
		return
	}
	how := "ahead of"
	if skew < 0 {
		how = "behind"
	}
	r.warn(fmt.Sprintf("the clock of this machine, which has read the time, is %s %s that of the cluster", timespec.FormatSeconds(int64(skew.Abs()/time.Second)), how))
}

// create sends a new At. If the response is lost, it looks whether the At was created, because the user would otherwise
// create another one.
func (r *request) create(at *cnatv1alpha1.At) error {
	sent := at.DeepCopy()
	err := r.send(func(w client.Writer) error { return w.Create(r.ctx(), at) })
	switch {
	case r.dryRun == cmdutil.DryRunNone && apierrors.IsInternalError(err): // Also etcd may not have answered in time.
		return r.exit(codeUnknown, err)
	case r.dryRun != cmdutil.DryRunNone || !clierror.IsLost(err):
		return r.unsent(err)
	}
	found := &cnatv1alpha1.At{}
	if r.Get(r.ctx(), r.key(sent.Name), found) == nil && found.Spec.Schedule == sent.Spec.Schedule && found.Spec.Command == sent.Spec.Command {
		*at = *found
		return nil
	}
	message, _ := describe(err)
	return r.exit(codeUnknown, fmt.Errorf("at/%s may have been created, because the API server has not answered: before you repeat the command, look at \"kubectl at list -n %s\" (%s)", sent.Name, r.namespace, message))
}

// answerTime is how long a new At waits for what the operator says about its pod. The operator usually answers within
// 0.1 s, unless a webhook for pods is slow.
var answerTime = 3 * time.Second

// checkPod reports whether the API server would reject the pod of a new At. The operator says so in the condition
// Ready. It says nothing about an At that was not created, so the pod of a template is then checked as the user: a
// policy may treat the operator in another way.
func (r *request) checkPod(at *cnatv1alpha1.At) error {
	switch {
	case r.dryRun == cmdutil.DryRunServer && at.Spec.Template != nil:
		if may, err := r.mayCreatePods(r.ctx()); err == nil && !may {
			r.warn("the pod of this At was not checked, because you have no permission to create pods")
			return nil
		}
		if err := r.Create(r.ctx(), podOf(at), client.DryRunAll); err != nil {
			return fmt.Errorf("the API server would reject the pod of this At now, if you created it: %w", err)
		}
	case r.dryRun == cmdutil.DryRunNone && answerTime > 0:
		if problem := r.problemOf(at, answerTime); problem != "" {
			r.warn(problem)
		}
	}
	return nil
}
