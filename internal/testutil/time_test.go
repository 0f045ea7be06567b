// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testutil

import (
	"testing"
	"time"
)

// The layout of time.Time is not part of its API.
func TestWithMonotonic(t *testing.T) {
	wall := time.Date(2026, 11, 22, 3, 4, 5, 678_000_000, time.UTC)
	before, after := WithMonotonic(wall, time.Second), WithMonotonic(wall.Add(-time.Hour), 3*time.Second)
	if d := after.Sub(before); d != 2*time.Second {
		t.Errorf("the monotonic times differ by %v", d)
	}
	if d := after.Round(0).Sub(before.Round(0)); d != -time.Hour || !before.Round(0).Equal(wall) {
		t.Errorf("the wall times differ by %v: %v", d, before)
	}
}
