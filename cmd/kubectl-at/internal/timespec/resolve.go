// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Layout is the format of times in notes and errors, and LayoutSeconds the one with seconds.
const (
	Layout        = "Mon 2 Jan 2006 15:04 MST"
	LayoutSeconds = "Mon 2 Jan 2006 15:04:05 MST"
)

// unitSeconds has the units that are counted on the clock.
var unitSeconds = map[unit]int64{second: 1, minute: 60, hour: 3600}

func (s *spec) resolve(now time.Time, location *time.Location) (time.Time, []string, error) {
	t, notes, err := s.in(cmp.Or(s.zone, location), now)
	if err != nil {
		return time.Time{}, nil, err
	}
	t = t.In(location)
	return t, notes, checkRange(t, now)
}

// in resolves a specification in the time zone that it is to be read in.
func (s *spec) in(location *time.Location, now time.Time) (time.Time, []string, error) {
	now = now.In(location).Truncate(time.Second)
	today := wall(now)
	base := s.base(today)
	t, notes, err := s.count(base, now)
	switch result := wall(t); {
	case s.timeOnly() && sameDay(result, today) && s.hasPassed(t, now):
		base = base.AddDate(0, 0, 1)
		t, notes, err = s.count(base, now)
	case s.needsYear() && s.dayPassed(result, today):
		next := *s.date
		next.year = today.Year() + 1
		s.date = &next
		base = s.base(today)
		t, notes, err = s.count(base, now)
	}
	if s.date != nil && s.date.month != 0 {
		if err := s.date.check(base); err != nil {
			return time.Time{}, nil, err
		}
		if s.date.digits != "" && s.date.year > today.Year()+2 {
			form := map[int]string{5: "MDDYY", 6: "MMDDYY", 7: "MDDCCYY", 8: "MMDDCCYY"}[len(s.date.digits)]
			notes = append(notes, fmt.Sprintf("%s is a date, %s; -t reads MMDDhhmm.", s.date.digits, form))
		}
	}
	return t, notes, err
}

// check returns an error if a calendar date does not exist, or is on another day of the week. base is the resulting
// day.
func (d *date) check(base time.Time) error {
	if base.Day() != d.day {
		return fmt.Errorf("%s has no day %d", time.Date(base.Year(), time.Month(d.month), 1, 0, 0, 0, 0, time.UTC).Format("January 2006"), d.day)
	}
	if d.weekday != nil && *d.weekday != base.Weekday() {
		return fmt.Errorf("%s is a %s, not a %s", base.Format("2 January 2006"), base.Weekday(), *d.weekday)
	}
	return nil
}

// hasPassed reports whether a time of today is over. A time without seconds is over when its minute has begun.
func (s *spec) hasPassed(t, now time.Time) bool {
	if s.hasSeconds {
		return !t.After(now)
	}
	return !startOfMinute(t).After(startOfMinute(now))
}

// timeOnly reports whether the day is left open: today, or tomorrow when the time has passed.
func (s *spec) timeOnly() bool {
	for _, step := range s.steps {
		if step.unit >= day {
			return false
		}
	}
	return s.hasTime && s.date == nil
}

// needsYear reports whether there is a date that leaves the year open.
func (s *spec) needsYear() bool {
	return s.date != nil && s.date.month != 0 && s.date.year == 0
}

// dayPassed reports whether the day of a result is over this year. Without steps it is the day as written: a 29
// February that does not exist this year is over on 1 March.
func (s *spec) dayPassed(result, today time.Time) bool {
	if len(s.steps) == 0 {
		written := time.Month(s.date.month)
		return written < today.Month() || written == today.Month() && s.date.day < today.Day()
	}
	return result.Year() == today.Year() && result.YearDay() < today.YearDay()
}

// base returns the date and time of a specification before its steps are counted, as a wall time.
func (s *spec) base(today time.Time) time.Time {
	base := today
	if d := s.date; d != nil {
		switch {
		case d.weekday != nil && d.month == 0:
			base = base.AddDate(0, 0, int(6+*d.weekday-base.Weekday())%7+1)
		case d.month != 0 && d.year != 0:
			base = withDate(base, d.year, d.month, d.day)
		case d.month != 0:
			base = withDate(base, base.Year(), d.month, d.day)
		default:
			base = base.AddDate(0, 0, d.days)
		}
	}
	if s.hasTime {
		base = time.Date(base.Year(), base.Month(), base.Day(), s.hour, s.minute, s.second, s.nanosecond, time.UTC)
		if s.date != nil && s.date.isTonight && s.hour < 12 && !startOfMinute(base).After(startOfMinute(today)) {
			base = base.AddDate(0, 0, 1)
		}
	}
	return base
}

// count adds the steps to base. Days and longer units are counted on the calendar, the others on the clock.
func (s *spec) count(base, now time.Time) (time.Time, []string, error) {
	var notes []string
	local, elapsed := base, int64(0)
	for _, step := range s.steps {
		from := local
		switch step.unit {
		case day:
			local = local.AddDate(0, 0, step.count)
		case week:
			local = local.AddDate(0, 0, 7*step.count)
		case month:
			local = local.AddDate(0, step.count, 0)
		case year:
			local = local.AddDate(step.count, 0, 0)
		default:
			elapsed += int64(step.count) * unitSeconds[step.unit]
		}
		if step.unit >= month && local.Day() != from.Day() {
			before := local.AddDate(0, 0, -local.Day())
			notes = append(notes, fmt.Sprintf("%s has no day %d, so the day is %s.", before.Format("January 2006"), from.Day(), local.Format("Mon 2 Jan 2006")))
		}
	}
	t, note := onClock(local, now, elapsed != 0, s.zoneName)
	if s.zoneName != "" && !isZone(t, s.zoneName) {
		return t, nil, fmt.Errorf("%s is %s, not %s", t.Format("15:04 on Mon 2 Jan 2006"), zone(t), s.zoneName)
	}
	if note != "" {
		notes = append(notes, note)
	}
	return time.Unix(t.Unix()+elapsed, int64(t.Nanosecond())).In(now.Location()), notes, nil
}

// checkRange returns an error for a time before the current minute, and for a time outside the range of RFC 3339.
func checkRange(t, now time.Time) error {
	switch {
	case t.Before(startOfMinute(now)):
		return fmt.Errorf(`%s is in the past; use "now" to run at once`, t.Format(Layout))
	case t.UTC().Year() > 9999 || t.Year() > 9999:
		return errors.New("the time is after the year 9999")
	}
	return nil
}

// startOfMinute returns the start of the minute of a wall clock.
func startOfMinute(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
}

func sameDay(a, b time.Time) bool { return a.Year() == b.Year() && a.YearDay() == b.YearDay() }

func withDate(t time.Time, year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}
