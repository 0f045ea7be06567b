// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redhat/podset-operator/internal/timespec"
)

// location returns the time zone of --tz, or that of this machine.
func (p *plugin) location() (*time.Location, error) {
	if p.zone == "" {
		return time.Local, checkZone(os.Getenv("TZ"))
	}
	if offset, err := time.Parse("-07:00", p.zone); err == nil {
		_, seconds := offset.Zone()
		return time.FixedZone(p.zone, seconds), nil
	}
	location, err := time.LoadLocation(p.zone)
	if err != nil {
		location, err = time.LoadLocation(strings.ToUpper(p.zone)) // utc, cet
	}
	if err != nil {
		return nil, fmt.Errorf("--tz: unknown time zone %s; it takes a name such as Europe/Berlin, America/New_York, or UTC, or an offset such as +05:30", p.zone)
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

// parseTime returns the time that the words, or else the stamp of -t, mean, and what is to be said about it.
func (p *plugin) parseTime(words []string, stamp string, now time.Time) (time.Time, []string, error) {
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
	due, notes, err := timespec.Parse(words, now, location)
	if err != nil {
		if unknown, right := correct(words); right != "" {
			err = fmt.Errorf("the time is not understood at %q; use %s", unknown, right)
		}
	}
	return due, notes, err
}

// misunderstood returns what is not understood in words, or nil if they are a time, also one that cannot be meant.
func misunderstood(words []string) *timespec.MisunderstoodError {
	// Neither the current time nor the time zone matter for this.
	_, _, err := timespec.Parse(words, time.Unix(0, 0), time.UTC)
	unknown, _ := errors.AsType[*timespec.MisunderstoodError](err)
	return unknown
}

// explainTimeError returns an error about TIME with its likely cause: a mistyped command, or a command without -- before it.
func explainTimeError(cmd *cobra.Command, words, command []string, err error) error {
	if len(words) == 0 || misunderstood(words) == nil {
		return err
	}
	if similar := cmd.SuggestionsFor(words[0]); misunderstood(words[:1]) != nil && len(words[0]) > 2 && len(similar) > 0 {
		return fmt.Errorf("%q is no time and no command; did you mean \"kubectl at %s\"?", words[0], similar[0])
	}
	if _, right := correct(words); right != "" {
		return err
	}
	n := len(words) - 1
	for n > 0 && misunderstood(words[:n]) != nil {
		n--
	}
	if n == 0 && !cmd.Flags().Changed("time") {
		return err
	}
	rest := words[n:]
	if len(command) > 0 {
		rest = slices.Concat(rest, []string{"--"}, command)
	}
	quoted, quoteErr := quoteCommand(rest)
	if quoteErr != nil {
		return err
	}
	if unknown := new(timespec.MisunderstoodError); errors.As(err, &unknown) {
		err = fmt.Errorf("the time is not understood at %q", unknown.Text)
	}
	return fmt.Errorf("%w; a command stands behind --: kubectl at %s", err, strings.Join(append(slices.Clone(words[:n]), "--", quoted), " "))
}

// correct returns what is not understood in words, and how to write it: with -t for a time in the form of POSIX, with --tz for a time zone
// at the end, or without "at" and "on". It returns "" for both if it does not know.
func correct(words []string) (unknown, right string) {
	err := misunderstood(words)
	if err == nil {
		return "", ""
	}
	last := words[len(words)-1]
	if _, _, e := timespec.ParseStamp(last, time.Unix(0, 0), time.UTC); e == nil && len(words) == 1 {
		return last, "-t " + last
	}
	if _, e := time.LoadLocation(last); e == nil && err.Text == last && len(words) > 1 {
		return last, "--tz " + last
	}
	plain := slices.DeleteFunc(strings.Fields(strings.Join(words, " ")), func(word string) bool { return word == "at" || word == "on" })
	if len(plain) > 0 && misunderstood(plain) == nil {
		return err.Text, strings.Join(plain, " ")
	}
	return "", ""
}

// formatSchedule returns t as spec.schedule.
func formatSchedule(t time.Time) string { return t.Format(time.RFC3339Nano) }

// formatTime returns t as people read it, with seconds where there are some.
func formatTime(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("Mon 2 Jan 2006 15:04:05 MST")
	}
	return t.Format(timespec.Layout)
}

// relativeTime returns how far t is from now, in its two largest units: "in 9h 12m", "now", "3d 4h ago".
func relativeTime(t, now time.Time) string {
	seconds := t.Unix() - now.Unix() // A time.Duration ends at 292 years.
	if t.Nanosecond() > now.Nanosecond() {
		seconds++ // rounded up: a started second counts
	}
	switch {
	case seconds > 0:
		return "in " + humanDuration(seconds)
	case seconds == 0:
		return "now"
	default:
		return humanDuration(-seconds) + " ago"
	}
}

// humanDuration returns a number of seconds in its two largest units.
func humanDuration(seconds int64) string {
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

// durationValue is the value of a flag that also takes days and weeks.
type durationValue time.Duration

func (d *durationValue) Set(text string) error {
	value, err := timespec.ParseDuration(text)
	*d = durationValue(value)
	return err
}

func (d *durationValue) String() string { return time.Duration(*d).String() }
func (d *durationValue) Type() string   { return "duration" }
