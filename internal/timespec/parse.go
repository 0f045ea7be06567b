// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// unit is what a step counts, in the order of makeKeywords.
type unit int

const (
	second unit = iota
	minute
	hour
	day
	week
	month
	year
)

// step is "+ N unit".
type step struct {
	count int
	unit  unit
}

// date is a day: a date of the calendar when month is set, else days from today.
type date struct {
	year       int // 0: not given
	month, day int
	days       int           // from today
	weekday    *time.Weekday // the next one that is not today
}

// spec is a specification as it was written.
type spec struct {
	hour, minute int
	hasTime      bool
	utc          bool
	date         *date
	steps        []step
}

// parser reads tokens from the left.
type parser struct {
	tokens []token
	spec   spec
}

// isRFC3339 recognizes what is meant as RFC 3339, so that a mistake in it is reported as such.
var isRFC3339 = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[tT]`)

// Parse returns the instant that words mean at the time now in location, which the returned time is in. The notes tell
// what is not obvious about it, each as a sentence: a change of the clocks, or a month that is too short. The error names
// what was not understood or why the time cannot be meant. The package comment specifies the language.
func Parse(words []string, now time.Time, location *time.Location) (time.Time, []string, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	if isRFC3339.MatchString(text) {
		t, err := time.Parse(time.RFC3339, strings.ToUpper(text))
		if err != nil {
			return time.Time{}, nil, fmt.Errorf("%q is not a time of RFC 3339 such as 2026-11-22T02:00:00+01:00 or 2026-11-22T01:00:00Z", text)
		}
		return t.In(location), nil, checkRange(t.In(location), now)
	}
	tokens, err := scan(text)
	if err != nil {
		return time.Time{}, nil, err
	}
	if len(tokens) == 0 {
		return time.Time{}, nil, errors.New("the time is missing; examples: " + Examples)
	}
	p := &parser{tokens: tokens}
	if err := p.parse(); err != nil {
		return time.Time{}, nil, err
	}
	return p.spec.resolve(now, location)
}

// parse reads a timespec.
func (p *parser) parse() error {
	if !p.takeWord("now") {
		if err := p.timeAndDate(); err != nil {
			return err
		}
	}
	if err := p.step(); err != nil {
		return err
	}
	if p.peek(0).kind != end {
		return p.misunderstood()
	}
	return nil
}

// timeAndDate reads a time, a date, or both in either order.
func (p *parser) timeAndDate() error {
	for _, read := range []func() error{p.time, p.date, p.time} {
		if err := read(); err != nil {
			return err
		}
	}
	if !p.spec.hasTime && p.spec.date == nil && len(p.spec.steps) == 0 {
		return p.misunderstood()
	}
	return nil
}

// time reads a time if there is one, unless one was read before.
func (p *parser) time() error {
	if p.spec.hasTime {
		return nil
	}
	for name, hour := range map[string]int{"midnight": 0, "noon": 12, "teatime": 16} {
		if p.takeWord(name) {
			p.spec.hasTime, p.spec.hour, p.spec.utc = true, hour, p.takeWord("utc")
			return nil
		}
	}
	t := p.peek(0)
	hours, minutes := t.text, "0"
	switch {
	case t.kind == clockTime:
		hours, minutes = t.parts[0], t.parts[1]
	case t.kind == number && len(t.text) == 4:
		hours, minutes = t.text[:2], t.text[2:]
	case t.kind == number && len(t.text) <= 2 && !p.dayAhead():
	default:
		return nil
	}
	p.tokens = p.tokens[1:]
	p.spec.hasTime, p.spec.hour, p.spec.minute = true, atoi(hours), atoi(minutes)
	if err := p.halfOfDay(); err != nil {
		return err
	}
	if p.spec.hour > 23 || p.spec.minute > 59 {
		return fmt.Errorf("%q is not a time of day: hours go from 0 to 23, minutes from 0 to 59", t.text)
	}
	p.spec.utc = p.takeWord("utc")
	return nil
}

// halfOfDay reads am or pm. As in Debian's at(1), 0 am and 0 pm are 12 am and 12 pm.
func (p *parser) halfOfDay() error {
	am := p.takeWord("am")
	pm := !am && p.takeWord("pm")
	if !am && !pm {
		return nil
	}
	if p.spec.hour > 12 {
		return fmt.Errorf("hour %d goes without am and pm: with them, hours go from 1 to 12", p.spec.hour)
	}
	p.spec.hour %= 12
	if pm {
		p.spec.hour += 12
	}
	return nil
}

// dayAhead reports whether the next number is the day or month of a date, and not an hour: 10 Nov 28 is in 2028, and only
// the comma of 10 Nov 28, 2026 makes the 10 an hour.
func (p *parser) dayAhead() bool {
	next := p.peek(1)
	return next.text == "/" || next.word.class == monthName && p.peek(3).text != ","
}

// step reads "+ N unit", "- N unit", or "next unit".
func (p *parser) step() error {
	sign := p.peek(0)
	switch {
	case sign.text == "next":
		return p.nextUnit()
	case sign.text != "+" && sign.text != "-":
		return nil
	}
	count, name := p.peek(1), p.peek(2)
	if count.kind != number || name.kind != word || name.word.class != unitName {
		return fmt.Errorf("%q must have a number and a unit behind it, such as + 2 hours; the units are seconds, minutes, hours, days, weeks, months, and years", sign.text)
	}
	if len(count.text) > 9 {
		return fmt.Errorf("the number %s is too large: it can have up to 9 digits", count.text)
	}
	n := atoi(count.text)
	if sign.text == "-" {
		n = -n
	}
	p.spec.steps = append(p.spec.steps, step{n, unit(name.word.value)})
	p.tokens = p.tokens[3:]
	return nil
}

// nextUnit reads "next unit".
func (p *parser) nextUnit() error {
	name := p.peek(1)
	if name.kind != word || name.word.class != unitName {
		return p.misunderstood()
	}
	p.spec.steps = append(p.spec.steps, step{1, unit(name.word.value)})
	p.tokens = p.tokens[2:]
	return nil
}

// peek returns the token i places ahead.
func (p *parser) peek(i int) token {
	if i < len(p.tokens) {
		return p.tokens[i]
	}
	return token{}
}

// takeWord reads one keyword, and reports whether it is there.
func (p *parser) takeWord(name string) bool {
	if t := p.peek(0); t.kind != word || t.word.name != name {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// misunderstood names the next token.
func (p *parser) misunderstood() error {
	return misunderstood(p.peek(0).text)
}

// atoi returns the value of up to 9 digits.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // digits by its pattern
	return n
}
