// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests are there on every machine

	"github.com/google/go-cmp/cmp"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Saturday, noon and a half minute, in Berlin.
const saturday = "2026-11-21T12:00:30+01:00"

// TestParse_debian has every form. These are examples, and what its rows do not tell apart.
func TestParse(t *testing.T) {
	for spec, want := range map[string]string{
		// POSIX, at: the examples of the utility.
		"0815 am Jan 24":   "2027-01-24T08:15:00+01:00",
		"5 pm FRIday":      "2026-11-27T17:00:00+01:00",
		"17 utc+30minutes": "2026-11-21T18:30:00+01:00", // 17:30 in UTC
		"10 Nov 28,2026":   "2026-11-28T10:00:00+01:00",
		"next month":       "2026-12-21T12:00:30+01:00",
		"12242026":         "2026-12-24T12:00:30+01:00",

		// Dates and times of day.
		"Nov 21":                    "2026-11-21T12:00:30+01:00",
		"noon + 45 seconds":         "2026-11-22T12:00:45+01:00",
		"9999-12-31T22:59:59Z":      "9999-12-31T23:59:59+01:00",
		"Nov 28 noon":               "2026-11-28T12:00:00+01:00",
		"Nov 28 10pm":               "2026-11-28T22:00:00+01:00",
		"tomorrow 02:00":            "2026-11-22T02:00:00+01:00",
		"02:00 tonight":             "2026-11-22T02:00:00+01:00",
		"Nov 28 10am":               "2026-11-28T10:00:00+01:00",
		"2026-11-22 02:00 utc":      "2026-11-22T03:00:00+01:00",
		"2026-11-22T02:00:00+01:00": "2026-11-22T02:00:00+01:00",

		// What this program, date(1), and others print, and ISO 8601.
		"Sun 22 Nov 2026 02:00 CET":       "2026-11-22T02:00:00+01:00",
		"Sun Nov 22 02:00:00 CET 2026":    "2026-11-22T02:00:00+01:00",
		"Sun, 22 Nov 2026 02:00:00 +0100": "2026-11-22T02:00:00+01:00",
		"2026-11-22T02:00+02":             "2026-11-22T01:00:00+01:00",
		"2026-11-22T02:00-0330":           "2026-11-22T06:30:00+01:00",
		"20261122T0200":                   "2026-11-22T02:00:00+01:00",
		"12:00:45":                        "2026-11-21T12:00:45+01:00",
		"20:00 CEST Jul 1":                "2027-07-01T20:00:00+02:00",
		"22:00 +01 day":                   "2026-11-22T22:00:00+01:00",

		// Steps as people and this program write them.
		"now + 9h 12m":          "2026-11-21T21:12:30+01:00",
		"in 2 hours":            "2026-11-21T14:00:30+01:00",
		"now + 1H30":            "2026-11-21T13:30:30+01:00",
		"now + 2 days - 1 hour": "2026-11-23T11:00:30+01:00",
		"+ 2 hours":             "2026-11-21T14:00:30+01:00",
	} {
		t.Run(spec, func(t *testing.T) {
			got, notes, err := timespec.Parse(strings.Fields(spec), instant(t, saturday), zone(t, "Europe/Berlin"))
			if err != nil {
				t.Fatal(err)
			}
			if got.Format(time.RFC3339) != want || len(notes) != 0 {
				t.Errorf("got %s %q, want %s", got.Format(time.RFC3339), notes, want)
			}
		})
	}
}

