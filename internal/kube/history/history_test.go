// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"testing"
)

func TestCheck(t *testing.T) {
	for title, tc := range map[string]struct {
		latest, shown string
		restored      bool
	}{
		"the same":             {"1000", "1000", false},
		"a later one":          {"1001", "1000", false},
		"an earlier one":       {"999", "1000", true},
		"as text it is later":  {"9", "10", true},
		"nothing was shown":    {"9", "", false},
		"none":                 {"", "10", false},
		"zero":                 {"0", "10", false},
		"other words":          {"a", "b", false},
		"another word":         {"9", "b", false},
		"more than 64 bits":    {"99999999999999999998", "99999999999999999999", true},
		"it has leading zeros": {"09", "10", false},
	} {
		if err := Check(tc.latest, tc.shown); errors.Is(err, ErrRestored) != tc.restored || (err != nil) != tc.restored {
			t.Errorf("%s: %v", title, err)
		}
	}
}

func TestLatest(t *testing.T) {
	for title, tc := range map[string]struct{ version, shown, want string }{
		"the first":      {"7", "", "7"},
		"a later one":    {"10", "9", "10"},
		"an earlier one": {"9", "10", "10"},
		"zero":           {"0", "", ""},
		"none":           {"", "7", "7"},
		"a word":         {"b", "7", "7"},
	} {
		if got := Latest(tc.version, tc.shown); got != tc.want {
			t.Errorf("%s: got %q, want %q", title, got, tc.want)
		}
	}
}
