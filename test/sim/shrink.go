// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"testing"
)

// Shrink removes steps from a scenario as long as it violates an invariant.
func Shrink(t *testing.T, operator Operator, scenario Scenario, invariant string) Scenario {
	t.Helper()
	for size := len(scenario.Steps) / 2; size > 0; {
		removed := false
		for from := 0; from < len(scenario.Steps); {
			shorter := scenario
			shorter.Steps = slices.Delete(slices.Clone(scenario.Steps), from, min(from+size, len(scenario.Steps)))
			if Run(t, operator, shorter, false).Violates(invariant) {
				scenario, removed = shorter, true
			} else {
				from += size
			}
		}
		if !removed || size > 1 {
			size /= 2
		}
	}
	return scenario
}
