// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
