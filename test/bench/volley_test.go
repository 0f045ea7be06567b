// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestTimersExistBeforeTheyAreDue(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 36, 59, 999_000_000, time.UTC)
	for _, tc := range []struct {
		name        string
		arm         *arm
		n           int
		volley      volley
		first, last time.Time
	}{
		{"10000 Ats at once", operatorArm, 10000, burst, now.Add(90 * time.Second).Truncate(time.Second), now.Add(90 * time.Second).Truncate(time.Second)},
		{"100 sparse Ats", operatorArm, 100, sparse, now.Truncate(time.Second).Add(11 * time.Second), now.Truncate(time.Second).Add(110 * time.Second)},
		{"Ats that are due when created", operatorArm, 3, overdue, now, now},
		{"10000 CronJobs", cronJobTuned, 10000, burst, time.Date(2026, 11, 21, 14, 39, 0, 0, time.UTC), time.Date(2026, 11, 21, 14, 39, 0, 0, time.UTC)},
	} {
		due := dueTimes(now, tc.arm, tc.n, tc.volley)
		if first, last := due[0], due[len(due)-1]; !first.Equal(tc.first) || !last.Equal(tc.last) {
			t.Errorf("%s: due from %s to %s, want %s to %s", tc.name, first, last, tc.first, tc.last)
		}
	}
}

func TestThePodsOfAllRunsAreShuffledAlike(t *testing.T) {
	seen := map[string]time.Time{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		seen[name] = time.Time{}
	}
	first := shuffled(seen)
	for range 10 {
		for i, name := range shuffled(seen) {
			if name != first[i] {
				t.Fatalf("got %s in place %d, want %s", name, i, first[i])
			}
		}
	}
}
