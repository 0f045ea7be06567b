// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redhat/podset-operator/internal/timespec"
)

var (
	specifications = flag.Int("specifications", 500, "how many specifications the differential test tries")
	seed           = flag.Uint64("seed", 1, "seed of the differential test")
)

// The instants of the differential test: leap days, ends of months and years, and the changes of the clocks.
var instants = []struct{ zone, now string }{
	{"UTC", "2026-11-21T12:00:00Z"},
	{"UTC", "2026-12-31T23:59:59Z"},
	{"UTC", "2027-01-01T00:00:00Z"},
	{"UTC", "2027-02-28T12:34:56Z"},
	{"UTC", "2028-02-28T23:30:00Z"},
	{"UTC", "2028-02-29T12:00:00Z"},
	{"UTC", "2027-03-01T00:01:00Z"},
	{"Asia/Kolkata", "2026-04-30T23:45:10+05:30"},
	{"Europe/Berlin", "2026-01-31T10:00:00+01:00"},
	{"Europe/Berlin", "2026-03-28T13:00:30+01:00"}, // the day before the clocks go forward
	{"Europe/Berlin", "2026-03-29T01:59:00+01:00"}, // the minute before
	{"Europe/Berlin", "2026-03-29T03:00:00+02:00"}, // the minute after
	{"Europe/Berlin", "2026-10-24T13:00:00+02:00"}, // the day before the clocks go back
	{"Europe/Berlin", "2026-10-25T02:30:00+02:00"}, // the first time
	{"Europe/Berlin", "2026-10-25T02:30:00+01:00"}, // the second time
	{"America/New_York", "2026-03-08T01:30:00-05:00"},
	{"America/New_York", "2026-11-01T12:00:00-05:00"},
	{"America/New_York", "2027-12-30T22:15:00-05:00"},
	{"Australia/Sydney", "2026-04-04T18:00:00+11:00"},
	{"Australia/Sydney", "2026-10-03T23:59:00+10:00"},
}

// A trial is one specification at one instant, with both answers: a zero time is a rejection.
type trial struct {
	text   string
	now    time.Time
	ours   time.Time
	notes  string
	err    error
	theirs time.Time
}

func (c trial) has(pattern string) bool {
	return regexp.MustCompile(`(?i)` + pattern).MatchString(c.text)
}

// onlyOurs reports whether at(1) rejects what we accept; onlyTheirs is the opposite.
func (c trial) onlyOurs() bool   { return c.err == nil && c.theirs.IsZero() }
func (c trial) onlyTheirs() bool { return c.err != nil && !c.theirs.IsZero() }
func (c trial) both() bool       { return c.err == nil && !c.theirs.IsZero() }
func (c trial) because(text string) bool {
	return c.onlyTheirs() && strings.Contains(c.err.Error(), text)
}

// hourApart reports whether the answers differ by the hour by which the clocks of the zone change, apart from seconds.
func (c trial) hourApart() bool {
	january := time.Date(c.now.Year(), time.January, 1, 0, 0, 0, 0, c.now.Location())
	changes := january.Format("-07") != january.AddDate(0, 6, 0).Format("-07")
	return c.both() && changes && c.ours.Truncate(time.Minute).Sub(c.theirs).Abs() == time.Hour
}

// dayApart reports whether the answers differ by at most a day of 25 hours.
func (c trial) dayApart() bool { return c.both() && c.ours.Sub(c.theirs).Abs() <= 25*time.Hour }

// near reports whether the clocks change within a day and a half of one of the times.
func near(times ...time.Time) bool {
	for _, t := range times {
		if t.Add(-36*time.Hour).Format("-07") != t.Add(36*time.Hour).Format("-07") {
			return true
		}
	}
	return false
}

