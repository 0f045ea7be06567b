// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"time"
)

// date reads a date if there is one.
func (p *parser) date() error {
	switch t := p.peek(0); {
	case p.takeWord("today"):
		p.spec.date = &date{}
	case p.takeWord("tomorrow"):
		p.spec.date = &date{days: 1}
	case t.text == "next" && p.peek(1).word.class == unitName:
		return p.nextUnit()
	case t.text == "next" && p.peek(1).word.class == weekdayName:
		p.tokens = p.tokens[1:]
		p.weekday()
	case t.word.class == weekdayName:
		p.weekday()
	case t.word.class == monthName:
		return p.monthDay()
	case t.kind == number && p.peek(1).word.class == monthName:
		return p.dayMonth()
	case t.kind == number && p.peek(1).text == "/":
		return p.slashes()
	case t.kind == hyphenDate:
		p.tokens = p.tokens[1:]
		return p.setDate(t.text, t.parts[0], t.parts[1], t.parts[2])
	case t.kind == dottedDate:
		p.tokens = p.tokens[1:]
		return p.setDate(t.text, t.parts[2], t.parts[1], t.parts[0])
	case t.kind == number && 5 <= len(t.text) && len(t.text) <= 8:
		// A month of one digit leaves an odd number of digits.
		p.tokens = p.tokens[1:]
		n := 2 - len(t.text)%2
		return p.setDate(t.text, t.text[n+2:], t.text[:n], t.text[n:n+2])
	}
	return nil
}

// weekday reads the name of a day of the week.
func (p *parser) weekday() {
	d := time.Weekday(p.peek(0).word.value)
	p.spec.date = &date{weekday: &d}
	p.tokens = p.tokens[1:]
}

// monthDay reads "Nov 21", "Nov 21 2026", or "Nov 21, 2026".
func (p *parser) monthDay() error {
	name, dayNumber := p.peek(0), p.peek(1)
	if dayNumber.kind != number || len(dayNumber.text) > 2 {
		return fmt.Errorf("%q must have a day behind it, such as %s 21", name.text, name.text)
	}
	p.tokens = p.tokens[2:]
	if p.peek(0).text == "," && isYear(p.peek(1)) {
		p.tokens = p.tokens[1:]
	}
	return p.yearAndDate(name, dayNumber, name.text+" "+dayNumber.text)
}

// dayMonth reads "21 Nov" or "21 Nov 2026".
func (p *parser) dayMonth() error {
	dayNumber, name := p.peek(0), p.peek(1)
	p.tokens = p.tokens[2:]
	return p.yearAndDate(name, dayNumber, dayNumber.text+" "+name.text)
}

// yearAndDate reads a year if there is one, behind a month and a day. In Nov 28 10am the 10 is an hour.
func (p *parser) yearAndDate(name, dayNumber token, text string) error {
	years := ""
	if half := p.peek(1).text; isYear(p.peek(0)) && half != "am" && half != "pm" {
		years = p.peek(0).text
		text += " " + years
		p.tokens = p.tokens[1:]
	}
	return p.setDate(text, years, fmt.Sprint(name.word.value), dayNumber.text)
}

// slashes reads MM/DD/YY.
func (p *parser) slashes() error {
	months, dayNumber, slash, years := p.peek(0), p.peek(2), p.peek(3), p.peek(4)
	if dayNumber.kind != number || slash.text != "/" || !isYear(years) {
		return fmt.Errorf("%q is not understood: a date with slashes is month/day/year, such as 11/21/2026", months.text+"/")
	}
	p.tokens = p.tokens[5:]
	return p.setDate(months.text+"/"+dayNumber.text+"/"+years.text, years.text, months.text, dayNumber.text)
}

func isYear(t token) bool { return t.kind == number && (len(t.text) == 2 || len(t.text) == 4) }

// setDate keeps a date of the calendar. Whether the day exists is known with the year.
func (p *parser) setDate(text, years, months, days string) error {
	d := &date{year: atoi(years), month: atoi(months), day: atoi(days)}
	switch {
	case len(years) == 2 && d.year < 70:
		d.year += 2000
	case len(years) == 2:
		d.year += 1900
	}
	if d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 || len(years) == 4 && d.year == 0 {
		return fmt.Errorf("%q is not a date: months go from 1 to 12, days from 1 to 31", text)
	}
	p.spec.date = d
	return nil
}
