// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// resident returns the memory that the Go runtime has not returned to the operating system.
func resident() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapSys - stats.HeapReleased
}

// garbage prevents the compiler from removing the allocation in allocateGarbage.
var garbage []byte

func allocateGarbage(bytes int) {
	garbage = make([]byte, bytes)
	for i := 0; i < len(garbage); i += 4096 {
		garbage[i] = 1
	}
	garbage = nil
}

func TestReleaseGarbage(t *testing.T) {
	const size = 64 << 20
	allocateGarbage(size)
	before := resident()
	if err := releaseGarbage(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if after := resident(); before-after < size/2 || after > before {
		t.Errorf("the runtime has %d bytes, and had %d with %d bytes of garbage", after, before, size)
	}
}

func TestReleaseGarbage_end(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := releaseGarbage(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
}

func TestLimitMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	t.Setenv("MEMORY_LIMIT", "1073741824")
	for _, tc := range []struct {
		own  string
		want int64
	}{{"900MiB", math.MaxInt64}, {"", 912680550}} {
		t.Setenv("GOMEMLIMIT", tc.own)
		if err := LimitMemory(); err != nil {
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
