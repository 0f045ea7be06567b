// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// zoneNames returns the names of a time zone in the years after now, such as CET and CEST.
func zoneNames(now time.Time) []string {
	var names []string
	for month := range 24 {
		if name := zone(now.AddDate(0, month, 0)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// isZoneName matches text that looks like the name of a time zone, so that the name of another zone is reported as such.
var isZoneName = regexp.MustCompile(`^[A-Z]{3,5}$`)

// zone reads utc, an offset, or a name of the local time zone after a time, if there is one. An offset needs a time with a colon, and a
// negative one a date before it: 2026-11 and 10:00-12:00 are not times.
func (p *parser) zone(clock token) error {
	t := p.peek(0)
	isLocal := func(name string) bool { return strings.EqualFold(name, t.text) }
	switch {
	case p.takeWord("utc"):
		p.spec.zone = time.UTC
	case clock.kind == clockTime && (t.text == "+" || t.text == "-" && p.spec.date != nil):
		return p.offset()
	case t.kind == unknown && slices.ContainsFunc(p.zoneNames, isLocal):
		p.spec.zoneName = t.text
		p.tokens = p.tokens[1:]
	case t.kind == unknown && isZoneName.MatchString(t.text):
		return fmt.Errorf("invalid time zone %q: expected %s, an offset such as +05:30, or utc", t.text, strings.Join(p.zoneNames, ", "))
	}
	return nil
}

// offset reads +HH:MM, +HHMM, or +HH. If a unit follows, it is a step.
func (p *parser) offset() error {
	sign, t := p.peek(0), p.peek(1)
	hours, minutes := t.text, "0"
	switch {
	case t.kind == clockTime && len(t.text) == 5 && t.text[2] == ':':
		hours, minutes = t.parts[0], t.parts[1]
	case p.peek(2).word.class == unitName:
		return nil
	case t.kind == number && len(t.text) == 4:
		hours, minutes = t.text[:2], t.text[2:]
	case t.kind == number && len(t.text) == 2:
	default:
		return nil
	}
	if atoi(hours) > 23 || atoi(minutes) > 59 {
		return fmt.Errorf("invalid offset %q: hours go from 0 to 23, minutes from 0 to 59", sign.text+t.text)
	}
	seconds := 3600*atoi(hours) + 60*atoi(minutes)
	if sign.text == "-" {
		seconds = -seconds
	}
	p.spec.zone = time.FixedZone("", seconds)
	p.tokens = p.tokens[2:]
	return nil
}
