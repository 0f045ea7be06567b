// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEvent_longNote(t *testing.T) {
	for _, note := range []string{"", "short", strings.Repeat("a", 1024), strings.Repeat("a", 1025), strings.Repeat("é", 1024), strings.Repeat("漢", 1024)} {
		for _, got := range []string{Normal("R", "A", note).Note, Warning("R", "A", note).Note} {
			if len(got) > 1024 || !utf8.ValidString(got) {
				t.Errorf("a note of %d bytes became one of %d bytes, valid: %t", len(note), len(got), utf8.ValidString(got))
			}
			if len(note) <= 1024 && got != note {
				t.Errorf("a note that fits was changed to %q", got)
			}
			if len(note) > 1024 && !strings.HasSuffix(got, "...") {
				t.Errorf("a truncated note is not marked: ...%q", got[len(got)-10:])
			}
		}
	}
}
