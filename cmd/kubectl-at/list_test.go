// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestLastLines(t *testing.T) {
	for want, test := range map[string]struct {
		most   int
		header bool
	}{
		"h 1 2 3": {4, true}, "h 2 3": {3, true}, "h 3": {2, true}, "h": {1, true},
		"1 2 3": {3, false}, "2 3": {2, false}, "3": {1, false}, "": {0, false},
	} {
		lines := []string{"1", "2", "3"}
		if test.header {
			lines = slices.Insert(lines, 0, "h")
		}
		if got := strings.Join(lastLines(lines, test.most, test.header), " "); got != want {
			t.Errorf("%d lines: got %q, want %q", test.most, got, want)
		}
	}
}
