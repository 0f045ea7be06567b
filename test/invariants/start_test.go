// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"testing"
	"time"
)

// TestDefects of the simulation proves that all other checks can fail. This one has no defect: a simulated operator does not repeat dry runs.
func TestA19(t *testing.T) {
	for n, want := range map[int]bool{maxChecks: false, maxChecks + 1: true} {
		c := NewChecker(true, nil, nil)
		for i := range n {
			c.Checks = append(c.Checks, Check{Call: Call{Owner: "at"}, Received: time.Unix(int64(i), 0)})
		}
		c.Replay(nil)
		if violated := len(c.Violations) > 0; violated != want {
			t.Errorf("%d dry runs: A19 is violated: %t", n, violated)
		}
	}
}
