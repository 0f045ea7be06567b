// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"errors"
	"fmt"
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

// date is a day: a calendar date if month is set, otherwise a number of days from today.
type date struct {
	year       int // or 0 if there is none
	month, day int
	digits     string        // how a date without separators was written
	days       int           // from today
	isTonight  bool          // the night after today, which ends at noon
	weekday    *time.Weekday // the next one that is not today or, if month is set, that of the date
}

// spec is a specification as it was written.
type spec struct {
	hour, minute, second, nanosecond int
	hasTime, hasSeconds              bool
	zone                             *time.Location // of utc or an offset, or nil for the local one
	zoneName                         string         // a name of the local zone, such as CET
	date                             *date
	steps                            []step
}

// parser reads tokens from the left.
type parser struct {
	text       string
	tokens     []token
	zoneNames  []string // of the local zone
	isRelative bool     // it begins with now, in, or a step
	spec       spec
}

// Parse returns the instant that words mean at the time now in location, which the returned time is in. Each note is a
// sentence about something that is not obvious: a change of the clocks, a month that is too short, or digits that look
// like another form. The error is a SyntaxError, or describes why the time is impossible. The package comment specifies
// the language.
func Parse(words []string, now time.Time, location *time.Location) (time.Time, []string, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	p := &parser{text: text, tokens: scan(text), zoneNames: zoneNames(now.In(location))}
	if len(p.tokens) == 0 {
		return time.Time{}, nil, errors.New("missing TIME; examples: " + Examples)
	}
	switch err := p.parse(); {
	case err != nil && isCron(text):
		return time.Time{}, nil, &SyntaxError{Text: text}
	case err != nil:
		return time.Time{}, nil, err
	}
	t, notes, err := p.spec.resolve(now, location)
	return t, notes, invalid(text, err)
}

// invalid returns an error about a time that cannot be meant, or nil if there is none.
func invalid(text string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("invalid time %q: %w", text, err)
}

func (p *parser) parse() error {
	first := p.peek(0)
	switch p.isRelative = true; {
	case p.takeWord("in"):
		if err := p.amounts(1, first.text); err != nil {
			return err
		}
	case p.takeWord("now"), first.text == "+", first.text == "-":
	default:
		p.isRelative = false
		if err := p.timeAndDate(); err != nil {
			return err
		}
	}
	if err := p.readSteps(); err != nil {
		return err
	}
	if p.peek(0).kind != end {
		return p.unexpected()
	}
	return nil
}

// timeAndDate reads a time, a date, or both in either order. The year can follow the time, as date(1) prints it.
func (p *parser) timeAndDate() error {
	for _, read := range []func() error{p.time, p.date, p.time} {
		if err := read(); err != nil {
			return err
		}
	}
	if !p.spec.hasTime && p.spec.date == nil && len(p.spec.steps) == 0 && p.peek(0).text != "next" {
		return p.unexpected()
	}
	if p.spec.date != nil && p.spec.date.isTonight && !p.spec.hasTime {
		return p.expected(0, `a time of day, as in "23:00 tonight",`)
	}
	if d, t := p.spec.date, p.peek(0); p.spec.needsYear() && p.spec.hasTime && t.kind == number && len(t.text) == 4 && atoi(t.text) > 0 {
		d.year = atoi(t.text)
		p.tokens = p.tokens[1:]
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
			p.spec.hasTime, p.spec.hour = true, hour
			return p.zone(token{kind: word})
		}
	}
	t := p.peek(0)
	parts := []string{t.text, "", "", ""}
	switch {
	case t.kind == clockTime:
		copy(parts, t.parts)
	case t.kind == number && len(t.text) == 4 && p.peek(1).text != "/":
		parts[0], parts[1] = t.text[:2], t.text[2:]
	case t.kind == number && len(t.text) <= 2 && !p.dayAhead():
	default:
		return nil
	}
	p.tokens = p.tokens[1:]
	s := &p.spec
	s.hasTime, s.hasSeconds = true, parts[2] != ""
	s.hour, s.minute, s.second, s.nanosecond = atoi(parts[0]), atoi(parts[1]), atoi(parts[2]), atoi((parts[3] + "000000000")[:9])
	if err := p.halfOfDay(); err != nil {
		return err
	}
	if s.hour > 23 || s.minute > 59 || s.second > 59 {
		return fmt.Errorf("invalid time of day %q: hours go from 0 to 23, minutes and seconds from 0 to 59", t.text)
	}
	return p.zone(t)
}