// The differences from Debian's at(1) 3.2.5, in the order of the search. A trial that differs for none of these reasons fails the test.
var differences = []struct {
	name, reason string
	is           func(trial) bool
}{
	{"seconds kept", "at(1) drops the seconds of the current time, so that now + 1 minute can be a second away",
		func(c trial) bool { return c.both() && c.ours.Truncate(time.Minute).Equal(c.theirs) }},
	{"seconds unit", "spec.schedule of an At counts seconds too",
		func(c trial) bool { return c.onlyOurs() && c.has(`seconds?\b`) }},
	{"ISO 8601", "it is what spec.schedule of an At holds, with or without seconds and an offset",
		func(c trial) bool { return c.onlyOurs() && c.has(`\dT\d`) }},
	{"seconds of a time", "date(1) and kubectl at print them",
		func(c trial) bool { return c.onlyOurs() && c.has(`\d:\d\d:\d\d`) }},
	{"zone", "people write GMT, an offset, or the name of the zone that kubectl at prints",
		func(c trial) bool { return c.onlyOurs() && c.has(`\b(gmt|cet|cest|est)\b|[+-]\d\d:\d\d`) }},
	{"weekday before a date", "kubectl at and date(1) print it; one that does not match the date is an error",
		func(c trial) bool {
			return c.onlyOurs() && c.has(`(sun|mon|tue|wed|thu|fri|sat)[a-z]*,? ([a-z]{3,9} \d|\d+[ ./-])`)
		}},
	{"step alone", "+ 2 hours and in 2 hours are now + 2 hours",
		func(c trial) bool { return c.onlyOurs() && c.has(`^(in\b|[+])`) }},
	{"several steps, or short units", "kubectl at prints 9h 12m, and takes it",
		func(c trial) bool {
			return c.onlyOurs() && c.has(`\d ?(s|sec|secs|m|mins|h|hr|hrs|d|w|y)\b|\dh\d\dm|([+-] ?\d+ ?|next )[a-z]+ ?(\d|[+-]|next)`)
		}},
	{"year first without dashes", "ISO 8601 and others write it; at(1) takes its first digits for a month",
		func(c trial) bool { return c.onlyOurs() && c.has(`\b(20\d\d[01]\d[0-3]\d|20\d\d/)`) }},
	{"hour alone", "POSIX: a number of one or two digits is an hour; at(1) wants minutes, am, or pm",
		func(c trial) bool { return c.onlyOurs() && c.has(`(^|\s)\d{1,2}(\s|$)`) }},
	{"four digits with am or pm", "POSIX: wallclock_hr_min am_pm",
		func(c trial) bool { return c.onlyOurs() && c.has(`\b\d{4} ?[ap]m\b`) }},
	{"minute of one digit", "POSIX: a minute is a number of one or two digits",
		func(c trial) bool { return c.onlyOurs() && c.has(`\b\d{1,2}:\d\b`) }},
	{"comma", "POSIX: month day, year; at(1) takes 21,20 of Nov 21,2026 for a time of day",
		func(c trial) bool { return (c.onlyOurs() || c.onlyTheirs()) && c.has(`\d,\d{4}`) }},
	{"next unit behind now or a date", "POSIX: increment : next inc_period",
		func(c trial) bool {
			return c.onlyOurs() && c.has(`\S next (second|min|hour|day|week|month|year)`)
		}},
	{"date first", "people write tomorrow 02:00; at(1) wants the time first",
		func(c trial) bool {
			return c.onlyOurs() && c.has(`(day|tomorrow|today|\d|[a-z]{3}|week|month|year|hour|minute) (\d{1,2}[:h.,']\d\d|\d{4}|\d{1,2} ?[ap]m|noon|midnight|teatime)`)
		}},
	{"no such time of day", "POSIX: hours to 23, minutes to 59; at(1) counts 24 and 60 on",
		func(c trial) bool { return c.because("invalid time of day") }},
	{"no such day", "POSIX: a day in the range of its month; at(1) makes 3 March of 31 February",
		func(c trial) bool { return c.because("has no day") || c.because("invalid date") }},
	{"old year", "at(1) reads a year up to 1900 as one counted from 1900: 1030 is 2930",
		func(c trial) bool {
			return c.because("in the past") && c.has(`(0\d{3}|1[0-8]\d\d|1900)\b`) || c.both() && c.theirs.Year() == c.ours.Year()+1900
		}},
	{"past day without a year", "at(1) puts today - 1 day into the next year, as it does with dates",
		func(c trial) bool {
			later := c.theirs.Sub(c.ours) // by a year
			return c.because("in the past") && c.has(`- ?\d`) && 364*24*time.Hour < later && later < 367*24*time.Hour
		}},
	{"hours behind a time", "next hour is + 1 hour: 10:00 next hour is tomorrow at noon, as 10:00 + 1 hour is; at(1) says it is past, and takes the same day of any month for today",
		func(c trial) bool {
			sameDay := c.theirs.After(c.ours) && c.ours.Day() == c.now.Day() && c.has(`\d ?(minute|min|hour)`)
			return c.onlyOurs() && c.has(`next (min|hour)`) || c.dayApart() && (sameDay || c.has(`next (min|hour)`))
		}},
	{"date of utc", "with utc, everything is read in UTC; at(1) takes the day, and what is past, from local time",
		func(c trial) bool {
			_, offset := c.now.Zone()
			return c.has(`\butc\b`) && offset != 0
		}},
	{"far future", "RFC 3339 has years to 9999",
		func(c trial) bool { return c.because("after the year 9999") }},
	{"counted before the year", "at(1) counts months and days before it adds the year: 30 December 2027 + 2 months is 2 March, though February 2028 has 29 days",
		func(c trial) bool {
			isLeap := c.ours.Year() > c.now.Year() && c.ours.Year()%4 == 0
			return c.dayApart() && (c.has(`\d ?month|next month`) || isLeap && c.has(`[+-] ?\d`))
		}},
	{"elapsed hours", "two hours from now are two hours; at(1) moves the result by an hour when the clocks change on the way",
		func(c trial) bool {
			return c.has(`(\d ?|next )(second|minute|min|hour)`) && c.hourApart()
		}},
	{"skipped time", "what does not exist counts on from before the change, with a note; at(1) sometimes goes back instead",
		func(c trial) bool { return strings.Contains(c.notes, "does not exist") }},
	{"repeated time", "what occurs twice means the first time that is not over, with a note; at(1) takes either, and may say that it is past",
		func(c trial) bool { return strings.Contains(c.notes, "occurs twice") }},
	{"on the way over a change of the clocks", "at(1) adds to a time that today does not have, or has twice, and may take the result for past, or not",
		func(c trial) bool {
			soon := c.onlyOurs() && c.ours.Sub(c.now) <= time.Hour || c.because("in the past") && c.theirs.Sub(c.now) <= time.Hour
			return near(c.now) && (c.hourApart() || soon) || near(c.ours, c.theirs) && c.dayApart()
		}},
}

