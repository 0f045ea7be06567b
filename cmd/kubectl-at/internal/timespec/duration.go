// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var amountPattern = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)\s*`)

// ParseDuration reads a duration as Go does (1h30m), or with the units of this language up to a week, which need no
// blank (7d, 2 weeks, 1d 12h). Months and years are not units of a duration, because their length varies.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(amountPattern.ReplaceAllStringFunc(strings.TrimSpace(text), func(amount string) string {
		match := amountPattern.FindStringSubmatch(amount)
		length, ok := secondsOf(match[2])
		if count, err := strconv.ParseFloat(match[1], 64); ok && err == nil {
			return fmt.Sprintf("%fs", count*length)
		}
		return amount
	}))
	if err != nil {
		return 0, fmt.Errorf("invalid duration %q: expected a number with a unit, such as 90s, 30m, 12h, 7d, or 2w", strings.TrimSpace(text))
	}
	return d, nil
}

// secondsOf returns the length of a unit. M is ambiguous.
func secondsOf(name string) (float64, bool) {
	if name == "M" {
		return 0, false
	}
	name = strings.ToLower(name)
	if long, ok := shortUnits[name]; ok {
		name = long
	}
	k := keywords[name]
	length := map[unit]float64{second: 1, minute: 60, hour: 3600, day: 86400, week: 604800}[unit(k.value)]
	return length, k.class == unitName && length > 0
}

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
