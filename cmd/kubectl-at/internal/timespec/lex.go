// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"regexp"
	"strings"
)

// kind is what a token is.
type kind int

const (
	end        kind = iota // after the last token
	word                   // a keyword; value is its number among those of its class
	number                 // digits
	clockTime              // HH:MM or HH:MM:SS
	hyphenDate             // YYYY-MM-DD
	dottedDate             // DD.MM.YYYY
	symbol                 // one of + - , /
	unknown                // anything else, up to the next blank
)

// token is a piece of the text: text as written, in lower case unless it is unknown, where it begins, and its parts.
type token struct {
	kind  kind
	text  string
	at    int      // its offset in the text, in bytes
	parts []string // the numbers of clockTime, hyphenDate, and dottedDate
	word  keyword  // of a word
}

// class is the role of a keyword.
type class int

const (
	other class = iota // a keyword with one meaning, identified by its name
	weekdayName
	monthName
	unitName
)

// keyword is what a word means. Its value is a time.Weekday, a time.Month, or a unit.
type keyword struct {
	class class
	name  string
	value int
}

// keywords are the words by every spelling. They need no blank between them.
var keywords = makeKeywords()

// shortUnits are spellings of units that are not keywords, because they are only understood alone.
var shortUnits = map[string]string{
	"s": "second", "sec": "second", "secs": "second", "m": "minute", "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour",
	"d": "day", "w": "week", "y": "year",
}

func makeKeywords() map[string]keyword {
	words := map[string]keyword{}
	for _, name := range strings.Fields("now in am pm noon midnight teatime utc today tonight tomorrow next") {
		words[name] = keyword{class: other, name: name}
	}
	for i, name := range strings.Fields("sunday monday tuesday wednesday thursday friday saturday") {
		words[name] = keyword{class: weekdayName, name: name, value: i}
		words[name[:3]] = words[name]
	}
	for i, name := range strings.Fields("january february march april may june july august september october november december") {
		words[name] = keyword{class: monthName, name: name, value: i + 1}
		words[name[:3]] = words[name]
	}
	for i, name := range strings.Fields("second minute hour day week month year") {
		words[name] = keyword{class: unitName, name: name, value: i}
		words[name+"s"] = words[name]
	}
	words["min"] = words["minute"]
	words["gmt"], words["z"] = words["utc"], words["utc"]
	return words
}

// numeric are the tokens that begin with a digit. The longest match is taken; the group is the token. No token ends
// between two digits, so 2026-11-211 is not the date 2026-11-21 followed by 1.
var numeric = []struct {
	kind    kind
	pattern *regexp.Regexp
}{
	{hyphenDate, regexp.MustCompile(`^(([0-9]{2}|[0-9]{4})-([0-9]{1,2})-([0-9]{1,2}))(?:[^0-9]|$)`)},
	{dottedDate, regexp.MustCompile(`^(([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4}|[0-9]{2}))(?:[^0-9]|$)`)},
	{clockTime, regexp.MustCompile(`^(([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?)(?:[^0-9]|$)`)},
	{clockTime, regexp.MustCompile(`^(([0-9]{1,2})[:'hH,.]([0-9]{2}))(?:[^0-9]|$)`)},
	{clockTime, regexp.MustCompile(`^(([0-9]{1,2}):([0-9]))(?:[^0-9]|$)`)},
	{number, regexp.MustCompile(`^([0-9]+)`)},
}

var (
	letters = regexp.MustCompile(`^[a-zA-Z]+`)
	// isoTime is a time behind the T of ISO 8601.
	isoTime = regexp.MustCompile(`^[tT](([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]+))?)?)?)(?:[^0-9]|$)`)
)

func scan(text string) []token {
	var tokens []token
	trim := func(s string) string { return strings.TrimLeft(s, " \t\r\n") }
	for rest := trim(text); rest != ""; rest = trim(rest) {
		next, length := scanNext(rest)
		at := len(text) - len(rest)
		for i := range next {
			next[i].at = at
			at += len(next[i].text)
		}
		tokens, rest = append(tokens, next...), rest[length:]
		if last := next[len(next)-1]; last.kind == hyphenDate || last.kind == number && len(last.text) == 8 {
			if match := isoTime.FindStringSubmatch(rest); match != nil {
				tokens = append(tokens, token{kind: clockTime, text: match[1], at: at + 1, parts: match[2:]})
				rest = rest[1+len(match[1]):]
			}
		}
	}
	return tokens
}

// scanNext returns the tokens that s begins with, one unless they are words without a blank between them, and their
// length.
func scanNext(s string) ([]token, int) {
	switch {
	case '0' <= s[0] && s[0] <= '9':
		next := scanNumeric(s)
		return []token{next}, len(next.text)
	case strings.IndexByte("+-,/", s[0]) >= 0:
		return []token{{kind: symbol, text: s[:1]}}, 1
	}
	run := letters.FindString(s)
	if words, ok := splitWords(strings.ToLower(run)); ok {
		return words, len(run)
	}
	first := firstWord(s)
	return []token{{kind: unknown, text: first}}, len(first)
}

// scanNumeric returns the longest token at the start of s, which is a digit.
func scanNumeric(s string) token {
	var longest token
	for _, n := range numeric {
		if match := n.pattern.FindStringSubmatch(s); match != nil && len(match[1]) > len(longest.text) {
			longest = token{kind: n.kind, text: match[1], parts: match[2:]}
		}
	}
	return longest
}

// splitWords splits letters into keywords, always taking the longest. It returns false if there is none.
func splitWords(run string) ([]token, bool) {
	if name, ok := shortUnits[run]; ok {
		return []token{{kind: word, text: run, word: keywords[name]}}, true
	}
	var tokens []token
	for rest := run; rest != ""; {
		length := len(rest)
		for length > 0 && keywords[rest[:length]].name == "" {
			length--
		}
		if length == 0 {
			return nil, false
		}
		tokens = append(tokens, token{kind: word, text: rest[:length], word: keywords[rest[:length]]})
		rest = rest[length:]
	}
	return tokens, run != ""
}

func firstWord(s string) string {
	return strings.Fields(s)[0]
}
