// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"strings"
	"time"
)

// Examples are time specifications that show the language, for messages and help.
const Examples = `"23:30", "tomorrow 02:00", "now + 2 hours", "4pm next monday", "noon Nov 28", "2026-11-22T02:00:00+01:00"`

// SyntaxError is about words that are not a time.
type SyntaxError struct {
	// Text is the words, joined by blanks.
	Text string
	// Offset is where the parser stopped, in bytes of Text.
	Offset int
	// Complete is true if the text before Offset is a complete time.
	Complete bool
	// Expected is what could follow there, such as "a date or a step such as + 2 hours".
	Expected string
	// Remedy is the correct spelling of the text there, or "" if that is not known.
	Remedy string
}

func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("invalid time %q: expected %s", e.Text, e.Expected)
	if rest := e.Text[e.Offset:]; rest != "" {
		text += fmt.Sprintf(" at %q", firstWord(rest))
	} else {
		text += " at its end"
	}
	switch {
	case e.Remedy != "":
		text += "; " + e.Remedy
	case e.Offset == 0:
		text += "; examples: " + Examples
	}
	return text
}

// expected returns an error about the token i places ahead.
func (p *parser) expected(i int, what string) *SyntaxError {
	t := p.peek(i)
	offset := len(p.text)
	if t.kind != end {
		offset = t.at
	}
	return &SyntaxError{Text: p.text, Offset: offset, Expected: what, Remedy: p.remedy(p.text[offset:])}
}

// remedy returns the correct spelling of the beginning of the remaining text, or "" if that is not known.
func (p *parser) remedy(rest string) string {
	if rest == "" {
		return ""
	}
	word := firstWord(rest)
	switch word {
	case "at", "on":
		return fmt.Sprintf("leave out %q", word)
	case "batch":
		return `use "now"`
	}
	if relative := "now + " + p.text; !p.isRelative && (&parser{text: relative, tokens: scan(relative)}).parse() == nil {
		return fmt.Sprintf("use %q", relative)
	}
	if stampPattern.MatchString(p.text) {
		return "use -t " + p.text
	}
	if _, err := time.LoadLocation(word); err == nil && strings.Contains(word, "/") {
		return "use --tz " + word
	}
	return ""
}

// unexpected returns the error about the next token, which is invalid here.
func (p *parser) unexpected() error {
	s := &p.spec
	what := "a step such as + 2 hours"
	switch isOpen := !p.isRelative && len(s.steps) == 0; {
	case isOpen && !s.hasTime && s.date == nil:
		what = "a time of day, a date, or " + what
	case isOpen && !s.hasTime:
		what = "a time of day or " + what
	case isOpen && s.date == nil:
		what = "a date or " + what
	}
	err := p.expected(0, what)
	err.Complete = err.Offset > 0
	return err
}
