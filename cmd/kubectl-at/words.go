// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// plainWord is a word that needs no quotes in spec.command.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./^~{}\[\]-]+$`)

// quoteWords returns the command that splits into exactly these words.
func quoteWords(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, word := range words {
		switch {
		case !utf8.ValidString(word):
			return "", fmt.Errorf("the argument %q is not valid UTF-8, which an At cannot hold", word)
		case plainWord.MatchString(word):
			quoted[i] = word
		default:
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " "), nil
}

// readScript returns what the reader holds. No script is given if it is a terminal or /dev/null.
func readScript(in io.Reader) (script string, given bool, err error) {
	if file, ok := in.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return "", false, nil
		}
	}
	if in == nil {
		return "", false, nil
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return "", false, fmt.Errorf("reading the script from standard input: %w", err)
	}
	return string(data), true, nil
}
