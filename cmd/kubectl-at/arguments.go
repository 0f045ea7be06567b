// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/resource"
)

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
