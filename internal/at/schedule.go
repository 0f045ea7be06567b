// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// SchedulePattern is the grammar of spec.schedule, the calendar included. The CRD has the same text in a CEL rule,
// and CEL's matches() runs on the same regular expression engine as Go, so admission and ParseSchedule cannot differ.
//
// The first half is date-time of RFC 3339 section 5.6 (T and Z in either case, any offset, any number of fraction
// digits), without the leap second 60, because leap seconds are not known in advance. The second half is the part of the
// timespec of at(1) that counts from now.
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
	// scheduleNow is the schedule of an At that runs at once.
	scheduleNow = "now"
)

var scheduleRegexp = regexp.MustCompile(SchedulePattern)

// unitSeconds has days of 24 hours. An At has no time zone, so no day is shorter or longer.
var unitSeconds = map[string]int64{"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}

// ParseSchedule returns when an At is due, in UTC. A relative schedule counts from created, the creation time of the At. The
// error for an invalid schedule describes a valid one.
func ParseSchedule(schedule string, created time.Time) (time.Time, error) {
	match := scheduleRegexp.FindStringSubmatch(schedule)
	switch {
	case match == nil || len(schedule) > maxScheduleLength:
		return time.Time{}, errors.New(ScheduleMessage)
	case schedule == scheduleNow:
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

// dueTime returns when an At is due. An At with the schedule now is due as soon as it is observed, whatever the clocks say.
func (o Observation) dueTime() (time.Time, error) {
	due, err := ParseSchedule(o.At.Spec.Schedule, o.At.CreationTimestamp.Time)
	if o.At.Spec.Schedule == scheduleNow && due.After(o.Now) {
		due = o.Now
	}
	return due, err
}

// StartableSince returns the earliest time at which an At that starts now could have started: when it was due, or when it
// was created if that was later. An At that was suspended or unusable, or that was edited since its last status,
// could not start before now. It returns false if the schedule is invalid or if this is not the first attempt.
func StartableSince(o Observation) (time.Time, bool) {
	due, err := o.dueTime()
	if err != nil || len(o.Pods) > 0 || o.runOf().recorded {
		return time.Time{}, false
	}
	status := &o.At.Status
	scheduled := meta.FindStatusCondition(status.Conditions, cnatv1alpha1.ConditionScheduled)
	blocked := scheduled != nil && scheduled.Status == metav1.ConditionFalse && scheduled.Reason != cnatv1alpha1.ReasonFailedCreate
	edited := status.ObservedGeneration > 0 && status.ObservedGeneration < o.At.Generation
	switch {
	case blocked || edited:
		return o.Now, true
	case due.Before(o.At.CreationTimestamp.Time):
		return o.At.CreationTimestamp.Time, true
	}
	return due, true
}

// WaitsForTime reports whether an At may wait for a time: its schedule, a deadline, a retry, or the end of its TTL.
func WaitsForTime(at *cnatv1alpha1.At) bool {
	return !IsDone(&at.Status) || at.Spec.TTLSecondsAfterFinished != nil
}

// IsDueWithin reports whether an At becomes due within a duration of now. An At that has started, is suspended, or has an invalid
// schedule does not become due.
func IsDueWithin(at *cnatv1alpha1.At, now time.Time, within time.Duration) bool {
	o := Observation{At: at, Now: now}
	if o.isDeleted() || IsDone(&at.Status) || o.runOf().recorded || ptr.Deref(at.Spec.Suspend, false) || o.isCanceled() {
		return false
	}
	due, err := o.dueTime()
	return err == nil && !due.Before(now) && !due.After(now.Add(within))
}

// The range of times that the API can store: the zero time of Go is stored as null, and a year has four digits.
var (
	firstTime = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// apiTime returns a time as the API stores it, in whole seconds, so that a computed status equals the stored one. A time
// outside the range of the API becomes the nearest one inside.
func apiTime(t time.Time) *metav1.Time {
	t = t.UTC().Truncate(time.Second)
	if t.Before(firstTime) {
		t = firstTime
	}
	if t.After(lastTime) {
		t = lastTime
	}
	return &metav1.Time{Time: t}
}

func formatTime(t time.Time) string { return apiTime(t).Format(time.RFC3339) }

// seconds returns n seconds, n >= 0, or the longest time.Duration (292 years) if n is larger.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Second)-1)) * time.Second
}
