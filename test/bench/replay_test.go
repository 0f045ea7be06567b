// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestTheReplaySendsEachRequestOnceAndSetsFirst(t *testing.T) {
	for _, grid := range [][2]int{{100, 10}, {1000, 1}, {1, 1}, {3, 50}} {
		for _, width := range widthsFor(1) {
			sent := map[request]int{}
			for position, r := range replayOrder(grid, width) {
				if _, twice := sent[r]; twice {
					t.Fatalf("%v: %+v is sent twice", grid, r)
				}
				sent[r] = position
				set, ok := sent[request{what: createSet, set: r.set}]
				if !ok {
					t.Fatalf("%v: %+v comes before its set", grid, r)
				}
				middle := r.set > grid[0]/3 && r.set < grid[0]*2/3 // Elsewhere, there is less to send in between.
				if gap := position - set; r.what == createPod && gap < width && middle && grid[0] >= 100 {
					t.Errorf("%v: %+v comes %d requests after its set, which may still be in flight", grid, r, gap)
				}
			}
			if want := grid[0] * (grid[1] + 3); len(sent) != want {
				t.Errorf("%v: %d requests instead of %d", grid, len(sent), want)
			}
		}
	}
}
