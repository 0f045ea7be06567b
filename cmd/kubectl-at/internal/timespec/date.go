// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"time"
)

func (p *parser) date() error {
	switch t := p.peek(0); {
	case p.takeWord("today"):
		p.spec.date = &date{}
	case p.takeWord("tonight"):
		p.spec.date = &date{isTonight: true}
	case p.takeWord("tomorrow"):
		p.spec.date = &date{days: 1}
	case t.text == "next" && p.peek(1).word.class == unitName:
		return p.nextUnit()
	case t.text == "next" && p.peek(1).word.class == weekdayName:
		p.tokens = p.tokens[1:]
		p.weekday()
	case t.word.class == weekdayName:
		p.weekday()
		return p.weekdayDate()
	default:
		return p.calendarDate()
	}
	return nil
}

// weekdayDate reads the calendar date after a day of the week, if there is one.
func (p *parser) weekdayDate() error {
	weekday, tokens := p.spec.date.weekday, p.tokens
	if p.peek(0).text == "," {
		p.tokens = p.tokens[1:]
	}
	if err := p.calendarDate(); err != nil {
		return err
	}
	p.spec.date.weekday = weekday
	if p.spec.date.month == 0 {
		p.tokens = tokens
	}
	return nil
}

// calendarDate reads a date of the calendar if there is one.
func (p *parser) calendarDate() error {
	switch t := p.peek(0); {
	case t.word.class == monthName:
		return p.monthDay()
	case t.kind == number && p.peek(1).text == "/":
		return p.slashes()
	case t.kind == number && p.peek(1).word.class == monthName && (p.spec.hasTime || p.dayAhead()):
		return p.dayMonth()
	case t.kind == hyphenDate:
		p.tokens = p.tokens[1:]
		return p.setDate(t.text, t.parts[0], t.parts[1], t.parts[2])
	case t.kind == dottedDate:
		p.tokens = p.tokens[1:]
		return p.setDate(t.text, t.parts[2], t.parts[1], t.parts[0])
	case t.kind == number && len(t.text) == 8 && t.text[:2] > "12":
		p.tokens = p.tokens[1:]
		return p.setDate(t.text, t.text[:4], t.text[4:6], t.text[6:])
	case t.kind == number && 5 <= len(t.text) && len(t.text) <= 8:
		return p.digits()
	}
	return nil
}

// digits reads MMDDCCYY, MMDDYY, and the same with a month of one digit, which leaves an odd number of digits.
func (p *parser) digits() error {
	text := p.peek(0).text
	p.tokens = p.tokens[1:]
	n := 2 - len(text)%2
	if err := p.setDate(text, text[n+2:], text[:n], text[n:n+2]); err != nil {
		return err
	}
	p.spec.date.digits = text
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
		return p.expected(1, fmt.Sprintf("a day, such as %s 21,", name.text))
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

// yearAndDate reads a year if there is one after a month and a day. In Nov 28 10am the 10 is an hour.
func (p *parser) yearAndDate(name, dayNumber token, text string) error {
	years := ""
	if half := p.peek(1).text; isYear(p.peek(0)) && half != "am" && half != "pm" {
		years = p.peek(0).text
		text += " " + years
		p.tokens = p.tokens[1:]
	}
	return p.setDate(text, years, fmt.Sprint(name.word.value), dayNumber.text)
}

// slashes reads MM/DD/YY or CCYY/MM/DD.
func (p *parser) slashes() error {
	months, dayNumber, slash, years := p.peek(0), p.peek(2), p.peek(3), p.peek(4)
	if len(months.text) == 4 {
		months, dayNumber, years = dayNumber, years, months
	}
	if dayNumber.kind != number || slash.text != "/" || !isYear(years) || months.kind != number {
		return p.expected(0, "month/day/year, such as 11/21/2026,")
	}
	text := p.peek(0).text + "/" + p.peek(2).text + "/" + p.peek(4).text
	p.tokens = p.tokens[5:]
	return p.setDate(text, years.text, months.text, dayNumber.text)
}

func isYear(t token) bool { return t.kind == number && (len(t.text) == 2 || len(t.text) == 4) }

// setDate keeps a calendar date. The day can be validated once the year is known.
func (p *parser) setDate(text, years, months, days string) error {
	d := &date{year: atoi(years), month: atoi(months), day: atoi(days)}
	switch {
	case len(years) == 2 && d.year < 70:
		d.year += 2000
	case len(years) == 2:
		d.year += 1900
	}
	if d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 || len(years) == 4 && d.year == 0 {
		return fmt.Errorf("invalid date %q: months go from 1 to 12, days from 1 to 31", text)
	}
	p.spec.date = d
	return nil
}
