// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redhat/podset-operator/internal/at/spec"
)

var created = time.Date(2030, 1, 30, 10, 0, 0, 0, time.FixedZone("CET", 3600))

func TestParseSchedule_table(t *testing.T) {
	for _, row := range rows(t, "testdata/schedules.txt") {
		if _, err := spec.ParseSchedule(row.input, created); (err == nil) != row.ok {
			t.Errorf("ParseSchedule(%q): got error %v, want ok %t", row.input, err, row.ok)
		}
	}
}

func TestParseSchedule_rules(t *testing.T) {
	wantRule(t, "self.matches('"+spec.SchedulePattern+"')", spec.ScheduleMessage)
	if strings.ContainsAny(spec.SchedulePattern, "`'\\") {
		t.Error("the pattern has a character that a CEL string or a marker would need quoted")
	}
}

func TestParseSchedule(t *testing.T) {
	for name, test := range map[string]struct{ schedule, want string }{
		"a time in UTC":                    {"2020-01-30T10:02:00Z", "2020-01-30T10:02:00Z"},
		"a time with an offset":            {"2030-01-30T10:02:00+05:30", "2030-01-30T04:32:00Z"},
		"a time with a fraction":           {"2030-01-30T10:02:00.25Z", "2030-01-30T10:02:00.25Z"},
		"digits after the nanosecond":      {"2030-01-30T10:02:00.1234567899Z", "2030-01-30T10:02:00.123456789Z"},
		"lower case":                       {"2030-01-30t10:02:00z", "2030-01-30T10:02:00Z"},
		"a leap day":                       {"2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z"},
		"the first year":                   {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		"now is the creation":              {"now", "2030-01-30T09:00:00Z"},
		"singular":                         {"now + 1 minute", "2030-01-30T09:01:00Z"},
		"seconds":                          {"now + 90 seconds", "2030-01-30T09:01:30Z"},
		"hours":                            {"now + 30 hours", "2030-01-31T15:00:00Z"},
		"days of 24 hours":                 {"now + 2 days", "2030-02-01T09:00:00Z"},
		"weeks":                            {"now + 1 week", "2030-02-06T09:00:00Z"},
		"more weeks than a Duration holds": {"now + 99999 weeks", "3946-08-07T09:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := spec.ParseSchedule(test.schedule, created)
			if err != nil {
				t.Fatal(err)
			}
			if got := got.Format(time.RFC3339Nano); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestParseSchedule_error(t *testing.T) {
	_, err := spec.ParseSchedule("tomorrow", created)
	for _, want := range []string{"2030-01-30T10:02:00Z", "now + 5 minutes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not contain %q", err, want)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, row := range rows(f, "testdata/schedules.txt") {
		f.Add(row.input)
	}
	admission := regexp.MustCompile(spec.SchedulePattern)
	f.Fuzz(func(t *testing.T, schedule string) {
		got, err := spec.ParseSchedule(schedule, created)
		admitted := len([]rune(schedule)) <= 64 && admission.MatchString(schedule)
		if admitted != (err == nil) {
			t.Fatalf("%q: admitted %t, but the error is %v", schedule, admitted, err)
		}
		if err != nil {
			return
		}
		relative := strings.HasPrefix(schedule, "now")
		if relative && got.Before(created) {
			t.Errorf("%q is before the creation: %s", schedule, got)
		}
		// An absolute schedule means the same as to Go's parser; RFC 3339 allows lower case where that does not.
		want, wantErr := time.Parse(time.RFC3339, strings.ToUpper(schedule))
		if !relative && (wantErr != nil || !want.Equal(got)) {
			t.Errorf("%q: got %s, want %s (%v)", schedule, got, want, wantErr)
		}
		if d := got.Sub(created); d == math.MinInt64 && relative {
			t.Errorf("%q overflows", schedule)
		}
	})
}

// The times that Go's parser accepts and the pattern does not are known, so that no time is rejected by mistake.
func TestParseSchedule_days(t *testing.T) {
	for day := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2032; day = day.AddDate(0, 0, 1) {
		if _, err := spec.ParseSchedule(day.Format(time.RFC3339), created); err != nil {
			t.Errorf("%s: %v", day, err)
		}
	}
	for year := range 10000 {
		leap := year%4 == 0 && (year%100 != 0 || year%400 == 0)
		day := time.Date(year, 2, 29, 0, 0, 0, 0, time.UTC)
		text := strings.Replace(day.Format(time.RFC3339), "-03-01T", "-02-29T", 1)
		if _, err := spec.ParseSchedule(text, created); (err == nil) != leap {
			t.Errorf("%s: error %v, leap year %t", text, err, leap)
		}
	}
}
