// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"
)

// goMemoryPercent is the part of the container's memory limit that the Go runtime may use. The rest is for memory
// outside the runtime, such as the program and the buffers of the kernel, and for peaks.
const goMemoryPercent = 85

// LimitMemory keeps the Go runtime below the memory limit of the container. The environment variable MEMORY_LIMIT
// contains the limit in bytes. GOMEMLIMIT, which the runtime reads itself, takes precedence.
func LimitMemory() error {
	limit, err := memoryLimit(os.Getenv("MEMORY_LIMIT"))
	if err == nil && limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	return err
}

// memoryLimit returns how many bytes the Go runtime may use in a container with this limit, or 0 if there is no limit.
func memoryLimit(container string) (int64, error) {
	if container == "" {
		return 0, nil
	}
	limit, err := strconv.ParseInt(container, 10, 64)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("environment variable MEMORY_LIMIT: %q is not a number of bytes", container)
	}
	return int64(float64(limit) * goMemoryPercent / 100), nil
}

// startDuration is how long the first lists and the first reconciles take at most, with 100,000 objects.
const startDuration = 30 * time.Second

// ReleaseGarbage waits until the start is over and returns garbage to the operating system, once. A start leaves about
// twice as much garbage as live memory, and the Go runtime would keep most of it: 80 MiB instead of 50 MiB.
func ReleaseGarbage(ctx context.Context) error { return releaseGarbage(ctx, startDuration) }

func releaseGarbage(ctx context.Context, after time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(after):
		debug.FreeOSMemory()
	}
	return nil
}
