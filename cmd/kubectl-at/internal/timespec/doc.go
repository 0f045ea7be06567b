// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timespec reads the time language of at(1). It is pure: Parse computes one instant from words, the current
// time, and a time zone.
//
// # Grammar
//
// The words are joined by blanks, case is ignored, and blanks are optional where the words are clear without them
// (10amtomorrow).
//
//	timespec  = "now" [steps]
//	          | "in" amounts [steps]
//	          | steps
//	          | time [date] [steps]
//	          | date [time] [steps]
//	          | year "-" MM "-" DD "T" isotime [zone] [steps]
//	time      = ( clock ["am" | "pm"] | "noon" | "midnight" | "teatime" ) [zone]
//	clock     = HH ":" MM [":" SS ["." fraction]] | HHMM | HH
//	isotime   = HH [[":"] MM [[":"] SS ["." fraction]]]
//	zone      = "utc" | "gmt" | "z" | ( "+" | "-" ) HH [[":"] MM] | a name of the local zone, such as CET
//	date      = "today" | "tonight" | "tomorrow"
//	          | ["next"] weekday
//	          | "next" unit
//	          | [weekday [","]] calendar
//	calendar  = month day [[","] year]
//	          | day month [year]
//	          | MM "/" DD "/" year | CCYY "/" MM "/" DD | DD "." MM "." year | year "-" MM "-" DD | MMDD year | CCYYMMDD
//	steps     = { ( "+" | "-" ) amounts | "next" unit }
//	amounts   = number unit { number unit }
//	unit      = second | minute | min | hour | day | week | month | year, their plurals, or s | sec | m | h | hr | d | w | y
//	year      = YY | CCYY
//
// Months and days of the week are English, in full or by their first three letters. Between the hour and the minute,
// the colon can also be a dot, a comma, an apostrophe, or an h when the minute has two digits. A YY below 70 is in this
// century, any other YY in the last one. The year of a date can also follow the time, as date(1) prints it. An offset
// needs a time with a colon, and a negative offset needs a date before it, so 10:00-12:00 is an error.
//
// # Meaning
//
//   - Without a time, the time of day is the current one. Without a date, the day is today, or tomorrow when that time has passed today. A
//     step of days or more makes the day today in any case: 4pm + 3 days is three days from now.
//   - Tonight needs a time. From noon on, the time is today; before noon, it is the next one, so 02:00 tonight is tomorrow unless it is night.
//   - A day of the week is the next one that is not today. A date without a year is in this year, or in the next one when its day has
//     passed. With a step, the day that the step leads to counts.
//   - Seconds, minutes, and hours of a step are elapsed time. Days, weeks, months, and years keep the time of day. A month that is too
//     short overflows into the next one, with a note: 31 January + 1 month is 3 March.
//   - With utc or an offset, everything is read in that zone, "today" included. A name of the local zone distinguishes the two times that a
//     change of the clocks creates. A name that the local zone does not have at that time is an error.
//   - A day of the week before a date must be that of the date.
//   - A local time that a change of the clocks skips uses the offset from before the change: 02:30 becomes 03:30. A time that occurs twice
//     means the first that is not over. There is a note in both cases.
//   - A time before the current minute is an error.
//   - A date of digits alone, in a year after the next two, gets a note, because -t reads digits differently.
//
// # Sources
//
// The language is that of the utility at in IEEE Std 1003.1-2017 (POSIX) and of Debian's at(1) 3.2.5, in the file
// timespec of its documentation. A specification that both accept means the same as in Debian's at(1). Where they
// differ:
//
//   - An hour alone (10), four digits with am or pm (1030pm), a minute of one digit (8:05 as 8:5), and "next" unit after a date follow
//     POSIX. Debian's at(1) rejects them.
//   - A year of two digits, a weekday after "next", teatime, utc after noon, "-" steps, and dates in digits follow Debian. POSIX does not
//     have them.
//   - 4pm + 3 days follows Debian. By POSIX it would be one day later in the evening.
//   - Hours end at 23 and minutes at 59, and a day must exist in its month, as POSIX says. Debian's at(1) lets them overflow.
//
// Neither POSIX nor Debian has the rest: what date(1) and this program print, ISO 8601 with its offsets, seconds in a
// time and in a step, steps alone, several of them, short units, a date before a time, elapsed hours across a change of
// the clocks, and seconds of the current time that are kept. The differential test lists every difference from Debian's
// at(1) by name, with its reason.
package timespec
