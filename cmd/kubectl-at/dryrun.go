// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// dryRun is the value of --dry-run, which is that of kubectl.
type dryRun string

const (
	dryRunNone   dryRun = "none"
	dryRunClient dryRun = "client"
	dryRunServer dryRun = "server"
)

func (d *dryRun) addFlag(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar((*string)(d), "dry-run", string(dryRunNone), `Must be "none", "server", or "client". If client strategy, only print the object that would be sent, without sending it. If server strategy, submit server-side request without persisting the resource.`)
	flags.Lookup("dry-run").NoOptDefVal = string(dryRunClient)
	completeValues(cmd, "dry-run", string(dryRunNone), string(dryRunServer), string(dryRunClient))
}

func (d *dryRun) validate() error {
	if !slices.Contains([]dryRun{dryRunNone, dryRunClient, dryRunServer}, *d) {
		return fmt.Errorf(`invalid --dry-run value (%s): it must be "none", "server", or "client"`, *d)
	}
	return nil
}

// suffix returns what the line about an At ends with.
func (d *dryRun) suffix() string {
	return map[dryRun]string{dryRunClient: " (dry run)", dryRunServer: " (server dry run)"}[*d]
}

// printer returns what prints an object as -o says, or nil without -o. With -o name, it prints the suffix, too.
func (d *dryRun) printer(cmd *cobra.Command, flags *genericclioptions.PrintFlags) (printers.ResourcePrinter, error) {
	if err := d.validate(); err != nil || !isOutputSet(cmd) {
		return nil, err
	}
	if *d != dryRunNone {
		if err := flags.Complete("%s" + d.suffix()); err != nil {
			return nil, err
		}
	}
	return flags.ToPrinter()
}
