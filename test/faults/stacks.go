// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"runtime"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Panics returns how many reconciles have panicked in this process.
func Panics() int {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return -1
	}
	total := 0
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_panics_total" {
			for _, metric := range family.GetMetric() {
				total += int(metric.GetCounter().GetValue())
			}
		}
	}
	return total
}

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
