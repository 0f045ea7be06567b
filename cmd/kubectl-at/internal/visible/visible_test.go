// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package visible_test

import (
	"testing"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/visible"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"echo 'grüße, 世界 👋' \"$(x)\" \\": "echo 'grüße, 世界 👋' \"$(x)\" \\",
		"a\nb\tc\r":                      `a` + "\n" + `b\tc\r`,
		"\x1b]0;owned\a\u009b\u202e\x7f": `\x1b]0;owned\a\u009b\u202e\x7f`,
		"a\u00a0\u200b\ufeff":            `a\u00a0\u200b\ufeff`,
		"\u3164\u115f\u1160\uffa0":       `\u3164\u115f\u1160\uffa0`, // Hangul fillers
		"x\ufe0f\U000e0100\u180b":        `x\ufe0f\U000e0100\u180b`,  // variation selectors
		"\u2800\u034f\u17b4\u2065":       `\u2800\u034f\u17b4\u2065`,
	} {
		if got := visible.Escape(text, "\n"); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
