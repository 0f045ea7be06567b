// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"runtime"
	"strings"
)

// Stacks returns the stacks of the goroutines that run something.
func Stacks(something string) []string {
	buffer := make([]byte, 64<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	var found []string
	for stack := range strings.SplitSeq(string(buffer), "\n\n") {
		if strings.Contains(stack, something) {
			found = append(found, stack)
		}
	}
	return found
}