// halfOfDay reads am or pm. As in Debian's at(1), 0 am and 0 pm are 12 am and 12 pm.
func (p *parser) halfOfDay() error {
	am := p.takeWord("am")
	pm := !am && p.takeWord("pm")
	if !am && !pm {
		return nil
	}
	if p.spec.hour > 12 {
		return fmt.Errorf("invalid hour %d: with am or pm, hours go from 1 to 12", p.spec.hour)
	}
	p.spec.hour %= 12
	if pm {
		p.spec.hour += 12
	}
	return nil
}

// dayAhead reports whether the next number is the day or month of a date rather than an hour: 10 Nov 28 is in 2028, and
// only the comma of 10 Nov 28, 2026 makes the 10 an hour.
func (p *parser) dayAhead() bool {
	next := p.peek(1)
	return next.text == "/" || next.word.class == monthName && p.peek(3).text != ","
}

// readSteps reads any number of "+ AMOUNT...", "- AMOUNT...", and "next unit".
func (p *parser) readSteps() error {
	for {
		var err error
		switch sign := p.peek(0); sign.text {
		case "next":
			err = p.nextUnit()
		case "+", "-":
			p.tokens = p.tokens[1:]
			err = p.amounts(map[string]int{"+": 1, "-": -1}[sign.text], sign.text)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// amounts reads one or more of "N unit" after a word, such as 1 hour 30 minutes or 1h30m.
func (p *parser) amounts(sign int, behind string) error {
	first := len(p.spec.steps)
	for {
		count, name := p.peek(0), p.peek(1)
		switch {
		case count.kind == clockTime && strings.Contains(strings.ToLower(count.text), "h"): // 1h30m
			p.spec.steps = append(p.spec.steps, step{sign * atoi(count.parts[0]), hour}, step{sign * atoi(count.parts[1]), minute})
			p.tokens = p.tokens[1:]
			if p.peek(0).word == keywords["minute"] {
				p.tokens = p.tokens[1:]
			}
		case count.kind == number && name.word.class == unitName:
			if len(count.text) > 9 {
				return fmt.Errorf("invalid number %s: must have at most 9 digits", count.text)
			}
			p.spec.steps = append(p.spec.steps, step{sign * atoi(count.text), unit(name.word.value)})
			p.tokens = p.tokens[2:]
		case len(p.spec.steps) > first:
			return nil
		default:
			if count.kind == number {
				return p.expected(1, "a unit (seconds, minutes, hours, days, weeks, months, or years)")
			}
			return p.expected(0, fmt.Sprintf("a number and a unit, such as %s 2 hours,", behind))
		}
	}
}

func (p *parser) nextUnit() error {
	name := p.peek(1)
	if name.kind != word || name.word.class != unitName {
		if !p.isRelative && p.spec.date == nil && len(p.spec.steps) == 0 {
			return p.expected(1, "a weekday or a unit such as week")
		}
		return p.expected(1, "a unit such as week")
	}
	p.spec.steps = append(p.spec.steps, step{1, unit(name.word.value)})
	p.tokens = p.tokens[2:]
	return nil
}

func (p *parser) peek(i int) token {
	if i < len(p.tokens) {
		return p.tokens[i]
	}
	return token{}
}

// takeWord reads one keyword, and reports whether it was there.
func (p *parser) takeWord(name string) bool {
	if t := p.peek(0); t.kind != word || t.word.name != name {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// atoi returns the value of up to 9 digits.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // digits by its pattern
	return n
}
