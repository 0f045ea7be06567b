// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"
	"time"
)

// A leader ends before another process can take over its lease.
func TestLeaseTiming(t *testing.T) {
	for name, tc := range map[string]struct {
		timing LeaseTiming
		valid  bool
	}{
		"the default":                         {LeaseTiming{15 * time.Second, 10 * time.Second, time.Second}, true},
		"a single node of OpenShift":          {LeaseTiming{137 * time.Second, 107 * time.Second, 26 * time.Second}, true},
		"a deadline as long as the lease":     {LeaseTiming{10 * time.Second, 10 * time.Second, time.Second}, false},
		"a retry that can miss the deadline":  {LeaseTiming{15 * time.Second, 12 * time.Second, 10 * time.Second}, false},
		"no pause between retries":            {LeaseTiming{15 * time.Second, 10 * time.Second, 0}, false},
		"a lease that the API cannot express": {LeaseTiming{900 * time.Millisecond, 500 * time.Millisecond, 100 * time.Millisecond}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.timing.Validate(); (err == nil) != tc.valid {
				t.Errorf("Validate() = %v", err)
			}
		})
	}
}
