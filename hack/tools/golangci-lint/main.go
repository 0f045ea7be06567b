// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command golangci-lint is golangci-lint with logcheck of Kubernetes. golangci-lint can include a module
// plugin only at compile time.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
	_ "sigs.k8s.io/kube-api-linter"
	_ "sigs.k8s.io/logtools/logcheck/gclplugin"
)

func main() {
	// The Go version determines which language version the linters accept.
	if err := commands.Execute(commands.BuildInfo{Version: "podset-operator", GoVersion: runtime.Version()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitcodes.Failure)
	}
}
