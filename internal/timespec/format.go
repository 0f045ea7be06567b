// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"time"
)

// Format returns t for people, with seconds if there are any.
func Format(t time.Time) string {
	if t.Second() != 0 {
		return t.Format(LayoutSeconds)
	}
	return t.Format(Layout)
}

// Distance returns how far t is from now, in its two largest units: "in 9h 12m", "now", "3d 4h ago".
func Distance(t, now time.Time) string {
	seconds := t.Unix() - now.Unix() // A time.Duration ends at 292 years.
	if t.Nanosecond() > now.Nanosecond() {
		seconds++ // rounded up: a started second counts
	}
	switch {
	case seconds > 0:
		return "in " + FormatSeconds(seconds)
	case seconds == 0:
		return "now"
	default:
		return FormatSeconds(-seconds) + " ago"
	}
}

// FormatSeconds returns a number of seconds in its two largest units.
func FormatSeconds(seconds int64) string {
	units := []struct {
		name    string
		seconds int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}
	for i, unit := range units {
		n := seconds / unit.seconds
		if n == 0 && unit.seconds > 1 {
			continue
		}
		text := fmt.Sprintf("%d%s", n, unit.name)
		if i+1 < len(units) && seconds%unit.seconds/units[i+1].seconds > 0 {
			text += fmt.Sprintf(" %d%s", seconds%unit.seconds/units[i+1].seconds, units[i+1].name)
		}
		return text
	}
	return "0s" // unreachable: seconds always match
}
