// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// dryRun is the value of --dry-run, which is that of kubectl.
type dryRun string

const (
	dryRunNone   dryRun = "none"
	dryRunClient dryRun = "client"
	dryRunServer dryRun = "server"
)

func (d *dryRun) addFlag(flags *pflag.FlagSet) {
	flags.StringVar((*string)(d), "dry-run", string(dryRunNone), `Must be "none", "server", or "client". If client strategy, only print the object that would be sent, without sending it. If server strategy, submit server-side request without persisting the resource.`)
	flags.Lookup("dry-run").NoOptDefVal = string(dryRunClient)
}

func (d *dryRun) validate() error {
	if !slices.Contains([]dryRun{dryRunNone, dryRunClient, dryRunServer}, *d) {
		return fmt.Errorf(`invalid --dry-run value (%s): it must be "none", "server", or "client"`, *d)
	}
	return nil
}

// suffix returns what the line about a created At ends with.
func (d *dryRun) suffix() string {
	return map[dryRun]string{dryRunClient: " (dry run)", dryRunServer: " (server dry run)"}[*d]
}

// complete adds the suffix to the message of the printer for -o name.
func (d *dryRun) complete(flags *genericclioptions.PrintFlags) error {
	if *d == dryRunNone {
		return nil
	}
	return flags.Complete("%s" + d.suffix())
}