// TestParse_debian compares the package with at(1): both interpret the same words at the same time in the same way, except for the
// differences above. It needs at, faketime, and root for at's spool directory, from which it removes what it adds. at is copied, because
// the time of a setuid program cannot be faked.
func TestParse_debian(t *testing.T) {
	program := copyOfAt(t)
	random := rand.New(rand.NewPCG(*seed, 0))
	seen, accepted := map[string]int{}, 0
	for tried := 0; tried < *specifications; {
		var trials []trial
		for range min(200, *specifications-tried) {
			i := instants[(tried+len(trials))%len(instants)]
			trials = append(trials, trial{text: generate(random), now: instant(t, i.now).In(zone(t, i.zone))})
		}
		askAt(t, program, trials)
		for _, c := range trials {
			var notes []string
			c.ours, notes, c.err = timespec.Parse(strings.Fields(c.text), c.now, c.now.Location())
			c.notes = strings.Join(notes, " ")
			if !c.theirs.IsZero() {
				accepted++
			}
			name := compare(c)
			seen[name]++
			if name == "?" {
				t.Errorf("%q at %s in %s\nhere:  %s %s %v\nat(1): %s", c.text, c.now.Format(timespec.Layout), c.now.Location(),
					c.ours.Format(time.RFC3339), c.notes, c.err, c.theirs.In(c.now.Location()).Format(time.RFC3339))
			}
		}
		tried += len(trials)
	}
	t.Logf("%d specifications at %d instants, %d of them accepted by at(1); differences:", *specifications, len(instants), accepted)
	for _, d := range differences {
		t.Logf("%5d  %s: %s", seen[d.name], d.name, d.reason)
		if seen[d.name] == 0 && *specifications >= 10000 {
			t.Errorf("the difference %q does not occur", d.name)
		}
	}
}

