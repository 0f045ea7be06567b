// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0":           0,
		"90s":         90 * time.Second,
		"1h30m":       90 * time.Minute,
		"1.5h":        90 * time.Minute,
		"1ms":         time.Millisecond,
		"-1s":         -time.Second,
		"7d":          7 * 24 * time.Hour,
		"7D":          7 * 24 * time.Hour,
		"1w":          7 * 24 * time.Hour,
		"1d12h":       36 * time.Hour,
		"1.5d":        36 * time.Hour,
		"1d 2h 3m 4s": 26*time.Hour + 3*time.Minute + 4*time.Second,
		"2 days":      48 * time.Hour,
		"1 Day":       24 * time.Hour,
		"2weeks":      14 * 24 * time.Hour,
		"90 min":      90 * time.Minute,
		"10 mins":     10 * time.Minute,
		"3 hrs":       3 * time.Hour,
		" 1 hour ":    time.Hour,
		"-1d":         -24 * time.Hour,
		"15000 weeks": 15000 * 7 * 24 * time.Hour,
	} {
		if got, err := timespec.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "d", "1M", "1 month", "1y", "2 years", "1 day 2", "day 1", "--1d", "1.2.3d", "1h,30m", "PT1H", "1 tag", "1d-2h", "tomorrow", "99999 weeks"} {
		want := fmt.Sprintf("invalid duration %q: expected a number with a unit, such as 90s, 30m, 12h, 7d, or 2w", text)
		if got, err := timespec.ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestDistance(t *testing.T) {
	now := time.Date(2026, 11, 21, 16, 48, 0, 0, time.UTC)
	for want, d := range map[string]time.Duration{
		"in 9h 12m": 9*time.Hour + 12*time.Minute + 30*time.Second,
		"in 3d":     72 * time.Hour,
		"in 1d 2h":  26 * time.Hour,
		"in 1h":     time.Hour + 30*time.Second,
		"in 1m 1s":  61 * time.Second,
		"in 1s":     time.Millisecond,
		"now":       0,
		"1s ago":    -time.Second,
		"2m 5s ago": -125 * time.Second,
		"400d ago":  -400 * 24 * time.Hour,
	} {
		if got := timespec.Distance(now.Add(d), now); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
	if got := timespec.Distance(now.AddDate(300, 0, 0), now); got != "in 109572d" {
		t.Errorf("in 300 years: got %q", got)
	}
	if got := timespec.Distance(now.AddDate(-300, 0, 0), now); got != "109573d ago" {
		t.Errorf("300 years ago: got %q", got)
	}
	if got := timespec.Distance(now.Add(-time.Millisecond), now); got != "now" {
		t.Errorf("a millisecond ago: got %q", got)
	}
}

func TestFormat(t *testing.T) {
	at := time.Date(2026, 11, 21, 16, 48, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{"Sat 21 Nov 2026 16:48 UTC": at, "Sat 21 Nov 2026 16:48:05 UTC": at.Add(5 * time.Second)} {
		if got := timespec.Format(at); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
