// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
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
	dryRun  cmdutil.DryRunStrategy
	// toErrOut is true if standard output is for the end of the At, or for its log.
	toErrOut bool
}

// command returns the verb for the command line.
func (v verb) command(p *plugin) *cobra.Command {
	flags := genericclioptions.NewPrintFlags(v.operation).WithTypeSetter(scheme)
	cmd := &cobra.Command{
		Use: v.use, Aliases: v.aliases, SuggestFor: v.suggestFor,
		Short: v.short, Long: paragraphs(v.long), Example: strings.TrimRight("  "+strings.ReplaceAll(paragraphs(v.example), "\n", "\n  "), " "),
		Args: v.args.check, ValidArgsFunction: p.completeArguments(v.args),
	}
	if v.flags != nil {
		v.flags(cmd)
	}
	_ = cmd.RegisterFlagCompletionFunc("from", p.completeFrom) // an error if there is no such flag
	if v.operation != "" {
		addDryRunFlag(cmd)
	}
	if v.operation != "" || v.prints {
		flags.AddFlags(cmd)
		completeValues(cmd, "output", flags.AllowedFormats()...)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		r := &request{plugin: p, cmd: cmd}
		if r.names, r.words, err = v.args.split(args); err != nil {
			return err
		}
		if err := checkValues(cmd); err != nil {
			return err
		}
		if v.operation != "" { // A mistake is found before anything changes.
			cmd.Flag("dry-run").NoOptDefVal = "" // kubectl warns of a value that is the default.
			if r.dryRun, err = cmdutil.GetDryRunStrategy(cmd); err != nil {
				return err
			}
		}
		if isOutputSet(cmd) && (v.operation != "" || v.prints) {
			if r.printer, err = flags.ToPrinter(); err != nil {
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

// send sends a change to the API server, as --dry-run says. A field that the API server does not know is an error: it
// would drop a deadline, and run the command without it.
func (r *request) send(change func(client.Writer) error) error {
	strict := client.WithFieldValidation(r.WithWatch, metav1.FieldValidationStrict)
	var err error
	switch r.dryRun {
	case cmdutil.DryRunClient:
	case cmdutil.DryRunServer:
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
	_, err := fmt.Fprintln(out, line+suffixes[r.dryRun])
	return err
}

// arguments are how many a verb takes.
type arguments struct {
	names int // of Ats that come first; many is one or more
	words int // behind them: 0 or many
}

const many = -1

var (
	noArguments = arguments{}
	oneName     = arguments{names: 1}
	someNames   = arguments{names: many}
	nameAndTime = arguments{names: 1, words: many}
	timeWords   = arguments{words: many}
)

// check returns an error about arguments that are missing or too many.
func (a arguments) check(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < a.names || a.names == many && len(args) == 0:
		return fmt.Errorf("missing NAME; usage: %s; \"kubectl at list\" shows the names", cmd.UseLine())
	case a.names != many && a.words != many && len(args) > a.names:
		return fmt.Errorf("unexpected argument %q; usage: %s", args[a.names], cmd.UseLine())
	}
	return nil
}

// split returns the names of Ats, and the other words.
func (a arguments) split(args []string) (names, words []string, err error) {
	for i, argument := range args {
		if a.names != many && i >= a.names {
			break
		}
		name, err := nameOf(argument)
		if err != nil {
			return nil, nil, err
		}
		names = append(names, name)
	}
	return names, args[len(names):], nil
}

// nameOf returns the name of an At that is given as NAME, or as kubectl prints it: at/NAME or at.cnat.d2iq.com/NAME.
func nameOf(argument string) (string, error) {
	kind, name, qualified := strings.Cut(argument, "/")
	switch {
	case !qualified:
		return argument, nil
	case isAt(kind) && name != "" && !strings.Contains(name, "/"):
		return name, nil
	}
	return "", fmt.Errorf("invalid NAME %q: expected NAME or at/NAME", argument)
}

// timeExamples are words that TIME can have.
const timeExamples = "now today tomorrow noon midnight teatime next monday tuesday wednesday thursday friday saturday sunday + minutes hours days weeks months years"

// completeArguments completes the arguments of a verb.
func (p *plugin) completeArguments(a arguments) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch {
		case a.words == many && len(args) >= a.names:
			return strings.Fields(timeExamples), cobra.ShellCompDirectiveNoFileComp
		case a.names == many || len(args) < a.names:
			names, directive := p.completeNames("ats", prefix)
			return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNames offers the names of the objects of a kind, behind a kind if the prefix has one.
func (p *plugin) completeNames(kind, prefix string) ([]string, cobra.ShellCompDirective) {
	*p.config.Timeout = "5s" // A user waits who has pressed Tab.
	namespace, _, err := p.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	// What could be listed in spite of an error is offered.
	infos, _ := resource.NewBuilder(p.config).Unstructured().NamespaceParam(namespace).DefaultNamespace().ResourceTypeOrNameArgs(true, kind).Flatten().Do().Infos()
	form := prefix[:strings.Index(prefix, "/")+1]
	var names []string
	for _, info := range infos {
		if name := form + info.Name; strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFrom offers kinds and, behind a kind, the objects of the namespace.
func (p *plugin) completeFrom(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if kind, _, isNamed := strings.Cut(prefix, "/"); isNamed {
		return p.completeNames(kind, prefix)
	}
	return strings.Fields("deploy/ sts/ ds/ rs/ job/ cj/ pset/ po/ at/"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeGlobalFlags completes the flags of all commands.
func (p *plugin) completeGlobalFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return p.completeNames("namespaces", prefix)
	})
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := p.config.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
	})
}
