// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestLimitMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	t.Setenv("MEMORY_LIMIT", "1073741824")
	for _, tc := range []struct {
		own  string
		want int64
	}{{"900MiB", math.MaxInt64}, {"", 912680550}} {
		t.Setenv("GOMEMLIMIT", tc.own)
		if err := limitMemory(); err != nil {
			t.Fatal(err)
		}
		if got := debug.SetMemoryLimit(-1); got != tc.want {
			t.Errorf("with GOMEMLIMIT %q the limit is %d, not %d", tc.own, got, tc.want)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	for value, want := range map[string]int64{"": 0, "536870912": 456340275, "100": 85} {
		if got, err := memoryLimit(value); got != want || err != nil {
			t.Errorf("memoryLimit(%q) = %d, %v; want %d", value, got, err, want)
		}
	}
	for _, value := range []string{"512Mi", "0", "-1"} {
		if got, err := memoryLimit(value); err == nil {
			t.Errorf("memoryLimit(%q) = %d without an error", value, got)
		}
	}
}
