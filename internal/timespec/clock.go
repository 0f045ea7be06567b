// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"strings"
	"time"
)

// A wall time is what a calendar and a wall clock show. It is stored as a time in UTC, where each one exists once.

func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// onClock returns when the clocks in the time zone of now show local. If a change of the clocks skips local, it uses the offset from before
// the change. If local occurs twice, it returns the first time that is not over. The note describes this in both cases; otherwise it is "".
// counted reports whether a step counts from that time. name is the name of the time zone at that time, which distinguishes the two, or "".
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
