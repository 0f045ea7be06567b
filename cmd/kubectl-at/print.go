// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// newPrintFlags returns kubectl's -o for an operation such as "created".
func newPrintFlags(operation string) *genericclioptions.PrintFlags {
	return genericclioptions.NewPrintFlags(operation).WithTypeSetter(scheme)
}

// isOutputSet reports whether the flags of the command say how to print an object.
func isOutputSet(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("output") || cmd.Flags().Changed("template")
}
