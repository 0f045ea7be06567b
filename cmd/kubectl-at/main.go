// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-at is at(1), atq, and atrm for a cluster: a kubectl plugin that creates Ats, lists them, and follows
// their runs.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // for --tz where the system has no time zones

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // every auth provider that kubectl has
	"k8s.io/utils/clock"
)

// version is set by the linker.
var version = "unknown"

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := newCommand(streams, clock.RealClock{}).Execute(); err != nil {
		message, code := describe(err)
		_, _ = fmt.Fprintln(text{streams.ErrOut}, message)
		os.Exit(code)
	}
}
