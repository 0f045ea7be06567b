// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The grammar of spec.command in two regular expressions: quoting is regular. The CRD carries the same texts in CEL
// rules. Characters that need quoting somewhere on the way are written as \x5c (backslash), \x27 and \x22 (quotes),
// \x09 \x0a \x20 (blanks), \x00 (NUL).
const (
	// CommandQuotingPattern matches what has every quote closed, a character behind every backslash, and no NUL.
	CommandQuotingPattern = `^(?:[^\x5c\x27\x22\x00]|\x5c[^\x00]|\x27[^\x27\x00]*\x27|\x22(?:[^\x22\x5c\x00]|\x5c[^\x00])*\x22)*$`
	// CommandProgramPattern matches, among those, what has a first word that is not empty.
	CommandProgramPattern = `^(?:[\x09\x0a\x20]|\x5c\x0a)*(?:\x27\x27|\x22(?:\x5c\x0a)*\x22|\x5c\x0a)*` +
		`(?:[^\x5c\x27\x22\x09\x0a\x20]|\x5c[^\x0a]|\x27[^\x27]|\x22(?:\x5c\x0a)*(?:[^\x22\x5c]|\x5c[^\x0a]))`
)

// What the CRD says of a command outside of the two patterns. SplitCommand is more exact: it names the position.
const (
	CommandQuotingMessage = "command must close every quote, end without a lone backslash and hold no NUL character: " +
		`to pass a quote or a backslash itself, put a backslash before it`
	CommandProgramMessage = "command must begin with the program to run: its first word is missing or empty"
)

// SplitCommand returns the words of a command, at least one and the first not empty. It splits as a shell does
// (POSIX.1-2017, Shell Command Language, 2.2 Quoting and 2.6.5 Field Splitting with the default IFS) and nothing else
// of a shell happens: no expansion, no comments, no operators; $, *, #, ; and | are characters like any other. A
// backslash before a newline continues the line. The error names the character, counted from 1, and the remedy.
func SplitCommand(command string) ([]string, error) {
	if i := strings.IndexByte(command, 0); i >= 0 {
		return nil, fmt.Errorf("character %d is NUL, which no argument of a program can hold: remove it", position(command, i))
	}
	var (
		words  []string
		word   strings.Builder
		inWord bool // apart from word's length, since '' is a word
	)
	endWord := func() {
		if inWord {
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	// Bytes, not runes: what is special is ASCII, and no byte of a longer UTF-8 sequence looks like ASCII.
	for i := 0; i < len(command); i++ {
		switch c := command[i]; c {
		case ' ', '\t', '\n':
			endWord()
		case '\\':
			if i++; i == len(command) {
				return nil, fmt.Errorf("character %d is a backslash with nothing behind it: remove it, or write \\\\ for a backslash itself",
					position(command, i-1))
			}
			if command[i] != '\n' {
				word.WriteByte(command[i])
				inWord = true
			}
		case '\'', '"':
			length := quoted(command[i:], &word)
			if length == 0 {
				return nil, fmt.Errorf("the quote %c at character %d is never closed: close it, or write \\%c for the character itself",
					c, position(command, i), c)
			}
			i += length - 1
			inWord = true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endWord()
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New(CommandProgramMessage)
	}
	return words, nil
}

// quoted adds to word what the quotes at the start of s hold. It returns the length of it in s, quotes included, or 0
// when the quote is never closed.
func quoted(s string, word *strings.Builder) int {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i + 1
		case quote == '"' && s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0:
			// Before any other character, a backslash inside double quotes is itself.
			if i++; s[i] != '\n' {
				word.WriteByte(s[i])
			}
		default:
			word.WriteByte(s[i])
		}
	}
	return 0
}

// position counts the characters up to and with the one at byte i.
func position(s string, i int) int {
	return utf8.RuneCountInString(s[:i]) + 1
}

// containerCommand returns words as a container's command that comes to exactly these words: Kubernetes replaces
// $(NAME) by the environment variable of that name, and $$ by $.
func containerCommand(words []string) []string {
	command := make([]string, len(words))
	for i, word := range words {
		command[i] = strings.ReplaceAll(word, "$", "$$")
	}
	return command
}
