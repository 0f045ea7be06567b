// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command covercheck fails if a coverage profile contains a statement that no test reaches and no comment exempts.
//
// A block that tests cannot reach contains a comment with the reason: `// not covered: REASON`.
package main

import (
	"fmt"
	"os"
	"strings"
)

const (
	module = "github.com/redhat/podset-operator/"
	excuse = "// not covered: "
)

// block is a sequence of statements in a file of this module, with its first and last lines and columns.
type block struct {
	file                                         string
	firstLine, firstColumn, lastLine, lastColumn int
}

func main() {
	missed, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "covercheck:", err)
		os.Exit(1)
	}
	for _, b := range missed {
		fmt.Fprintf(os.Stderr, "%s:%d: lines %d to %d have neither a test nor a comment %q\n", b.file, b.firstLine, b.firstLine, b.lastLine, excuse+"REASON")
	}
	if len(missed) > 0 {
		os.Exit(1)
	}
}

// check returns the blocks of a profile that are neither covered nor exempt.
func check(profile string) ([]block, error) {
	blocks, runs, err := read(profile)
	if err != nil {
		return nil, err
	}
	var missed []block
	for _, b := range blocks {
		if runs[b] > 0 {
			continue
		}
		source, err := os.ReadFile(b.file)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(source), "\n")[b.firstLine-1 : b.lastLine]
		if !strings.Contains(strings.Join(lines, "\n"), excuse) {
			missed = append(missed, b)
		}
	}
	return missed, nil
}

// read returns the blocks of a profile in order, and how often each ran. Each test binary writes its own line for a block, and read
// adds up the counts.
func read(profile string) ([]block, map[block]int, error) {
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, nil, err
	}
	var blocks []block
	runs := map[block]int{}
	for line := range strings.Lines(string(text)) {
		position, found := strings.CutPrefix(line, module)
		if !found {
			continue // the first line, the mode
		}
		var b block
		var statements, count int
		b.file, position, _ = strings.Cut(position, ":")
		if _, err := fmt.Sscanf(position, "%d.%d,%d.%d %d %d", &b.firstLine, &b.firstColumn, &b.lastLine, &b.lastColumn, &statements, &count); err != nil {
			return nil, nil, fmt.Errorf("%s: %q: %w", profile, line, err)
		}
		if _, seen := runs[b]; !seen {
			blocks = append(blocks, b)
		}
		runs[b] += count
	}
	return blocks, runs, nil
}
