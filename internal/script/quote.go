// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package script turns the words or the script of a user into spec.command, and warns about what a shell, or its absence, makes of them. It
// is pure.
package script

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxCommand is the maximum length of spec.command, in characters.
const MaxCommand = 32768

// plainWord is a word that needs no quotes in spec.command.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./^~{}\[\]-]+$`)

// Quote returns the command that splits into exactly these words.
func Quote(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, word := range words {
		switch {
		case !utf8.ValidString(word) || strings.Contains(word, "\x00"):
			return "", fmt.Errorf("invalid word %d of the command: expected text in UTF-8", i+1)
		case plainWord.MatchString(word):
			quoted[i] = word
		default:
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	command := strings.Join(quoted, " ")
	if utf8.RuneCountInString(command) > MaxCommand {
		return "", ErrTooLong
	}
	return command, nil
}

// ErrTooLong is the error about a command that is too long for spec.command.
var ErrTooLong = fmt.Errorf("invalid command: must be at most %d characters, including quotes; put a script into the image or into a ConfigMap", MaxCommand)
