// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testutil

import (
	"time"
	"unsafe"
)

// firstWall is the first wall time that a time with a monotonic time can have.
var firstWall = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC)

// WithMonotonic returns a wall time together with a monotonic time. No API creates such a time, and the clock of a
// bubble has no monotonic time.
func WithMonotonic(wall time.Time, monotonic time.Duration) time.Time {
	wall = wall.Round(0)
	fields := (*struct { // the fields of time.Time
		wall uint64
		ext  int64
	})(unsafe.Pointer(&wall)) //nolint:gosec // see above
	seconds := uint64(wall.Unix() - firstWall.Unix())             //nolint:gosec // after 1885
	fields.wall = 1<<63 | seconds<<30 | uint64(wall.Nanosecond()) //nolint:gosec // never negative
	fields.ext = int64(monotonic)
	return wall
}
