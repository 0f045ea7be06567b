// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spec interprets the spec of an At: the schedule, the command, a template that can run it once, and the pod of
// an attempt. It is pure, and both the operator and kubectl at use it.
package spec

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// SchedulePattern is the grammar of spec.schedule, the calendar included. The CRD has the same text in a CEL rule,
// and CEL's matches() runs on the same regular expression engine as Go, so admission and ParseSchedule cannot differ.
//
// The first half is date-time of RFC 3339 section 5.6 (T and Z in either case, any offset, any number of fraction
// digits), without the leap second 60, because leap seconds are not known in advance. The second half is the part of
// the timespec of at(1) that counts from now.
const SchedulePattern = `^(?:(?:` +
	`[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))` +
	`|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)` +
	`[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])` +
	`|now(?: *[+] *([0-9]{1,9}) *(second|minute|hour|day|week)s?)?)$`

// ScheduleMessage describes a valid schedule. The CRD has the same text.
const ScheduleMessage = "spec.schedule must be a time such as 2030-01-30T10:02:00Z (RFC 3339, a day of the calendar, with Z or an offset), " +
	"or now, or now + 5 minutes (seconds, minutes, hours, days or weeks)"

const (
	// maxScheduleLength is the maxLength of spec.schedule, in characters; whatever matches SchedulePattern is ASCII.
	maxScheduleLength = 64
	// Now is the schedule of an At that runs at once.
	Now = "now"
)

var scheduleRegexp = regexp.MustCompile(SchedulePattern)

// unitSeconds has days of 24 hours, because an At has no time zone.
var unitSeconds = map[string]int64{"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}

// ParseSchedule returns when an At is due, in UTC. A relative schedule counts from created, the creation time of the
// At. The error about an invalid schedule describes a valid one.
func ParseSchedule(schedule string, created time.Time) (time.Time, error) {
	match := scheduleRegexp.FindStringSubmatch(schedule)
	switch {
	case match == nil || len(schedule) > maxScheduleLength:
		return time.Time{}, errors.New(ScheduleMessage)
	case schedule == Now:
		return created.UTC(), nil
	case match[1] != "":
		// Seconds since 1970 and not a time.Duration, which ends after 292 years. Nine digits always parse.
		n, _ := strconv.ParseInt(match[1], 10, 64)
		return time.Unix(created.Unix()+n*unitSeconds[match[2]], int64(created.Nanosecond())).UTC(), nil
	default:
		t, err := time.Parse(time.RFC3339, strings.ToUpper(schedule))
		return t.UTC(), err
	}
}

// Seconds returns n seconds, n >= 0, or the longest time.Duration (292 years) if n is larger.
func Seconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Second)-1)) * time.Second
}
