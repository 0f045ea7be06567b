// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package atspec_test

import (
	"errors"
	"strings"
	"testing"

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
		"#!/usr/bin/env python3\nprint(1)\n": "sh runs the script, not /usr/bin/env python3 as its first line says",
		"#!/usr/bin/env":                     "sh runs the script, not /usr/bin/env as its first line says",
		"#!/bin/bash":                        "sh runs the script, not /bin/bash as its first line says",
		"#!/bin/sh -e\n":                     "sh runs the script, not /bin/sh -e as its first line says",
		"#!/usr/bin/env -S A=b node --x\n":   "sh runs the script, not /usr/bin/env -S A=b node --x as its first line says",
		"if true; then\r\necho a\r\nfi\r\n":  "lines of the script end in CRLF, and sh takes the CR for a part of the command",
		"echo a\r":                           "lines of the script end in CRLF, and sh takes the CR for a part of the command",
		"\ufeffecho a\n":                     "the script begins with a byte order mark, which sh takes for a part of the first command",
	} {
		if got := strings.Join(atspec.ScriptWarnings(script), "; "); got != want {
			t.Errorf("%q: got %q, want %q", script, got, want)
		}
	}
}
