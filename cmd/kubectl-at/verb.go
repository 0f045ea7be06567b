// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// verb is a command of "kubectl at": its names, its arguments and flags, and what it does.
type verb struct {
	use, short, long, example string
	aliases, suggestFor       []string

	args  arguments
	flags func(*cobra.Command) // adds flags, or nil
	// operation is what the verb does to an At, such as "canceled". It then has -o and --dry-run.
	operation string
	prints    bool // It has -o for another reason.
	run       func(*request) error
}

// request is one call of a verb.
type request struct {
	*plugin
	*cluster

	cmd     *cobra.Command
	names   []string                 // of Ats
	words   []string                 // the others
	printer printers.ResourcePrinter // of -o, or nil if there is none
	dryRun  dryRun
	// toErrOut is true if standard output is for the end of the At, or for its log.
	toErrOut bool
}

// command returns the verb for the command line.
func (v verb) command(p *plugin) *cobra.Command {
	flags, dryRun := genericclioptions.NewPrintFlags(v.operation).WithTypeSetter(scheme), dryRunNone
	cmd := &cobra.Command{
		Use: v.use, Aliases: v.aliases, SuggestFor: v.suggestFor,
		Short: v.short, Long: paragraphs(v.long), Example: "  " + strings.ReplaceAll(paragraphs(v.example), "\n", "\n  "),
		Args: v.args.check, ValidArgsFunction: p.completeArguments(v.args),
	}
	if v.flags != nil {
		v.flags(cmd)
	}
	_ = cmd.RegisterFlagCompletionFunc("from", p.completeFrom) // an error if there is no such flag
	if v.operation != "" {
		dryRun.addFlag(cmd)
	}
	if v.operation != "" || v.prints {
		flags.AddFlags(cmd)
		completeValues(cmd, "output", flags.AllowedFormats()...)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		r := &request{plugin: p, cmd: cmd, dryRun: dryRun}
		if r.names, r.words, err = v.args.split(args); err != nil {
			return err
		}
		if err := checkValues(cmd); err != nil {
			return err
		}
		if v.operation != "" || v.prints { // A mistake is found before anything changes.
			if r.printer, err = dryRun.printer(cmd, flags); err != nil {
				return err
			}
		}
		if r.cluster, err = p.connect(); err != nil {
			return r.exit(codeNotRead, err)
		}
		return cmp.Or(v.run(r), p.raw.err)
	}
	return cmd
}

func (r *request) ctx() context.Context { return r.cmd.Context() }

// get reads the At that is named.
func (r *request) get(object client.Object) error { return r.Get(r.ctx(), r.key(r.names[0]), object) }

// send sends a change to the API server, as --dry-run says. A field that the API server does not know is an error: it would drop a deadline, and
// run the command without it.
func (r *request) send(change func(client.Writer) error) error {
	strict := client.WithFieldValidation(r.WithWatch, metav1.FieldValidationStrict)
	var err error
	switch r.dryRun {
	case dryRunClient:
	case dryRunServer:
		err = change(client.NewDryRunClient(strict))
	default:
		err = change(strict)
	}
	if apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "strict decoding error") { // It has no reason of its own.
		return fmt.Errorf("%w; nothing was changed: the CRD in the cluster is older than this plugin (%s), so update the operator with its CRDs, or leave out the field", err, version)
	}
	return err
}

// report prints an At as -o says, or else a line.
func (r *request) report(at *cnatv1alpha1.At, line string) error {
	out := r.Out
	switch {
	case r.toErrOut:
		out = r.ErrOut
	case r.printer != nil:
		return r.printer.PrintObj(at, r.data())
	}
	_, err := fmt.Fprintln(out, line+r.dryRun.suffix())
	return err
}
