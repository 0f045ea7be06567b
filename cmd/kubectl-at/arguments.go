// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// arguments are those that a verb takes.
type arguments int

const (
	noArguments arguments = iota
	oneName
	anyNames // none, too
	nameAndTime
	timeWords
)

// check returns an error about arguments that are missing or too many.
func (a arguments) check(cmd *cobra.Command, args []string) error {
	most := map[arguments]int{noArguments: 0, oneName: 1}
	limit, isLimited := most[a]
	switch {
	case (a == oneName || a == nameAndTime) && len(args) == 0:
		return fmt.Errorf("missing NAME; usage: %s; \"kubectl at list\" shows the names", cmd.UseLine())
	case isLimited && len(args) > limit:
		return fmt.Errorf("unexpected argument %q; usage: %s", args[limit], cmd.UseLine())
	}
	return nil
}

// split returns the names of Ats, and the other words.
func (a arguments) split(args []string) (names, words []string, err error) {
	n := map[arguments]int{oneName: 1, anyNames: len(args), nameAndTime: 1}[a]
	for _, argument := range args[:min(n, len(args))] {
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

// completeTime offers how a time begins, and the words that follow.
func completeTime(args []string) []string {
	if len(args) == 0 {
		return strings.Fields("now today tomorrow noon midnight teatime next")
	}
	if slices.Contains(args, "+") {
		return strings.Fields("seconds minutes hours days weeks months years")
	}
	return strings.Fields("today tomorrow next monday tuesday wednesday thursday friday saturday sunday")
}

// completeArguments completes the arguments of a verb.
func (p *plugin) completeArguments(kinds arguments) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch {
		case kinds == timeWords:
			return completeTime(args), cobra.ShellCompDirectiveNoFileComp
		case kinds == nameAndTime && len(args) > 0:
			return completeTime(args[1:]), cobra.ShellCompDirectiveNoFileComp
		case kinds == anyNames || kinds != noArguments && len(args) == 0:
			return p.completeNames(cmd, args, prefix)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completionPatience is how long an API server may take to answer when a user has pressed Tab.
const completionPatience = 5 * time.Second

// completeNames offers the Ats of the namespace that are not in args.
func (p *plugin) completeNames(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	kind, _, qualified := strings.Cut(prefix, "/")
	form := ""
	if qualified && findKind(kind) == atKind {
		form = kind + "/"
	}
	names, directive := p.completeObjects(cmd, atKind, form, prefix)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
}

// completeObjects offers the names of the objects of a kind that an API server lists, each behind form.
func (p *plugin) completeObjects(cmd *cobra.Command, kind schema.GroupVersionKind, form, prefix string) ([]string, cobra.ShellCompDirective) {
	c, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
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
	found := findKind(kind)
	if found.Empty() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completeObjects(cmd, found, kind+"/", prefix)
}

// completeFlags completes the flags of a verb. A flag whose values nobody can offer completes to nothing, instead of to files.
func (p *plugin) completeFlags(cmd *cobra.Command) {
	for _, flag := range []string{"image", "env", "with", "label", "annotation", "selector", "attempt", "timeout", "resource-version", "older-than"} {
		if cmd.Flags().Lookup(flag) != nil {
			completeValues(cmd, flag)
		}
	}
	if cmd.Flags().Lookup("from") != nil {
		complete(cmd, "from", p.completeFrom)
		complete(cmd, "serviceaccount", p.completeKind("ServiceAccount"))
	}
}

// completeGlobalFlags completes the flags of all commands.
func (p *plugin) completeGlobalFlags(root *cobra.Command) {
	complete(root, "namespace", p.completeKind("Namespace"))
	completeValues(root, "tz", "Local", "UTC")
	for flag, names := range map[string]func(clientcmdapi.Config) []string{
		"context": func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) },
		"cluster": func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) },
		"user":    func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) },
	} {
		complete(root, flag, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			config, err := p.config.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return slices.DeleteFunc(names(config), func(name string) bool { return !strings.HasPrefix(name, prefix) }), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// completeKind offers the objects of a kind of the core group.
func (p *plugin) completeKind(kind string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return p.completeObjects(cmd, corev1.SchemeGroupVersion.WithKind(kind), "", prefix)
	}
}
