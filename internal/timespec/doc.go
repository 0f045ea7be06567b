// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timespec reads the time language of at(1). It is pure: Parse computes one instant from words, the current time, and a
// time zone.
//
// # Grammar
//
// The words are joined by blanks, case does not matter, and words need no blank between them where their borders are clear
// (10amtomorrow).
//
//	timespec  = rfc3339
//	          | "now" [step]
//	          | time [date] [step]
//	          | date [time] [step]
//	time      = ( clock ["am" | "pm"] | "noon" | "midnight" | "teatime" ) ["utc"]
//	clock     = HH ":" MM | HHMM | HH
//	date      = "today" | "tomorrow"
//	          | ["next"] weekday
//	          | "next" unit
//	          | month day [[","] year]
//	          | day month [year]
//	          | MM "/" DD "/" year | DD "." MM "." year | year "-" MM "-" DD | MMDD year
//	step      = ( "+" | "-" ) number unit | "next" unit
//	unit      = second | minute | min | hour | day | week | month | year, or their plurals
//	year      = YY | CCYY
//
// Months and days of the week are English, in full or by their first three letters. Between the hour and the minute, the
// colon can also be a dot, a comma, an apostrophe, or an h when the minute has two digits. A YY below 70 is in this
// century, any other YY in the last one. rfc3339 is a date-time of RFC 3339.
//
// # Meaning
//
//   - Without a time, the time of day is the current one. Without a date, the day is today, or tomorrow when that time has
//     passed today. A step of days or more makes the day today in any case: 4pm + 3 days is three days from now.
//   - A day of the week is the next one that is not today. A date without a year is in this year, or in the next one when
//     its day has passed.
//   - Seconds, minutes, and hours of a step are elapsed time. Days, weeks, months, and years keep the time of day. A month
//     that is too short counts on into the next one, and a note says so: 31 January + 1 month is 3 March.
//   - With utc, everything is read in UTC, "today" included.
//   - A local time that a change of the clocks skips counts on from before the change: 02:30 becomes 03:30. One that occurs
//     twice means the first that is not over. A note says so in both cases.
//   - A time before the current minute is an error.
//
// # Sources
//
// The language is that of the utility at in IEEE Std 1003.1-2017 (POSIX) and of Debian's at(1) 3.2.5, in the file timespec
// of its documentation. A specification that both understand means what Debian's at(1) makes of it. Where they differ:
//
//   - An hour alone (10), four digits with am or pm (1030pm), a minute of one digit (8:05 as 8:5), and "next" unit behind
//     a date follow POSIX. Debian's at(1) rejects them.
//   - A year of two digits, a weekday behind "next", teatime, utc behind noon, "-" steps, and dates in digits follow Debian.
//     POSIX does not have them.
//   - 4pm + 3 days follows Debian. By POSIX it would be one day later in the evening.
//   - Hours end at 23 and minutes at 59, and a day must exist in its month, as POSIX says. Debian's at(1) counts on.
//
// Neither POSIX nor Debian has the rest: RFC 3339, seconds in a step, a date before a time, elapsed hours across a change of the
// clocks, and seconds of the current time that are kept. The differential test lists every difference from Debian's at(1) by
// name, with its reason.
package timespec
