// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"regexp"
	"slices"
	"strings"
)

// block is an indented or fenced block of a page.
type block struct {
	line     int    // where it begins, from 1
	marker   string // the text of the comment <!-- commands: TEXT --> above it, or none
	before   string // the last line of text above it
	language string // the text after the fence, or none
	text     string
}

// A marker is `demo`, `demo, except COMMAND (REASON)`, or `checked (REASON)`. The exception can be repeated.
var (
	markerComment = regexp.MustCompile(`^ *<!-- commands: (.*) -->$`)
	demoMarker    = regexp.MustCompile(`^demo(?:, except [^()]+ \([^()]+\))*$`)
	exception     = regexp.MustCompile(`, except ([^()]+) \(`)
	checkedMarker = regexp.MustCompile(`^checked \(.+\)$`)
)

// hasCommands is false for YAML, for other program text, and for output, whose fences have a language.
func (b block) hasCommands() bool {
	return slices.Contains([]string{"", "bash", "console", "sh", "shell"}, b.language)
}

func (b block) isYAML() bool { return b.language == "yaml" }

// isExecuted reports whether a test runs the commands, or applies the YAML.
func (b block) isExecuted() bool { return demoMarker.MatchString(b.marker) }

// script returns the commands without the exceptions of the marker, and the exceptions that match no command.
func (b block) script() (commands string, unused []string) {
	for _, match := range exception.FindAllStringSubmatch(b.marker, -1) {
		unused = append(unused, match[1])
	}
	excepted := slices.Clone(unused)
	for line := range strings.Lines(b.text) {
		n := slices.IndexFunc(excepted, func(command string) bool { return strings.HasPrefix(strings.TrimSpace(line), command) })
		if n < 0 {
			commands += line
			continue
		}
		unused = slices.DeleteFunc(unused, func(command string) bool { return command == excepted[n] })
	}
	return commands, unused
}

// problem returns the problem with the marker, or "" if there is none.
func (b block) problem() string {
	commands, unused := b.script()
	switch {
	case b.isYAML() && b.marker == "demo", !b.hasCommands() && b.marker == "":
		return ""
	case !b.hasCommands():
		return "a comment about commands is above a block without commands"
	case !b.isExecuted() && !checkedMarker.MatchString(b.marker):
		return "no comment says whether the commands are executed, or why not"
	case b.isExecuted() && len(unused) > 0:
		return "no command begins with " + strings.Join(unused, " or ")
	case b.isExecuted() && strings.TrimSpace(commands) == "":
		return "every command is excepted: write checked (REASON)"
	}
	return ""
}

// Manifests returns the YAML documents of a page in Markdown.
func Manifests(page string) []string {
	var documents []string
	for _, b := range blocks(page) {
		if b.isYAML() {
			documents = append(documents, strings.Split(b.text, "\n---\n")...)
		}
	}
	return documents
}

// blocks returns the blocks of a page in Markdown. An indented block follows an empty line.
func blocks(page string) []block {
	var found []block
	var marker, before string
	lines := strings.Split(page, "\n")
	for n := 0; n < len(lines); n++ {
		line := lines[n]
		switch {
		case strings.HasPrefix(line, "```"):
			b := block{line: n + 1, marker: marker, before: before, language: strings.TrimPrefix(line, "```")}
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
			before, marker = line, "" // A marker is directly above its block.
		}
	}
	return found
}
