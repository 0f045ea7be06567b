// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// makeTargets returns the targets of the Makefile and of hack/make.
func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	targets := map[string]bool{}
	for _, file := range glob(t, "Makefile", "hack/make/*.mk") {
		for _, match := range regexp.MustCompile(`(?m)^\.PHONY: (\S+)`).FindAllStringSubmatch(string(read(t, file)), -1) {
			targets[match[1]] = true
		}
	}
	return targets
}

var (
	comment   = regexp.MustCompile(`(?:^|\s)#.*$`)
	quoted    = regexp.MustCompile(`='[^']*'`)
	makeCall  = regexp.MustCompile(`(?:^|[\s$(;&|])make((?: +[^\s|;&#]+)*)`)
	scriptRun = regexp.MustCompile(`(?:^|[\s;&|])((?:hack|\.ci)/[\w./-]+)`)
	fileFlag  = regexp.MustCompile(`(?:\s)(?:-f|-k) +((?:config|dist|catalog|bundle|docs|examples|charts)/[\w./-]+)`)
)

// problemsOf returns the problems of one command line: a make target, a script, or a manifest that does not exist.
func problemsOf(line string, targets map[string]bool) []string {
	var problems []string
	line = quoted.ReplaceAllString(comment.ReplaceAllString(line, ""), "=")
	for _, call := range makeCall.FindAllStringSubmatch(line, -1) {
		for word := range strings.FieldsSeq(call[1]) {
			if strings.HasPrefix(word, "-") || strings.Contains(word, "=") || strings.ContainsAny(word, "'\"`$\\") {
				continue
			}
			if !targets[word] && !strings.HasPrefix(word, "bin/") {
				problems = append(problems, "there is no make target "+word+": "+line)
			}
		}
	}
	for _, pattern := range []*regexp.Regexp{scriptRun, fileFlag} {
		for _, match := range pattern.FindAllStringSubmatch(line, -1) {
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil && !strings.HasPrefix(match[1], "dist/") {
				problems = append(problems, "there is no "+match[1]+": "+line)
			}
		}
	}
	return problems
}
