// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Panic is the value of a panic in a reconcile, and its stack.
type Panic struct {
	Value any
	Stack string
}

var panics struct {
	mu  sync.Mutex
	all []Panic
}

// RecordPanics records every panic of a reconcile in this process from now on.
func RecordPanics() {
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, value any) {
		panics.mu.Lock()
		defer panics.mu.Unlock()
		panics.all = append(panics.all, Panic{value, string(debug.Stack())})
	})
}

// Panics returns the panics that were recorded.
func Panics() []Panic {
	panics.mu.Lock()
	defer panics.mu.Unlock()
	return slices.Clone(panics.all)
}

// Code is in the stacks of the goroutines of an operator: of controller-runtime, and of this operator.
var Code = []string{"internal/controller.(*Controller", "podset-operator/controllers"}

// Stacks returns the stacks of the goroutines that run code.
func Stacks(code string) []string {
	buffer := make([]byte, 64<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	var found []string
	for stack := range strings.SplitSeq(string(buffer), "\n\n") {
		if strings.Contains(stack, code) {
			found = append(found, stack)
		}
	}
	return found
}
