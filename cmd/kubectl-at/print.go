// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "k8s.io/cli-runtime/pkg/genericclioptions"

// newPrintFlags returns kubectl's -o for an operation such as "created".
func newPrintFlags(operation string) *genericclioptions.PrintFlags {
	return genericclioptions.NewPrintFlags(operation).WithTypeSetter(scheme)
}
