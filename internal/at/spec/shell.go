// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
)

// shellOperators are words that only a shell interprets.
var shellOperators = []string{"|", "||", "|&", "&", "&&", ";", ">", ">>", "<", "<<", "<<<", "2>", "2>>", "2>&1", "&>", ">&2"}

// ShellWarning returns a warning about the first of the words that is a shell operator, or "" if there is none. find(1)
// needs the word ; after -exec.
func ShellWarning(words []string) string {
	isExec := func(word string) bool { return slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, word) }
	for i, word := range words {
		if slices.Contains(shellOperators, word) && (word != ";" || !slices.ContainsFunc(words[:i], isExec)) {
			return fmt.Sprintf("the command receives the word %q as is, because it does not run in a shell; for a shell, use sh -c '...'", word)
		}
	}
	return ""
}

// CommandWarning returns a warning about the first unquoted word of spec.command that is a shell operator, or "" if
// there is none. A user who quotes an operator means the word.
func CommandWarning(command string) string {
	_, plain, _ := splitCommand(command) // A condition reports an error.
	return ShellWarning(plain)
}
