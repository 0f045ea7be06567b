// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"fmt"
	"regexp"
	"time"
)

var stampPattern = regexp.MustCompile(`^(?:([0-9]{2})?([0-9]{2}))?([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})(?:\.([0-9]{2}))?$`)

// ParseStamp returns the instant that [[CC]YY]MMDDhhmm[.SS] means at the time now in location: the option -t of at and
// touch in IEEE Std 1003.1. Without a year it is this year. A YY from 69 is in the 20th century, any other YY in the
// 21st. Notes and errors are those of Parse.
func ParseStamp(stamp string, now time.Time, location *time.Location) (time.Time, []string, error) {
	match := stampPattern.FindStringSubmatch(stamp)
	if match == nil {
		return time.Time{}, nil, fmt.Errorf("invalid time %q: expected [[CC]YY]MMDDhhmm[.SS], such as 202611220200", stamp)
	}
	now = now.In(location).Truncate(time.Second)
	years := now.Year()
	switch yy := atoi(match[2]); {
	case match[2] == "":
	case match[1] != "":
		years = 100*atoi(match[1]) + yy
	case yy >= 69:
		years = 1900 + yy
	default:
		years = 2000 + yy
	}
	fields := [...]int{years, atoi(match[3]), atoi(match[4]), atoi(match[5]), atoi(match[6]), atoi(match[7])}
	local := time.Date(fields[0], time.Month(fields[1]), fields[2], fields[3], fields[4], fields[5], 0, time.UTC)
	if fields != [...]int{local.Year(), int(local.Month()), local.Day(), local.Hour(), local.Minute(), local.Second()} {
		return time.Time{}, nil, fmt.Errorf("invalid time %q: it has a month, day, hour, minute, or second that does not exist", stamp)
	}
	t, note := onClock(local, now, false, "")
	var notes []string
	if note != "" {
		notes = append(notes, note)
	}
	return t, notes, invalid(stamp, checkRange(t, now))
}
