// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redhat/podset-operator/internal/atspec"
)

func TestQuoteCommand(t *testing.T) {
	for want, words := range map[string][]string{
		`bin/rails db:migrate --env=prod`: {"bin/rails", "db:migrate", "--env=prod"},
		`sh -c 'echo "$HOME"; exit 3'`:    {"sh", "-c", `echo "$HOME"; exit 3`},
		`echo 'it'\''s' '' 'a b' '#'`:     {"echo", "it's", "", "a b", "#"},
		"printf 'a\nb\\'":                 {"printf", "a\nb\\"},
	} {
		got, err := quoteCommand(words)
		if err != nil || got != want {
			t.Errorf("quoteCommand(%q): got %s, %v, want %s", words, got, err, want)
		}
	}
	if _, err := quoteCommand([]string{"echo", "\xff"}); err == nil || !strings.Contains(err.Error(), "invalid word 2 of the command: expected text in UTF-8") {
		t.Errorf("got %v for a word that is not UTF-8", err)
	}
}

func TestReadText(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"text":          {"echo 'grüße'\n", ""},
		"binary":        {"\x7fELF\x00\x01", "invalid script in x: expected text in UTF-8"},
		"Latin-1":       {"echo gr\xfc\xdfe", "invalid script in x: expected text in UTF-8"},
		"NUL":           {"echo \x00", "invalid script in x: expected text in UTF-8"},
		"the longest":   {strings.Repeat("世", 32768), ""},
		"too long":      {strings.Repeat("a", 32769), tooLong},
		"much too long": {strings.Repeat("世", 100000), tooLong},
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
	if _, err := quoteCommand([]string{"sh", "-c", strings.Repeat("'", 20000)}); err == nil || err.Error() != tooLong {
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

func TestScriptWarnings(t *testing.T) {
	for script, want := range map[string]string{
		"echo a\n":                           "",
		"#!/bin/sh\necho a\n":                "",
		"#! /usr/bin/env sh\n":               "",
		"\n#!/usr/bin/python3\n":             "",
		"printf 'a\rb'\n":                    "",
		"#!/usr/bin/env python3\nprint(1)\n": "sh runs the script, not /usr/bin/env python3 as its first line says",
		"#!/bin/bash":                        "sh runs the script, not /bin/bash as its first line says",
		"#!/bin/sh -e\n":                     "sh runs the script, not /bin/sh -e as its first line says",
		"#!/usr/bin/env -S A=b node --x\n":   "sh runs the script, not /usr/bin/env -S A=b node --x as its first line says",
		"if true; then\r\necho a\r\nfi\r\n":  "lines of the script end in CRLF, and sh takes the CR for a part of the command",
		"echo a\r":                           "lines of the script end in CRLF, and sh takes the CR for a part of the command",
		"\ufeffecho a\n":                     "the script begins with a byte order mark, which sh takes for a part of the first command",
	} {
		if got := strings.Join(scriptWarnings(script), "; "); got != want {
			t.Errorf("%q: got %q, want %q", script, got, want)
		}
	}
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
		quoted, err := quoteCommand(words)
		if err != nil || first == "" || strings.Contains(strings.Join(words, ""), "\x00") {
			return
		}
		if got, err := atspec.SplitCommand(quoted); err != nil || !slices.Equal(got, words) {
			t.Errorf("%q splits into %q, %v\n%s", quoted, got, err, cmp.Diff(words, got))
		}
	})
}