// compare returns the name of the difference between both answers, "" if they agree, or "?" if it has no name.
func compare(c trial) string {
	if c.err != nil && c.theirs.IsZero() || c.both() && c.ours.Equal(c.theirs) {
		return ""
	}
	for _, d := range differences {
		if d.is(c) {
			return d.name
		}
	}
	return "?"
}

// copyOfAt returns the path of a copy of at, or skips the test.
func copyOfAt(t *testing.T) string {
	t.Helper()
	_, err := exec.LookPath("faketime")
	at, err2 := exec.LookPath("at")
	if err := errors.Join(err, err2); err != nil || os.Geteuid() != 0 {
		t.Skipf("needs root and the packages at and faketime: %v", err)
	}
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "at")
	if err := os.WriteFile(program, data, 0o700); err != nil {
		t.Fatal(err)
	}
	return program
}

var jobLine = regexp.MustCompile(`(?m)^job (\d+) at `)

// askAt fills in what at(1) understands, and removes the jobs.
func askAt(t *testing.T, program string, trials []trial) {
	t.Helper()
	jobs := map[string]int{}
	for i, c := range trials {
		// faketime gives the program a time that stands still.
		cmd := exec.Command("faketime", append([]string{"-f", fmt.Sprint(c.now.Unix()), program, "-f", os.DevNull}, strings.Fields(c.text)...)...)
		cmd.Env = append(os.Environ(), "FAKETIME_FMT=%s", "TZ="+c.now.Location().String())
		output, _ := cmd.CombinedOutput() // a rejection is an answer
		if match := jobLine.FindSubmatch(output); match != nil {
			jobs[string(match[1])] = i
		}
	}
	if len(jobs) == 0 {
		return
	}
	numbers := slices.Collect(maps.Keys(jobs))
	defer func() {
		if output, err := exec.Command(program, append([]string{"-r"}, numbers...)...).CombinedOutput(); err != nil {
			t.Errorf("removing the jobs: %v\n%s", err, output)
		}
	}()
	output, err := exec.Command("atq", "-o", "%s").Output()
	if err != nil {
		t.Fatalf("listing the jobs: %v", err)
	}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		unix, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			t.Fatalf("at -l prints %q: %v", line, err)
		}
		if i, ours := jobs[fields[0]]; ours {
			trials[i].theirs = time.Unix(unix, 0).In(trials[i].now.Location())
		}
	}
}

// generate returns a specification. One in eight loses a word or changes its order, and most of those are wrong.
func generate(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	var parts []string
	switch r.IntN(10) {
	case 0:
		parts = []string{pick("now", "now", "Now")}
	case 1, 2:
		parts = []string{aTime(r, pick)}
	case 3, 4:
		parts = []string{aDate(r, pick)}
	case 5:
		parts = []string{aDate(r, pick), aTime(r, pick)}
	default:
		parts = []string{aTime(r, pick), aDate(r, pick)}
	}
	if r.IntN(2) == 0 {
		parts = append(parts, aStep(r, pick))
	}
	if r.IntN(50) == 0 {
		return fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d%s", 26+r.IntN(9), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), pick(":00Z", "", "+05:30", ":30"))
	}
	if r.IntN(50) == 0 {
		parts = []string{pick("in", "+", "now +"), pick("90s", "2h", "1h30m", "1d 2h", "3 days", "2 hours 5 minutes", "1w")}
	}
	words := strings.Fields(strings.Join(parts, " "))
	switch r.IntN(16) {
	case 0:
		i := r.IntN(len(words))
		words = slices.Delete(words, i, i+1)
	case 1:
		i, j := r.IntN(len(words)), r.IntN(len(words))
		words[i], words[j] = words[j], words[i]
	}
	return strings.Join(words, " ")
}

