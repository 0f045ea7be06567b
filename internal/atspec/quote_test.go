// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package atspec_test

import (
	"errors"
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
		got, err := atspec.QuoteCommand(words)
		if err != nil || got != want {
			t.Errorf("atspec.QuoteCommand(%q): got %s, %v, want %s", words, got, err, want)
		}
	}
	if _, err := atspec.QuoteCommand([]string{"echo", "\xff"}); err == nil || !strings.Contains(err.Error(), "invalid word 2 of the command: expected text in UTF-8") {
		t.Errorf("got %v for a word that is not UTF-8", err)
	}
}

func TestQuoteCommand_length(t *testing.T) {
	if _, err := atspec.QuoteCommand([]string{strings.Repeat("世", atspec.MaxCommand)}); !errors.Is(err, atspec.ErrTooLong) { // with its quotes
		t.Errorf("got %v", err)
	}
	if _, err := atspec.QuoteCommand([]string{strings.Repeat("世", atspec.MaxCommand-2)}); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestScriptWarnings(t *testing.T) {
	for script, want := range map[string]string{
		"echo a\n":                           "",
		"#!/bin/sh\necho a\n":                "",
		"#! /usr/bin/env sh\n":               "",
		"\n#!/usr/bin/python3\n":             "",
		"printf 'a\rb'\n":                    "",
		"#!/usr/bin/env python3\nprint(1)\n": "sh runs the script, although its first line requests /usr/bin/env python3",
		"#!/usr/bin/env":                     "sh runs the script, although its first line requests /usr/bin/env",
		"#!/bin/bash":                        "sh runs the script, although its first line requests /bin/bash",
		"#!/bin/sh -e\n":                     "sh runs the script, although its first line requests /bin/sh -e",
		"#!/usr/bin/env -S A=b node --x\n":   "sh runs the script, although its first line requests /usr/bin/env -S A=b node --x",
		"if true; then\r\necho a\r\nfi\r\n":  "the script has CRLF line endings, and sh treats the CR as part of the command",
		"echo a\r":                           "the script has CRLF line endings, and sh treats the CR as part of the command",
		"\ufeffecho a\n":                     "the script begins with a byte order mark, which sh treats as part of the first command",
	} {
		if got := strings.Join(atspec.ScriptWarnings(script), "; "); got != want {
			t.Errorf("%q: got %q, want %q", script, got, want)
		}
	}
}

func TestWordWarnings(t *testing.T) {
	operator := func(word string) string {
		return "the command receives the word \"" + word + "\" as is, because it does not run in a shell; for a shell, use sh -c '...'"
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
		"A=b bin/rails":            `the program would be "A=b", because only a shell sets variables this way; use --env, or sh -c '...'`,
		"echo a|wc":                "",
		"a|b":                      `the program would be "a|b", because only a shell splits and interprets it; pass each word as an argument, or use sh -c '...'`,
	} {
		if got := strings.Join(atspec.WordWarnings(strings.Fields(command)), "; "); got != want {
			t.Errorf("%q: got %q, want %q", command, got, want)
		}
	}
	want := `the program would be "echo a | wc", because only a shell splits and interprets it; pass each word as an argument, or use sh -c '...'`
	if got := atspec.WordWarnings([]string{"echo a | wc"}); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The operator splits a command into exactly the words that it was quoted from.
func FuzzQuoteCommand(f *testing.F) {
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
