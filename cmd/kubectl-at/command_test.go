// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redhat/podset-operator/internal/atspec"
)

func TestReadText(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"text":          {"echo 'grüße'\n", ""},
		"binary":        {"\x7fELF\x00\x01", "invalid script in x: expected text in UTF-8"},
		"Latin-1":       {"echo gr\xfc\xdfe", "invalid script in x: expected text in UTF-8"},
		"NUL":           {"echo \x00", "invalid script in x: expected text in UTF-8"},
		"the longest":   {strings.Repeat("世", 32768), ""},
		"too long":      {strings.Repeat("a", 32769), atspec.ErrTooLong.Error()},
		"much too long": {strings.Repeat("世", 100000), atspec.ErrTooLong.Error()},
	} {
		reader := &countingReader{from: strings.NewReader(test.script)}
		script, err := readText(reader, "x")
		switch {
		case test.want == "" && (err != nil || script != test.script), test.want != "" && (err == nil || err.Error() != test.want):
			t.Errorf("%s: got %d bytes, %v, want %s", name, len(script), err, test.want)
		case reader.read > 4*32768+1:
			t.Errorf("%s: %d bytes were read", name, reader.read)
		}
	}
	if _, err := atspec.QuoteCommand([]string{"sh", "-c", strings.Repeat("'", 20000)}); err == nil || !errors.Is(err, atspec.ErrTooLong) {
		t.Errorf("with its quotes: got %v", err)
	}
}

type countingReader struct {
	from io.Reader
	read int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.read += n
	return n, err
}

func TestCommandWarnings(t *testing.T) {
	operator := func(word string) string {
		return "the command gets the word \"" + word + "\" as it is: no shell runs it; for a shell, use sh -c '...'"
	}
	for command, want := range map[string]string{
		"bin/rails db:migrate":     "",
		"echo a | wc":              operator("|"),
		"a && b":                   operator("&&"),
		"a ; b":                    operator(";"),
		"a > file":                 operator(">"),
		"a 2>&1":                   operator("2>&1"),
		"find . -exec rm {} ;":     "",
		"find . -exec rm {} ; ; b": "",
		"find . ; b":               operator(";"),
		"sh -c a ; b":              "",
		"/bin/bash script >":       "",
		"A=b bin/rails":            `the program is named "A=b": no shell sets this variable; use --env, or sh -c '...'`,
		"echo a|wc":                "",
		"a|b":                      `the program is named "a|b": no shell splits or runs it; give each word by itself, or use sh -c '...'`,
	} {
		if got := strings.Join(commandWarnings(strings.Fields(command)), "; "); got != want {
			t.Errorf("%q: got %q, want %q", command, got, want)
		}
	}
	want := `the program is named "echo a | wc": no shell splits or runs it; give each word by itself, or use sh -c '...'`
	if got := commandWarnings([]string{"echo a | wc"}); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The operator splits a command into exactly the words that it was quoted from.
func FuzzTheOperatorSplitsWhatWasQuoted(f *testing.F) {
	f.Add("sh", "-c", "echo 'a' \"b\" \\ $x `y`\n")
	f.Add("a", "", "'")
	f.Fuzz(func(t *testing.T, first, second, third string) {
		words := []string{first, second, third}
		quoted, err := atspec.QuoteCommand(words)
		if err != nil || first == "" || strings.Contains(strings.Join(words, ""), "\x00") {
			return
		}
		if got, err := atspec.SplitCommand(quoted); err != nil || !slices.Equal(got, words) {
			t.Errorf("%q splits into %q, %v\n%s", quoted, got, err, cmp.Diff(words, got))
		}
	})
}
