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

// isZoneName matches text that looks like the name of a time zone, so that the name of another zone is reported as
// such.
var isZoneName = regexp.MustCompile(`^[A-Z]{3,5}$`)

// zone reads utc, an offset, or a name of the local time zone after a time, if there is one. An offset needs a time
// with a colon, and a negative one a date before it: 2026-11 and 10:00-12:00 are not times.
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

// A wall time is what a calendar and a wall clock show. It is stored as a time in UTC, where each one exists once.

func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// onClock returns when the clocks in the time zone of now show local. If a change of the clocks skips local, it uses
// the offset from before the change. If local occurs twice, it returns the first time that is not over. The note
// describes this in both cases; otherwise it is "". counted reports whether a step counts from that time. name is the
// name of the time zone at that time, which distinguishes the two, or "".
func onClock(local, now time.Time, counted bool, name string) (time.Time, string) {
	runsAt, runs := "It runs at", "It runs"
	if counted {
		runsAt, runs = "The step counts from", "The step counts from"
	}
	if local.Equal(wall(now)) && (name == "" || isZone(now, name)) {
		return now, "" // Now is now, even when this wall time comes again.
	}
	location := now.Location()
	guess := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), location)
	start, stop := guess.ZoneBounds()
	var found []time.Time
	for _, change := range []time.Time{start, stop} {
		if change.IsZero() {
			continue
		}
		before, after := change.Add(-time.Second), change
		first, last := local.Add(-offset(before)).In(location), local.Add(-offset(after)).In(location)
		switch {
		case !first.Before(change) && last.Before(change):
			return first, fmt.Sprintf("%s does not exist on %s: the clocks go from %s to %s. %s %s.", local.Format("15:04"), local.Format("Mon 2 Jan 2006"),
				wall(before).Add(time.Second).Format("15:04 ")+zone(before), after.Format("15:04 MST"), runsAt, first.Format("15:04 MST"))
		case first.Before(change) && !last.Before(change):
			found = []time.Time{first, last}
		}
	}
	if found == nil {
		return guess, ""
	}
	first, last := found[0], found[1]
	switch {
	case isZone(first, name):
		return first, ""
	case isZone(last, name):
		return last, ""
	}
	note := fmt.Sprintf("%s occurs twice on %s, ", local.Format("15:04"), local.Format("Mon 2 Jan 2006"))
	if first.Before(startOfMinute(now)) {
		return last, note + fmt.Sprintf("and %s is over. %s %s.", first.Format("15:04 MST"), runsAt, last.Format("15:04 MST"))
	}
	return first, note + fmt.Sprintf("at %s and at %s. %s the first time. The second time is %s.",
		first.Format("15:04 MST"), last.Format("15:04 MST"), runs, last.Format(time.RFC3339))
}

// offset returns how far the clocks are ahead of UTC.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

func zone(t time.Time) string {
	name, _ := t.Zone()
	return name
}

// isZone reports whether the time zone has this name at t. Case does not matter.
func isZone(t time.Time, name string) bool { return strings.EqualFold(zone(t), name) }
