// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package script turns the words or the script of a user into spec.command, and warns about what a shell, or its
// absence, makes of them. It is pure.
package script

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redhat/podset-operator/internal/at/spec"
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

// Warnings returns warnings about a script that sh runs.
func Warnings(script string) []string {
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
	return append(warnings, textWarnings(script)...)
}

// interpreter returns the program in a line that begins with #!, and its arguments. For env, it returns the program
// that env runs.
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
	quotedOrComment = regexp.MustCompile(`(?s)\\.|'[^']*'|"(?:\\.|[^"\\])*"|(?m:(?:^|[\s;])#[^\n]*)`)
	pipe            = regexp.MustCompile(`[^|>]\|&?[^|]`)
	background      = regexp.MustCompile(`[^&<>|]&(?:[^&>]|$)`)
	waits           = regexp.MustCompile(`\bwait\b`)
	passesSignals   = regexp.MustCompile(`\b(?:exec|trap)\b`)
)

// unquoted returns a script with the same lines, but without comments, and with an underscore in place of each quoted
// text. So all of it means something to a shell.
func unquoted(script string) string {
	return quotedOrComment.ReplaceAllStringFunc(script, func(match string) string {
		lines := strings.Repeat("\n", strings.Count(match, "\n"))
		switch {
		case match == "\\\n":
			return " \n"
		case strings.ContainsAny(match[:1], `\'"`):
			return "_" + lines
		}
		return lines
	})
}

// textWarnings returns warnings about a text that a shell interprets. The body of a here-document and the patterns of
// case are not a part of a pipe or of a list of commands.
func textWarnings(script string) []string {
	var warnings []string
	text := unquoted(script)
	for n, line := range strings.Split(text, "\n") {
		if found := lookalike(line); found != "" {
			warnings = append(warnings, fmt.Sprintf("line %d has %s", n+1, found))
			break
		}
	}
	if strings.Contains(text, "<<") || strings.Contains(text, "esac") {
		return warnings
	}
	if pipe.MatchString(text) && !strings.Contains(text, "pipefail") {
		warnings = append(warnings, "only the last command of a pipe decides whether the run succeeds: put set -o pipefail before it, which dash does not have, or write to a file")
	}
	if background.MatchString(text) && !waits.MatchString(text) {
		warnings = append(warnings, "the run ends with its shell, which does not wait for a background job (&), and the job is killed: end with wait")
	}
	return warnings
}

// SignalWarning returns a warning about a script whose programs do not get SIGTERM, or "" if the script deals with it.
func SignalWarning(script string) string {
	if passesSignals.MatchString(unquoted(script)) {
		return ""
	}
	return "at the deadline, SIGTERM does not reach the programs of the script, because sh is process 1 and does not pass it on: run the last one with exec, or set a trap"
}

// lookalike returns which character of an unquoted text looks like one that a shell knows, or is invisible, or "" if
// there is none. Texts from web pages and chats have them.
func lookalike(text string) string {
	before := ' '
	for _, r := range text {
		what := ""
		switch {
		case r == '\u00a0' || r == '\u202f':
			what = "a no-break space"
		case unicode.Is(unicode.Zs, r) && r != ' ':
			what = "a space that is not the usual one"
		case strings.ContainsRune("“”„‘’‚", r):
			what = "a curly quote"
		case strings.ContainsRune("‐‑–—−", r) && (before == ' ' || before == '\t'):
			what = "a dash that is not a hyphen"
		case unicode.Is(unicode.Cf, r):
			what = "an invisible character"
		}
		if what != "" {
			return fmt.Sprintf("%s (%U), which programs treat as a letter", what, r)
		}
		before = r
	}
	return ""
}

var (
	shells      = []string{"sh", "bash", "dash", "ash", "ksh", "zsh"}
	assignment  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	shellSyntax = regexp.MustCompile(`[|&;<>$]|\s`)
)

// WordWarnings returns warnings about words that look as if a shell ran them, and about the script of a shell that they
// run.
func WordWarnings(words []string) []string {
	first := words[0]
	isScript := func(word string) bool { return strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c") }
	if slices.Contains(shells, path.Base(first)) && len(words) > 1 {
		if i := slices.IndexFunc(words, isScript); i > 0 && i+1 < len(words) && !slices.Contains(words[:i], "pipefail") {
			return textWarnings(words[i+1])
		}
		return nil
	}
	for i, word := range words {
		if found := lookalike(word); found != "" && !strings.ContainsAny(word, " \t\n") { // Otherwise the word is a text.
			return []string{fmt.Sprintf("word %d of the command has %s", i+1, found)}
		}
	}
	if assignment.MatchString(first) {
		return []string{fmt.Sprintf("the program would be %q, because only a shell sets variables this way; use --env, or sh -c '...'", first)}
	}
	if len(words) == 1 && shellSyntax.MatchString(first) {
		return []string{fmt.Sprintf("the program would be %q, because only a shell splits and interprets it; pass each word as an argument, or use sh -c '...'", first)}
	}
	if warning := spec.ShellWarning(words); warning != "" {
		return []string{warning}
	}
	return nil
}