func TestParse_invalid(t *testing.T) {
	const examples = "; examples: " + timespec.Examples
	for spec, want := range map[string]string{
		"":                          "missing TIME" + examples,
		"monday 13/24/26":           `invalid date "13/24/26": months go from 1 to 12, days from 1 to 31`,
		"139926":                    `invalid date "139926": months go from 1 to 12, days from 1 to 31`,
		"10:00 + 123":               `invalid time "10:00 + 123": expected a unit (seconds, minutes, hours, days, weeks, months, or years) at its end`,
		"tomorrow at 2am":           `invalid time "tomorrow at 2am": expected a time of day or a step such as + 2 hours at "at"; leave out "at"`,
		"noon on friday":            `invalid time "noon on friday": expected a date or a step such as + 2 hours at "on"; leave out "on"`,
		"12:00 Europe/Berlin":       `invalid time "12:00 Europe/Berlin": expected a date or a step such as + 2 hours at "Europe/Berlin"; use --tz Europe/Berlin`,
		"202711282030":              `invalid time "202711282030": expected a time of day, a date, or a step such as + 2 hours at "202711282030"; use -t 202711282030`,
		"11282030.15":               `invalid time "11282030.15": expected a time of day or a step such as + 2 hours at ".15"; use -t 11282030.15`,
		"tomorow 02:00":             `invalid time "tomorow 02:00": expected a time of day, a date, or a step such as + 2 hours at "tomorow"` + examples,
		"5 minutes":                 `invalid time "5 minutes": expected a date or a step such as + 2 hours at "minutes"; use "now + 5 minutes"`,
		"1h":                        `invalid time "1h": expected a date or a step such as + 2 hours at "h"; use "now + 1h"`,
		"batch":                     `invalid time "batch": expected a time of day, a date, or a step such as + 2 hours at "batch"; use "now"`,
		"tonight":                   `invalid time "tonight": expected a time of day, as in "23:00 tonight", at its end`,
		"now tomorrow":              `invalid time "now tomorrow": expected a step such as + 2 hours at "tomorrow"`,
		"123":                       `invalid time "123": expected a time of day, a date, or a step such as + 2 hours at "123"` + examples,
		"2026-11-2111":              `invalid time "2026-11-2111": expected a unit (seconds, minutes, hours, days, weeks, months, or years) at "-2111"`,
		"next":                      `invalid time "next": expected a weekday or a unit such as week at its end`,
		"24:00":                     `invalid time of day "24:00": hours go from 0 to 23, minutes and seconds from 0 to 59`,
		"10 am pm":                  `invalid time "10 am pm": expected a date or a step such as + 2 hours at "pm"`,
		"13pm":                      `invalid hour 13: with am or pm, hours go from 1 to 12`,
		"now + 1000000000 days":     `invalid number 1000000000: must have at most 9 digits`,
		"now + 999999999 hours":     `invalid time "now + 999999999 hours": the time is after the year 9999`,
		"nov":                       `invalid time "nov": expected a day, such as nov 21, at its end`,
		"nov 123":                   `invalid time "nov 123": expected a day, such as nov 21, at "123"`,
		"32 nov":                    `invalid date "32 nov": months go from 1 to 12, days from 1 to 31`,
		"nov 0 2027":                `invalid date "nov 0 2027": months go from 1 to 12, days from 1 to 31`,
		"0000-11-21":                `invalid date "0000-11-21": months go from 1 to 12, days from 1 to 31`,
		"feb 29":                    `invalid time "feb 29": February 2027 has no day 29`,
		"10:00 today":               `invalid time "10:00 today": Sat 21 Nov 2026 10:00 CET is in the past; use "now" to run at once`,
		"10:00 + 0 days":            `invalid time "10:00 + 0 days": Sat 21 Nov 2026 10:00 CET is in the past; use "now" to run at once`,
		"0:30 - 1 hour":             `invalid time "0:30 - 1 hour": Fri 20 Nov 2026 23:30 CET is in the past; use "now" to run at once`,
		"70-11-21":                  `invalid time "70-11-21": Sat 21 Nov 1970 12:00 CET is in the past; use "now" to run at once`,
		"nov 28, 10:00":             `invalid time "nov 28, 10:00": expected a time of day or a step such as + 2 hours at ","`,
		"12/24-26":                  `invalid time "12/24-26": expected month/day/year, such as 11/21/2026, at "12/24-26"` + examples,
		"12/24/268":                 `invalid time "12/24/268": expected month/day/year, such as 11/21/2026, at "12/24/268"` + examples,
		"0/24/26":                   `invalid date "0/24/26": months go from 1 to 12, days from 1 to 31`,
		"10:00 1030":                `invalid time "10:00 1030": expected a date or a step such as + 2 hours at "1030"`,
		"122420260":                 `invalid time "122420260": expected a time of day, a date, or a step such as + 2 hours at "122420260"` + examples,
		"now + next week":           `invalid time "now + next week": expected a number and a unit, such as + 2 hours, at "next"`,
		"now next monday":           `invalid time "now next monday": expected a unit such as week at "monday"`,
		"9999-12-31T23:30:00Z":      `invalid time "9999-12-31T23:30:00Z": the time is after the year 9999`,
		"2026-11-22T02:00:60Z":      `invalid time of day "02:00:60": hours go from 0 to 23, minutes and seconds from 0 to 59`,
		"2026-11-22T02:00:00+24:00": `invalid offset "+24:00": hours go from 0 to 23, minutes from 0 to 59`,
		"10:00 EST":                 `invalid time zone "EST": expected CET, CEST, an offset such as +05:30, or utc`,
		"10:00 CEST":                `invalid time "10:00 CEST": 10:00 on Sun 22 Nov 2026 is CET, not CEST`,
		"mon 22 nov 2026":           `invalid time "mon 22 nov 2026": 22 November 2026 is a Sunday, not a Monday`,
		"monday, + 2 days":          `invalid time "monday, + 2 days": expected a time of day or a step such as + 2 hours at ","`,
		"10:00-12:00":               `invalid time "10:00-12:00": expected a number and a unit, such as - 2 hours, at "12:00"`,
		"in":                        `invalid time "in": expected a number and a unit, such as in 2 hours, at its end`,
	} {
		t.Run(spec, func(t *testing.T) {
			got, _, err := timespec.Parse(strings.Fields(spec), instant(t, saturday), zone(t, "Europe/Berlin"))
			if err == nil || err.Error() != want {
				t.Errorf("got %v, %v\nwant %s", got, err, want)
			}
		})
	}
}

