// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import "testing"

// A comment above each block of commands says that a test executes it, or why not. Blocks of output and of program text name a language.
func TestBlocksSayWhichCommandsAreExecuted(t *testing.T) {
	executed := 0
	for _, page := range pages(t) {
		for _, b := range blocks(string(read(t, page))) {
			if problem := b.problem(); problem != "" {
				t.Errorf("%s:%d: %s", page, b.line, problem)
			}
			if b.isExecuted() {
				executed++
			}
		}
	}
	if executed < 30 {
		t.Errorf("only %d blocks are executed", executed)
	}
}

func TestPlantedMistakesInMarkersAreFound(t *testing.T) {
	for comment, want := range map[string]bool{
		"demo":                                 true,
		"demo, except b (never ends)":          true,
		"demo, except a (one), except b (two)": false, // Nothing remains.
		"demo, except c (no such command)":     false,
		"demo, except b":                       false,
		"demo, except b ()":                    false,
		"demos":                                false,
		"checked (no cluster)":                 true,
		"checked":                              false,
		"checked ()":                           false,
		"checked no cluster":                   false,
		"":                                     false,
	} {
		page := "text\n\n<!-- commands: " + comment + " -->\n\n    a --flag\n    b\n"
		found := blocks(page)
		if len(found) != 1 || (found[0].problem() == "") != want {
			t.Errorf("%q: %+v", comment, found)
		}
	}
	for page, want := range map[string]bool{
		"    a\n": false,
		"<!-- commands: demo -->\n\ntext\n\n    a\n":          false, // The comment is not directly above the block.
		"1. text\n\n   <!-- commands: demo -->\n\n       a\n": true,
		"```\na\n```\n":     false,
		"```sh\na\n```\n":   false,
		"```text\na\n```\n": true,
		"<!-- commands: demo -->\n\n```text\na\n```\n":           false,
		"```yaml\na: b\n```\n":                                   true,
		"<!-- commands: demo -->\n\n```yaml\na: b\n```\n":        true,
		"<!-- commands: checked (x) -->\n\n```yaml\na: b\n```\n": false,
	} {
		found := blocks(page)
		if len(found) != 1 || (found[0].problem() == "") != want {
			t.Errorf("%q: %+v", page, found)
		}
	}
	commands, _ := block{marker: "demo, except a (x)", text: "a --flag\nb\n"}.script()
	if commands != "b\n" {
		t.Errorf("executed: %q", commands)
	}
}
