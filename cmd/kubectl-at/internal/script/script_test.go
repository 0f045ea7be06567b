// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/script"
	"github.com/redhat/podset-operator/internal/at/spec"
)

func TestQuote(t *testing.T) {
	for want, words := range map[string][]string{
		`bin/rails db:migrate --env=prod`: {"bin/rails", "db:migrate", "--env=prod"},
		`sh -c 'echo "$HOME"; exit 3'`:    {"sh", "-c", `echo "$HOME"; exit 3`},
		`echo 'it'\''s' '' 'a b' '#'`:     {"echo", "it's", "", "a b", "#"},
		"printf 'a\nb\\'":                 {"printf", "a\nb\\"},
	} {
		got, err := script.Quote(words)
		if err != nil || got != want {
			t.Errorf("script.Quote(%q): got %s, %v, want %s", words, got, err, want)
		}
	}
	if _, err := script.Quote([]string{"echo", "\xff"}); err == nil || !strings.Contains(err.Error(), "invalid word 2 of the command: expected text in UTF-8") {
		t.Errorf("got %v for a word that is not UTF-8", err)
	}
}

func TestQuote_length(t *testing.T) {
	if _, err := script.Quote([]string{strings.Repeat("世", script.MaxCommand)}); !errors.Is(err, script.ErrTooLong) { // with its quotes
		t.Errorf("got %v", err)
	}
	if _, err := script.Quote([]string{strings.Repeat("世", script.MaxCommand-2)}); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestWarnings(t *testing.T) {
	const pipe = "only the last command of a pipe decides whether the run succeeds: put set -o pipefail before it, which dash does not have, or write to a file"
	const job = "the run ends with its shell, which does not wait for a background job (&), and the job is killed: end with wait"
	for text, want := range map[string]string{
		"echo a\n":                                  "",
		"#!/bin/sh\necho a\n":                       "",
		"#! /usr/bin/env sh\n":                      "",
		"\n#!/usr/bin/python3\n":                    "",
		"printf 'a\rb'\n":                           "",
		"#!/usr/bin/env python3\nprint(1)\n":        "sh runs the script, although its first line requests /usr/bin/env python3",
		"#!/usr/bin/env":                            "sh runs the script, although its first line requests /usr/bin/env",
		"#!/bin/bash":                               "sh runs the script, although its first line requests /bin/bash",
		"#!/bin/sh -e\n":                            "sh runs the script, although its first line requests /bin/sh -e",
		"#!/usr/bin/env -S A=b node --x\n":          "sh runs the script, although its first line requests /usr/bin/env -S A=b node --x",
		"if true; then\r\necho a\r\nfi\r\n":         "the script has CRLF line endings, and sh treats the CR as part of the command",
		"echo a\r":                                  "the script has CRLF line endings, and sh treats the CR as part of the command",
		"pg_dump shop | gzip >/backup/shop.gz\n":    pipe,
		"pg_dump shop |\n\tgzip":                    pipe,
		"a |& b":                                    pipe,
		"set -o pipefail; a | b":                    "",
		"a || b; echo 'a | b' \"| c\" \\| # a | b":  "",
		"# don't\na\n# it's a | b\n":                "",
		"case $1 in a|b) c;; esac":                  "",
		"psql <<END\nselect a || b | c &\nEND\n":    "",
		"a >| file":                                 "",
		"nohup bin/long-import >/data/log 2>&1 &\n": job,
		"a & b":                                  job,
		"a & b & wait":                           "",
		"a && b; c &> d; e 2>&1 <&3; echo 'f &'": "",
		"pg_dump\u00a0shop >/backup/shop.sql\n":  "line 1 has a no-break space (U+00A0), which programs treat as a letter",
		"echo 'a\nb\u00a0c'\n\nls\u2003a\n":      "line 4 has a space that is not the usual one (U+2003), which programs treat as a letter",
		"psql -c “delete from carts”\n":          "line 1 has a curly quote (U+201C), which programs treat as a letter",
		"ls\\\n  –l\n":                           "line 2 has a dash that is not a hyphen (U+2013), which programs treat as a letter",
		"ls \u200b-l\n":                          "line 1 has an invisible character (U+200B), which programs treat as a letter",
		"echo 'grüße – “world”'; cat 1–2.txt\n":  "",
		"\ufeffecho a\n":                         "the script begins with a byte order mark, which sh treats as part of the first command",
	} {
		if got := strings.Join(script.Warnings(text), "; "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
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
		"sh -c a|b":                "only the last command of a pipe decides whether the run succeeds: put set -o pipefail before it, which dash does not have, or write to a file",
		"bash -o pipefail -c a|b":  "",
		"sh script a|b":            "",
		"pg_dump\u00a0shop":        "word 1 of the command has a no-break space (U+00A0), which programs treat as a letter",
		"psql —c x":                "word 2 of the command has a dash that is not a hyphen (U+2014), which programs treat as a letter",
		"A=b bin/rails":            `the program would be "A=b", because only a shell sets variables this way; use --env, or sh -c '...'`,
		"echo a|wc":                "",
		"a|b":                      `the program would be "a|b", because only a shell splits and interprets it; pass each word as an argument, or use sh -c '...'`,
	} {
		if got := strings.Join(script.WordWarnings(strings.Split(command, " ")), "; "); got != want {
			t.Errorf("%q: got %q, want %q", command, got, want)
		}
	}
	want := `the program would be "echo a | wc", because only a shell splits and interprets it; pass each word as an argument, or use sh -c '...'`
	if got := script.WordWarnings([]string{"echo a | wc"}); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWordWarnings_text(t *testing.T) {
	if got := script.WordWarnings([]string{"mail", "-s", "“done” at 5\u00a0pm"}); got != nil {
		t.Errorf("a word that was quoted: got %q", got)
	}
}

func TestSignalWarning(t *testing.T) {
	for text, warned := range map[string]bool{
		"a\nb\n": true, "echo 'exec b'\n": true, "a\nexec b\n": false, "trap 'kill $p' TERM\na & p=$!; wait\n": false,
	} {
		if got := script.SignalWarning(text); (got != "") != warned {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

// The operator splits a command into exactly the words that it was quoted from.
func FuzzQuote(f *testing.F) {
	f.Add("sh", "-c", "echo 'a' \"b\" \\ $x `y`\n")
	f.Add("a", "", "'")
	f.Fuzz(func(t *testing.T, first, second, third string) {
		words := []string{first, second, third}
		quoted, err := script.Quote(words)
		if err != nil || first == "" || strings.Contains(strings.Join(words, ""), "\x00") {
			return
		}
		if got, err := spec.SplitCommand(quoted); err != nil || !slices.Equal(got, words) {
			t.Errorf("%q splits into %q, %v\n%s", quoted, got, err, cmp.Diff(words, got))
		}
	})
}