// Eight digits that were meant for -t are a day in another year.
func TestParse_digits(t *testing.T) {
	for spec, want := range map[string]struct{ at, note string }{
		"11282030":   {"2030-11-28T12:00:30+01:00", "11282030 is a date, MMDDCCYY; -t reads MMDDhhmm."},
		"8152030":    {"2030-08-15T12:00:30+02:00", "8152030 is a date, MDDCCYY; -t reads MMDDhhmm."},
		"112830":     {"2030-11-28T12:00:30+01:00", "112830 is a date, MMDDYY; -t reads MMDDhhmm."},
		"9am 112829": {"2029-11-28T09:00:00+01:00", "112829 is a date, MMDDYY; -t reads MMDDhhmm."},
		"11282028":   {"2028-11-28T12:00:30+01:00", ""},
		"20301128":   {"2030-11-28T12:00:30+01:00", ""},
		"11/28/2030": {"2030-11-28T12:00:30+01:00", ""},
	} {
		t.Run(spec, func(t *testing.T) { check(t, "Europe/Berlin", saturday, spec, want.at, want.note) })
	}
}

func TestParse_fractions(t *testing.T) {
	for spec, want := range map[string]string{
		"2026-11-22T02:00:00.25":       "2026-11-22T02:00:00.25+01:00",
		"2026-11-22T02:00:00,5Z":       "2026-11-22T03:00:00.5+01:00",
		"02:00:00.1234567891 tomorrow": "2026-11-22T02:00:00.123456789+01:00",
	} {
		got, _, err := timespec.Parse(strings.Fields(spec), instant(t, saturday), zone(t, "Europe/Berlin"))
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: got %s, %v, want %s", spec, got.Format(time.RFC3339Nano), err, want)
		}
	}
}

