// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// noArgs returns an error about arguments, with the usage.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is too much: %s", args[0], cmd.UseLine())
	}
	return nil
}

// exactlyOneName and atLeastOneName are the arguments of a command that works on Ats. Without a name, the error shows the usage.
var (
	exactlyOneName = nameArgs(1)
	atLeastOneName = nameArgs(0)
)

// nameArgs returns the check of arguments that begin with the name of an At, most of them, or any number with 0.
func nameArgs(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("the name of an At is missing: %s; \"kubectl at list\" shows the names", cmd.UseLine())
		case most > 0 && len(args) > most:
			return fmt.Errorf("%q is too much: %s", args[most], cmd.UseLine())
		}
		return nil
	}
}
