// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"regexp"
	"strings"
)

// block is an indented or fenced block of a page.
type block struct {
	line   int    // where it begins, from 1
	marker string // the text of the comment <!-- commands: TEXT --> above it, or none
	before string // the last line of text above it
	yaml   bool
	text   string
}

var markerComment = regexp.MustCompile(`^<!-- commands: (.*) -->$`)

// blocks returns the blocks of a page in Markdown. An indented block follows an empty line and is not part of a list.
func blocks(page string) []block {
	var found []block
	var marker, before string
	lines := strings.Split(page, "\n")
	for n := 0; n < len(lines); n++ {
		line := lines[n]
		switch {
		case strings.HasPrefix(line, "```"):
			b := block{line: n + 1, marker: marker, before: before, yaml: strings.TrimPrefix(line, "```") == "yaml"}
			for n++; n < len(lines) && !strings.HasPrefix(lines[n], "```"); n++ {
				b.text += lines[n] + "\n"
			}
			found, marker = append(found, b), ""
		case strings.HasPrefix(line, "    ") && (n == 0 || lines[n-1] == ""):
			b := block{line: n + 1, marker: marker, before: before}
			for ; n < len(lines) && (strings.HasPrefix(lines[n], "    ") || (lines[n] == "" && n+1 < len(lines) && strings.HasPrefix(lines[n+1], "    "))); n++ {
				b.text += strings.TrimPrefix(lines[n], "    ") + "\n"
			}
			n--
			found, marker = append(found, b), ""
		case markerComment.MatchString(line):
			marker = markerComment.FindStringSubmatch(line)[1]
		case line != "":
			before = line
		}
	}
	return found
}
