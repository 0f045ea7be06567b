// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redhat/podset-operator/internal/at"
)

func TestWordsAreQuotedWhereNeeded(t *testing.T) {
	for want, words := range map[string][]string{
		`bin/rails db:migrate --env=prod`: {"bin/rails", "db:migrate", "--env=prod"},
		`sh -c 'echo "$HOME"; exit 3'`:    {"sh", "-c", `echo "$HOME"; exit 3`},
		`echo 'it'\''s' '' 'a b' '#'`:     {"echo", "it's", "", "a b", "#"},
		"printf 'a\nb\\'":                 {"printf", "a\nb\\"},
	} {
		got, err := quoteWords(words)
		if err != nil || got != want {
			t.Errorf("quoteWords(%q): got %s, %v, want %s", words, got, err, want)
		}
	}
	if _, err := quoteWords([]string{"echo", "\xff"}); err == nil || !strings.Contains(err.Error(), "not valid UTF-8") {
		t.Errorf("got %v for a word that is not UTF-8", err)
	}
}

// The operator splits a command into exactly the words that it was quoted from.
func FuzzTheOperatorSplitsWhatWasQuoted(f *testing.F) {
	f.Add("sh", "-c", "echo 'a' \"b\" \\ $x `y`\n")
	f.Add("a", "", "'")
	f.Fuzz(func(t *testing.T, first, second, third string) {
		words := []string{first, second, third}
		quoted, err := quoteWords(words)
		if err != nil || first == "" || strings.Contains(strings.Join(words, ""), "\x00") {
			return
		}
		if got, err := at.SplitCommand(quoted); err != nil || !slices.Equal(got, words) {
			t.Errorf("%q splits into %q, %v\n%s", quoted, got, err, cmp.Diff(words, got))
		}
	})
}
