// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"regexp"
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
	if isCron(e.Text) {
		return fmt.Sprintf("invalid time %q: it looks like a schedule of cron, but an At runs only once, such as at \"tomorrow 02:00\"\n"+
			"for a CronJob: kubectl create cronjob NAME --image=IMAGE --schedule='MINUTE HOUR DAY MONTH WEEKDAY' -- COMMAND", short(e.Text))
	}
	text := fmt.Sprintf("invalid time %q: expected %s", short(e.Text), e.Expected)
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

// cronField is a minute or an hour of cron.
var cronField = regexp.MustCompile(`^[*0-9][-*0-9,/]*$`)

// isCron reports whether a text that is not a time looks like a schedule of cron. A shell may have replaced its
// asterisks by the names of files.
func isCron(text string) bool {
	fields := strings.Fields(text)
	return strings.HasPrefix(text, "@") || len(fields) >= 5 && cronField.MatchString(fields[0]) && cronField.MatchString(fields[1]) && scan(fields[2])[0].kind != word
}

// short returns the beginning of a text that a shell may have made long.
func short(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:57]) + "..."
	}
	return text
}

// IsWord reports whether a word begins as a word or a number of this language does.
func IsWord(text string) bool { return len(text) > 0 && scan(text)[0].kind != unknown }

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
