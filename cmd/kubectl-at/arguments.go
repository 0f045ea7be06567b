// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// arguments are how many a verb takes.
type arguments struct {
	names int // of Ats that come first; many is any number of them, also 0
	words int // behind them: 0 or many
}

const many = -1

var (
	noArguments = arguments{}
	oneName     = arguments{names: 1}
	anyNames    = arguments{names: many}
	nameAndTime = arguments{names: 1, words: many}
	timeWords   = arguments{words: many}
)

// check returns an error about arguments that are missing or too many.
func (a arguments) check(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < a.names:
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
	case findKind(kind) == atKind && name != "" && !strings.Contains(name, "/"):
		return name, nil
	}
	return "", fmt.Errorf("invalid NAME %q: expected NAME or at/NAME", argument)
}

// completeArguments completes the arguments of a verb.
func (p *plugin) completeArguments(a arguments) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch {
		case a.words == many && len(args) >= a.names:
			return strings.Fields("now today tomorrow noon midnight teatime next monday tuesday wednesday thursday friday saturday sunday + minutes hours days weeks months years"), cobra.ShellCompDirectiveNoFileComp
		case a.names == many || len(args) < a.names:
			names, directive := p.completeObjects(cmd, atKind, prefix)
			return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeObjects offers the names of the objects of a kind that an API server lists, behind a kind if the prefix has one.
func (p *plugin) completeObjects(cmd *cobra.Command, kind schema.GroupVersionKind, prefix string) ([]string, cobra.ShellCompDirective) {
	form := prefix[:strings.Index(prefix, "/")+1]
	if form != "" && findKind(strings.TrimSuffix(form, "/")) != kind {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second) // A user waits who has pressed Tab.
	defer cancel()
	var in []client.ListOption
	if kind.Kind != "Namespace" {
		in = append(in, client.InNamespace(c.namespace))
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list, in...); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range list.Items {
		if name := form + list.Items[i].Name; strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFrom offers kinds and, behind a kind, the objects of the namespace.
func (p *plugin) completeFrom(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	kind, _, qualified := strings.Cut(prefix, "/")
	if !qualified {
		var kinds []string
		for _, s := range sources {
			kinds = append(kinds, s.names[len(s.names)-1]+"/")
		}
		return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return p.completeObjects(cmd, findKind(kind), prefix)
}

// completeGlobalFlags completes the flags of all commands.
func (p *plugin) completeGlobalFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return p.completeObjects(cmd, corev1.SchemeGroupVersion.WithKind("Namespace"), prefix)
	})
	_ = root.RegisterFlagCompletionFunc("tz", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names := []string{"UTC"}
		table, _ := os.ReadFile("/usr/share/zoneinfo/zone.tab") // Without this file, there are no other names.
		for line := range strings.Lines(string(table)) {
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] != "#" {
				names = append(names, fields[2])
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := p.config.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
	})
}
