// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// CommandWords returns the words of spec.command, or nil if the template has the command.
func CommandWords(spec *cnatv1alpha1.AtSpec) ([]string, error) {
	if spec.Command == "" && spec.Template != nil {
		return nil, nil
	}
	return SplitCommand(spec.Command)
}

// SplitCommand returns the words of a command: at least one, and the first is not empty. It splits as a shell does
// (POSIX.1-2017, Shell Command Language, 2.2 Quoting and 2.6.5 Field Splitting with the default IFS), without
// expansion, comments, or operators: $, *, #, ; and | are ordinary characters. A backslash before a newline continues
// the line. An error contains the position of the character, counted from 1, and the remedy.
func SplitCommand(command string) ([]string, error) {
	words, _, err := splitCommand(command)
	return words, err
}

// splitCommand also returns which words were unquoted: plain has those words, and "" for the others.
func splitCommand(command string) (words, plain []string, err error) {
	if i := strings.IndexByte(command, 0); i >= 0 {
		return nil, nil, fmt.Errorf("character %d is NUL, which a program argument cannot contain: remove it", position(command, i))
	}
	var (
		word     strings.Builder
		inWord   bool // not the length of word: '' is a word
		isQuoted bool
	)
	endWord := func() {
		if inWord {
			words, plain = append(words, word.String()), append(plain, word.String())
			if isQuoted {
				plain[len(plain)-1] = ""
			}
			word.Reset()
			inWord, isQuoted = false, false
		}
	}
	// Bytes are sufficient: all special characters are ASCII, and no byte of a multibyte UTF-8 sequence is ASCII.
	for i := 0; i < len(command); i++ {
		switch c := command[i]; c {
		case ' ', '\t', '\n':
			endWord()
		case '\\':
			if i++; i == len(command) {
				return nil, nil, fmt.Errorf("character %d is a backslash with nothing after it: remove it, or write \\\\ for a backslash itself",
					position(command, i-1))
			}
			if command[i] != '\n' {
				word.WriteByte(command[i])
				inWord, isQuoted = true, true
			}
		case '\'', '"':
			length := quoted(command[i:], &word)
			if length == 0 {
				return nil, nil, fmt.Errorf("the quote %c at character %d is never closed: close it, or write \\%c for the character itself",
					c, position(command, i), c)
			}
			i += length - 1
			inWord, isQuoted = true, true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endWord()
	if len(words) == 0 || words[0] == "" {
		return nil, nil, errors.New("the first word is missing or empty: begin with the program to run")
	}
	return words, plain, nil
}

// quoted appends the text between the quotes at the start of s to word. It returns the length of the text in s
// including the quotes, or 0 if the quote is never closed.
func quoted(s string, word *strings.Builder) int {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i + 1
		case quote == '"' && s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0:
			// A backslash inside double quotes is literal before any other character.
			if i++; s[i] != '\n' {
				word.WriteByte(s[i])
			}
		default:
			word.WriteByte(s[i])
		}
	}
	return 0
}

// position returns the number of the character at byte i, from 1.
func position(s string, i int) int {
	return utf8.RuneCountInString(s[:i]) + 1
}

// ContainerCommand returns the command of a container that runs exactly these words. Kubernetes replaces $(NAME) with the environment
// variable of that name, and $$ with $.
func ContainerCommand(words []string) []string {
	command := make([]string, len(words))
	for i, word := range words {
		command[i] = strings.ReplaceAll(word, "$", "$$")
	}
	return command
}