func aTime(r *rand.Rand, pick func(...string) string) string {
	hour, minute := r.IntN(25), r.IntN(60)
	if r.IntN(100) == 0 {
		minute = 60
	}
	if r.IntN(4) == 0 {
		hour, minute = 1+r.IntN(3), pickMinute(r) // where the clocks change
	}
	half := fmt.Sprintf("%d%s", r.IntN(13), pick("am", "pm", " am", " PM"))
	text := []string{
		fmt.Sprintf("%02d:%02d", hour, minute),
		fmt.Sprintf("%d:%02d", hour, minute),
		fmt.Sprintf("%02d%02d", hour, minute),
		fmt.Sprintf("%d%s%02d", hour, pick("h", ".", ",", "'"), minute),
		half,
		fmt.Sprintf("%d:%02d%s", r.IntN(14), minute, pick("am", "pm", " am")),
		pick("noon", "midnight", "teatime"),
		pick(fmt.Sprint(hour), fmt.Sprintf("%02d%02dpm", r.IntN(12), minute), fmt.Sprintf("%d:%d", hour, r.IntN(10))),
	}[r.IntN(8)]
	if r.IntN(20) == 0 {
		text = fmt.Sprintf("%02d:%02d:%02d", hour, minute, r.IntN(60))
	}
	switch r.IntN(20) {
	case 0, 1:
		text += pick(" utc", " UTC")
	case 2:
		text += pick(" GMT", " +01:00", " CET", " CEST", " EST")
	}
	return text
}

func pickMinute(r *rand.Rand) int { return []int{0, 0, 15, 30, 59}[r.IntN(5)] }

func aDate(r *rand.Rand, pick func(...string) string) string {
	year, month, day := 2026+r.IntN(4), 1+r.IntN(12), 1+r.IntN(28)
	if r.IntN(3) == 0 {
		day = 28 + r.IntN(4)
	}
	if r.IntN(4) == 0 { // where the clocks change
		when := []string{"2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04"}[r.IntN(6)]
		_, _ = fmt.Sscanf(when, "%d-%d-%d", &year, &month, &day)
	}
	if r.IntN(100) == 0 {
		year, day = 1000+r.IntN(900), r.IntN(29)
	}
	name := time.Month(month).String()
	name = pick(name, name[:3], strings.ToLower(name))
	weekday := time.Weekday(r.IntN(7)).String()
	if r.IntN(20) == 0 { // of the right day, mostly
		weekday = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Weekday().String()
		weekday = pick(weekday, weekday[:3], weekday[:3], "Monday")
		return weekday + pick(" ", ", ") + pick(fmt.Sprintf("%d %s %d", day, name, year), fmt.Sprintf("%d-%02d-%02d", year, month, day))
	}
	if r.IntN(50) == 0 {
		return fmt.Sprintf(pick("%d/%02d/%02d", "%d%02d%02d"), year, month, day)
	}
	return []string{
		pick("today", "tomorrow"),
		pick("tomorrow", "today"),
		pick(weekday, weekday[:3]),
		pick("next "+weekday, "next week", "next month", "next year", "next day", "next hour", "next minute"),
		fmt.Sprintf("%s %d", name, day),
		fmt.Sprintf("%s %d%s%d", name, day, pick(" ", " ", ", ", ","), year),
		fmt.Sprintf("%d %s", day, name),
		fmt.Sprintf("%d %s %s", day, name, pick(fmt.Sprint(year), fmt.Sprintf("%02d", year%100))),
		fmt.Sprintf("%d/%d/%s", month, day, pick(fmt.Sprint(year), fmt.Sprintf("%02d", year%100))),
		fmt.Sprintf("%d.%d.%s", day, month, pick(fmt.Sprint(year), fmt.Sprintf("%02d", year%100))),
		fmt.Sprintf("%s-%d-%d", pick(fmt.Sprint(year), fmt.Sprintf("%02d", year%100)), month, day),
		fmt.Sprintf("%s%02d%s", pick(fmt.Sprint(month), fmt.Sprintf("%02d", month)), day, pick(fmt.Sprint(year), fmt.Sprintf("%02d", year%100))),
	}[r.IntN(12)]
}

func aStep(r *rand.Rand, pick func(...string) string) string {
	count := []int{1, 1 + r.IntN(5), r.IntN(50), r.IntN(1000), r.IntN(10000)}[r.IntN(5)]
	unit := pick("minute", "hour", "day", "week", "month", "year")
	if r.IntN(20) == 0 {
		unit = pick("second", "min")
	} else {
		unit += pick("", "s")
	}
	switch r.IntN(8) {
	case 0:
		return "next " + strings.TrimSuffix(unit, "s")
	case 1:
		return fmt.Sprintf("- %d %s", count, unit)
	case 2:
		return fmt.Sprintf("+%d%s", count, unit)
	}
	return fmt.Sprintf("+ %d %s", count, unit)
}
