// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package atspec

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxCommand is the maximum length of spec.command, in characters.
const MaxCommand = 32768

// plainWord is a word that needs no quotes in spec.command.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./^~{}\[\]-]+$`)

// QuoteCommand returns the command that splits into exactly these words.
func QuoteCommand(words []string) (string, error) {
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

// ScriptWarnings returns warnings about a script that sh runs.
func ScriptWarnings(script string) []string {
	var warnings []string
	if text, ok := strings.CutPrefix(script, "\ufeff"); ok {
		warnings = append(warnings, "the script begins with a byte order mark, which sh treats as part of the first command")
		script = text
	}
	first, _, _ := strings.Cut(script, "\n")
	if line, ok := strings.CutPrefix(strings.TrimSpace(first), "#!"); ok {
		if program, arguments := interpreter(line); program != "sh" || len(arguments) > 0 {
			warnings = append(warnings, fmt.Sprintf("sh runs the script, although its first line requests %s", strings.TrimSpace(line)))
		}
	}
	if strings.Contains(script, "\r\n") || strings.HasSuffix(script, "\r") {
		warnings = append(warnings, "the script has CRLF line endings, and sh treats the CR as part of the command")
	}
	return warnings
}

// interpreter returns the program in a line that begins with #!, and its arguments. For env, it returns the program that env runs.
func interpreter(line string) (program string, arguments []string) {
	words := strings.Fields(line)
	if len(words) > 0 && path.Base(words[0]) == "env" {
		words = words[1:]
		for len(words) > 0 && (words[0] == "-S" || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return "", nil
	}
	return path.Base(words[0]), words[1:]
}

var (
	assignment  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	shellSyntax = regexp.MustCompile(`[|&;<>$]|\s`)
)

// WordWarnings returns warnings about words that look as if a shell ran them.
func WordWarnings(words []string) []string {
	first := words[0]
	if slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(first)) && len(words) > 1 {
		return nil
	}
	if assignment.MatchString(first) {
		return []string{fmt.Sprintf("the program would be %q, because only a shell sets variables this way; use --env, or sh -c '...'", first)}
	}
	if len(words) == 1 && shellSyntax.MatchString(first) {
		return []string{fmt.Sprintf("the program would be %q, because only a shell splits and interprets it; pass each word as an argument, or use sh -c '...'", first)}
	}
	if warning := ShellWarning(words); warning != "" {
		return []string{warning}
	}
	return nil
}