func TestParse_months(t *testing.T) {
	for name, test := range map[string]struct{ now, spec, want, note string }{
		"29 February without a year":           {"2027-03-01T12:00:00Z", "feb 29", "2028-02-29T12:00:00Z", ""},
		"the day after 28 February":            {"2027-02-28T12:00:00Z", "tomorrow", "2027-03-01T12:00:00Z", ""},
		"the day after 28 February, leap year": {"2028-02-28T12:00:00Z", "tomorrow", "2028-02-29T12:00:00Z", ""},
		"a month after 31 January":             {"2027-01-31T12:00:00Z", "now + 1 month", "2027-03-03T12:00:00Z", "February 2027 has no day 31, so the day is Wed 3 Mar 2027."},
		"two months after 30 December":         {"2027-12-30T12:00:00Z", "now + 2 months", "2028-03-01T12:00:00Z", "February 2028 has no day 30, so the day is Wed 1 Mar 2028."},
		"a year after 29 February":             {"2028-02-29T12:00:00Z", "next year", "2029-03-01T12:00:00Z", "February 2029 has no day 29, so the day is Thu 1 Mar 2029."},
		"tonight, in the night":                {"2026-12-31T01:00:00Z", "02:00 tonight", "2026-12-31T02:00:00Z", ""},
		"tonight, on the last evening":         {"2026-12-31T20:00:00Z", "02:00 tonight", "2027-01-01T02:00:00Z", ""},
		"the end of the year":                  {"2026-12-31T23:59:00Z", "0:00", "2027-01-01T00:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) { check(t, "UTC", test.now, test.spec, test.want, test.note) })
	}
}

func TestParse_clockChanges(t *testing.T) {
	for name, test := range map[string]struct{ zone, now, spec, want, note string }{
		"skipped": {"Europe/Berlin", "2026-03-28T12:00:00+01:00", "02:30 tomorrow", "2026-03-29T03:30:00+02:00",
			"02:30 does not exist on Sun 29 Mar 2026: the clocks go from 02:00 CET to 03:00 CEST. It runs at 03:30 CEST."},
		"skipped, west of Greenwich": {"America/New_York", "2026-03-07T12:00:00-05:00", "02:30 tomorrow", "2026-03-08T03:30:00-04:00",
			"02:30 does not exist on Sun 8 Mar 2026: the clocks go from 02:00 EST to 03:00 EDT. It runs at 03:30 EDT."},
		"the first skipped minute": {"Europe/Berlin", "2026-03-28T12:00:00+01:00", "02:00 tomorrow", "2026-03-29T03:00:00+02:00",
			"02:00 does not exist on Sun 29 Mar 2026: the clocks go from 02:00 CET to 03:00 CEST. It runs at 03:00 CEST."},
		"skipped, and a step": {"Europe/Berlin", "2026-03-28T12:00:00+01:00", "02:30 tomorrow + 2 hours", "2026-03-29T05:30:00+02:00",
			"02:30 does not exist on Sun 29 Mar 2026: the clocks go from 02:00 CET to 03:00 CEST. The step counts from 03:30 CEST."},
		"twice, and a step": {"Europe/Berlin", "2026-10-24T12:00:00+02:00", "02:30 tomorrow + 1 hour", "2026-10-25T02:30:00+01:00",
			"02:30 occurs twice on Sun 25 Oct 2026, at 02:30 CEST and at 02:30 CET. The step counts from the first time. The second time is 2026-10-25T02:30:00+01:00."},
		"twice, the first is over, and a step": {"Europe/Berlin", "2026-10-25T02:10:00+01:00", "02:30 + 1 hour", "2026-10-25T03:30:00+01:00",
			"02:30 occurs twice on Sun 25 Oct 2026, and 02:30 CEST is over. The step counts from 02:30 CET."},
		"twice, the first by its name":  {"Europe/Berlin", "2026-10-24T12:00:00+02:00", "Sun 25 Oct 2026 02:30 CEST", "2026-10-25T02:30:00+02:00", ""},
		"twice, the second by its name": {"Europe/Berlin", "2026-10-24T12:00:00+02:00", "Sun 25 Oct 2026 02:30 CET", "2026-10-25T02:30:00+01:00", ""},
		"the second, at the first":      {"Europe/Berlin", "2026-10-25T02:30:00+02:00", "02:30:00 CET today", "2026-10-25T02:30:00+01:00", ""},
		"the minute before":             {"Europe/Berlin", "2026-03-28T12:00:00+01:00", "01:59 tomorrow", "2026-03-29T01:59:00+01:00", ""},
		"the minute after":              {"Europe/Berlin", "2026-03-28T12:00:00+01:00", "03:00 tomorrow", "2026-03-29T03:00:00+02:00", ""},
		"a skipped half hour": {"Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", "02:15 tomorrow", "2026-10-04T02:45:00+11:00",
			"02:15 does not exist on Sun 4 Oct 2026: the clocks go from 02:00 +1030 to 02:30 +11. It runs at 02:45 +11."},
		"twice": {"Europe/Berlin", "2026-10-24T12:00:00+02:00", "02:30 tomorrow", "2026-10-25T02:30:00+02:00",
			"02:30 occurs twice on Sun 25 Oct 2026, at 02:30 CEST and at 02:30 CET. It runs the first time. The second time is 2026-10-25T02:30:00+01:00."},
		"twice, west of Greenwich": {"America/New_York", "2026-10-31T12:00:00-04:00", "01:00 tomorrow", "2026-11-01T01:00:00-04:00",
			"01:00 occurs twice on Sun 1 Nov 2026, at 01:00 EDT and at 01:00 EST. It runs the first time. The second time is 2026-11-01T01:00:00-05:00."},
		"twice, the first is over": {"Europe/Berlin", "2026-10-25T02:10:00+01:00", "02:30", "2026-10-25T02:30:00+01:00",
			"02:30 occurs twice on Sun 25 Oct 2026, and 02:30 CEST is over. It runs at 02:30 CET."},
		"the second time is over too":        {"Europe/Berlin", "2026-10-25T02:40:00+01:00", "02:30", "2026-10-26T02:30:00+01:00", ""},
		"the minute after the repeated hour": {"Europe/Berlin", "2026-10-24T12:00:00+02:00", "03:00 tomorrow", "2026-10-25T03:00:00+01:00", ""},
		"twice, the first in this minute": {"Europe/Berlin", "2026-10-25T02:30:20+02:00", "02:30 today", "2026-10-25T02:30:00+02:00",
			"02:30 occurs twice on Sun 25 Oct 2026, at 02:30 CEST and at 02:30 CET. It runs the first time. The second time is 2026-10-25T02:30:00+01:00."},
		"now is the second time":               {"Europe/Berlin", "2026-10-25T02:30:00+01:00", "now", "2026-10-25T02:30:00+01:00", ""},
		"hours elapse":                         {"Europe/Berlin", "2026-10-25T00:30:00+02:00", "now + 3 hours", "2026-10-25T02:30:00+01:00", ""},
		"days keep the time of day":            {"Europe/Berlin", "2026-10-24T12:00:00+02:00", "now + 1 day", "2026-10-25T12:00:00+01:00", ""},
		"the second time, in UTC":              {"Europe/Berlin", "2026-10-24T12:00:00+02:00", "01:30 utc tomorrow", "2026-10-25T02:30:00+01:00", ""},
		"utc takes the date of UTC":            {"America/New_York", "2026-11-21T22:00:00-05:00", "23:00 utc today", "2026-11-22T18:00:00-05:00", ""},
		"a zone that never changed its clocks": {"UTC", "2026-10-25T00:30:00Z", "02:30", "2026-10-25T02:30:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) { check(t, test.zone, test.now, test.spec, test.want, test.note) })
	}
}

func check(t *testing.T, location, now, spec, want, note string) {
	t.Helper()
	got, notes, err := timespec.Parse(strings.Fields(spec), instant(t, now), zone(t, location))
	if err != nil {
		t.Fatal(err)
	}
	if got.Format(time.RFC3339) != want {
		t.Errorf("got %s, want %s", got.Format(time.RFC3339), want)
	}
	if diff := cmp.Diff(note, strings.Join(notes, "\n")); diff != "" {
		t.Error(diff)
	}
}

// Such a time could be printed, but a status could not store it.
func TestParse_lastYear(t *testing.T) {
	if got, _, err := timespec.Parse([]string{"9999-12-31", "23:30"}, instant(t, saturday), zone(t, "America/New_York")); err == nil {
		t.Errorf("got %s, which is in the year 10000 in UTC", got)
	}
}

func TestParse_now(t *testing.T) {
	const now = "2026-11-21T12:00:30.5+01:00"
	check(t, "Europe/Berlin", now, "2026-11-21T12:00:00+01:00", "2026-11-21T12:00:00+01:00", "")
	if got, _, err := timespec.ParseStamp("202611211200.30", instant(t, now), zone(t, "Europe/Berlin")); err != nil || got.Nanosecond() != 0 {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestParse_blanks(t *testing.T) {
	for _, words := range [][]string{{" 2026-11-22T02:00:00+01:00\r\n"}, {"\ttomorrow", "02:00\r\n"}, {"tomorrow\t\n02:00"}} {
		got, _, err := timespec.Parse(words, instant(t, saturday), zone(t, "Europe/Berlin"))
		if err != nil || !got.Equal(instant(t, "2026-11-22T02:00:00+01:00")) {
			t.Errorf("%q: got %s, %v", words, got, err)
		}
	}
}

func TestParseStamp(t *testing.T) {
	for stamp, want := range map[string]string{
		"202611220200":    "2026-11-22T02:00:00+01:00",
		"202611220200.07": "2026-11-22T02:00:07+01:00",
		"2611220200":      "2026-11-22T02:00:00+01:00",
		"11220200":        "2026-11-22T02:00:00+01:00",
		"6811220200":      "2068-11-22T02:00:00+01:00",
		"203603300230":    "2036-03-30T03:30:00+02:00 02:30 does not exist on Sun 30 Mar 2036: the clocks go from 02:00 CET to 03:00 CEST. It runs at 03:30 CEST.",
		"6911220200":      `invalid time "6911220200": Sat 22 Nov 1969 02:00 CET is in the past; use "now" to run at once`,
		"01220200":        `invalid time "01220200": Thu 22 Jan 2026 02:00 CET is in the past; use "now" to run at once`,
		"202602300200":    `invalid time "202602300200": it has a month, day, hour, minute, or second that does not exist`,
		"202611222400":    `invalid time "202611222400": it has a month, day, hour, minute, or second that does not exist`,
		"tomorrow":        `invalid time "tomorrow": expected [[CC]YY]MMDDhhmm[.SS], such as 202611220200`,
		"20261122020000":  `invalid time "20261122020000": expected [[CC]YY]MMDDhhmm[.SS], such as 202611220200`,
		"2611220":         `invalid time "2611220": expected [[CC]YY]MMDDhhmm[.SS], such as 202611220200`,
	} {
		t.Run(stamp, func(t *testing.T) {
			at, notes, err := timespec.ParseStamp(stamp, instant(t, saturday), zone(t, "Europe/Berlin"))
			got := strings.Join(append([]string{at.Format(time.RFC3339)}, notes...), " ")
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

// Whatever is accepted is not before the current minute, and RFC 3339 can write it.
func FuzzParse(f *testing.F) {
	for _, spec := range []string{"now + 1 month", "10:00 utc next week", "24.12.26 22h30", "nov 21, 2026 4pm", "2026-11-22T02:00:00Z", "8:5pm"} {
		f.Add(spec, int64(1795258830))
	}
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, spec string, unix int64) {
		now := time.Unix(unix%(1<<37), 0)
		at, _, err := timespec.Parse([]string{spec}, now, berlin)
		if err != nil {
			return
		}
		if at.Before(now.Add(-time.Minute)) {
			t.Errorf("%q at %s is %s, in the past", spec, now, at)
		}
		text := at.Format(time.RFC3339Nano)
		if again, _, err := timespec.Parse([]string{text}, now, berlin); err != nil || !again.Equal(at) {
			t.Errorf("%q at %s is %s, which reads as %s: %v", spec, now, text, again, err)
		}
	})
}

// A shell replaces the asterisks of cron by the names of files.
func TestParse_cron(t *testing.T) {
	for spec, isCron := range map[string]bool{
		"0 2 * * *": true, "*/5 * * * 1-5": true, "30 2 1 a.txt b": true, "0 2 CHANGELOG.md " + strings.Repeat("file ", 100): true, "@daily": true,
		"10 30 Nov 2026 a b": false, "02:00 a b c d": false, "0 2 a": false,
	} {
		_, _, err := timespec.Parse([]string{spec}, instant(t, saturday), zone(t, "Europe/Berlin"))
		if strings.Contains(err.Error(), "CronJob") != isCron || strings.Count(err.Error(), "\n") > 1 || len(err.Error()) > 300 {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}

// A command after a time can be distinguished from a mistake in the time.
func TestSyntaxError(t *testing.T) {
	for spec, want := range map[string]string{
		"02:00 bin/rails db:migrate": "bin/rails db:migrate",
		"now ls":                     "ls",
		"lst":                        "lst",
		"next blue moon":             "blue moon",
		" 10:00  today echo ":        "echo",
		"2026-11-22T02:00 x":         "x",
		"10amtomorrow friday":        "friday",
		"now +":                      "",
	} {
		_, _, err := timespec.Parse([]string{spec}, instant(t, saturday), zone(t, "Europe/Berlin"))
		syntax, ok := errors.AsType[*timespec.SyntaxError](err)
		isComplete := want != "" && spec != "lst" && spec != "next blue moon"
		if !ok || syntax.Text[syntax.Offset:] != want || syntax.Complete != isComplete {
			t.Errorf("%q: got %+v, %v, want it to stop at %q", spec, syntax, err, want)
		}
	}
}
