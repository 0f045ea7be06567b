// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// difference is an intentional difference of the simulation.
type difference struct {
	name, reason string
	// is reports whether this is the difference between a response of the API server, want, and that of the simulation, got.
	is   func(about, want, got string) bool
	seen *atomic.Int64
}

var generation = regexp.MustCompile(`"generation":[0-9]+`)

var differences = []difference{{
	name: "generation after an update with empty fields",
	reason: "the API server stores JSON, so an empty field that was absent is a change of the spec; the simulation stores Go objects, and " +
		"neither the operator nor the users of the simulation replace custom resources",
	is: func(about, want, got string) bool {
		return strings.HasPrefix(about, "update, status false") && generation.ReplaceAllString(want, "") == generation.ReplaceAllString(got, "")
	},
	seen: &atomic.Int64{},
}}

// listed reports whether a difference is listed, and counts it.
func listed(about, want, got string) bool {
	for _, d := range differences {
		if d.is(about, want, got) {
			d.seen.Add(1)
			return true
		}
	}
	return false
}

// allSeen is the number of sequences in which each listed difference must occur.
const allSeen = 1000

// reportDifferences prints how often each listed difference occurred. One that no longer occurs must be removed from the list.
func reportDifferences(t *testing.T, sequences int) {
	for _, d := range differences {
		fmt.Printf("%d times: %s (%s)\n", d.seen.Load(), d.name, d.reason)
		if sequences >= allSeen && d.seen.Load() == 0 {
			t.Errorf("the listed difference %q did not occur", d.name)
		}
	}
}
