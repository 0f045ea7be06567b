// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/redhat/podset-operator/internal/timespec"
)

// location returns the time zone of --tz, or that of this machine.
func (p *plugin) location() (*time.Location, error) {
	if p.zone == "" {
		return time.Local, checkZone(os.Getenv("TZ"))
	}
	location, err := time.LoadLocation(p.zone)
	if err != nil {
		return nil, fmt.Errorf("--tz: %w; it takes a name such as Europe/Berlin, America/New_York, or UTC", err)
	}
	return location, nil
}

// checkZone returns an error if Go does not know the time zone of the environment: it then takes UTC without a word, and the
// command would run at another time than its user means. It knows names and files, and no rules such as CET-1CEST.
func checkZone(tz string) error {
	if runtime.GOOS == "windows" || tz == "UTC0" { // Windows has the time zone elsewhere; UTC0 is UTC.
		return nil
	}
	name := strings.TrimPrefix(tz, ":")
	_, err := time.LoadLocation(name)
	if strings.HasPrefix(name, "/") {
		var data []byte
		if data, err = os.ReadFile(name); err == nil {
			_, err = time.LoadLocationFromTZData(name, data)
		}
	}
	if err != nil {
		return fmt.Errorf("the time zone of the environment, TZ=%s, is not known; set TZ or --tz to a name such as Europe/Berlin, America/New_York, or UTC", tz)
	}
	return nil
}

// when returns the time that the words, or else the stamp of -t, mean, and what is to be said about it.
func (p *plugin) when(words []string, stamp string, now time.Time) (time.Time, []string, error) {
	location, err := p.location()
	if err != nil {
		return time.Time{}, nil, err
	}
	switch {
	case stamp != "" && len(words) > 0:
		return time.Time{}, nil, fmt.Errorf("the time is given twice: %q, and -t %s", strings.Join(words, " "), stamp)
	case stamp != "":
		return timespec.ParseStamp(stamp, now, location)
	case len(words) == 0:
		return time.Time{}, nil, errors.New("the time is missing; examples: " + timespec.Examples)
	}
	return timespec.Parse(words, now, location)
}

// schedule returns t as spec.schedule.
func schedule(t time.Time) string { return t.Format(time.RFC3339Nano) }

// absolute returns t as people read it, with seconds where there are some.
func absolute(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("Mon 2 Jan 2006 15:04:05 MST")
	}
	return t.Format(timespec.Layout)
}

// distance returns how far t is from now, in its two largest units: "in 9h 12m", "now", "3d 4h ago".
func distance(t, now time.Time) string {
	seconds := t.Unix() - now.Unix() // A time.Duration ends at 292 years.
	if t.Nanosecond() > now.Nanosecond() {
		seconds++ // rounded up: a started second counts
	}
	switch {
	case seconds > 0:
		return "in " + span(seconds)
	case seconds == 0:
		return "now"
	default:
		return span(-seconds) + " ago"
	}
}

// span returns a number of seconds in its two largest units.
func span(seconds int64) string {
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
	return "0s" // not reached: seconds always match
}
