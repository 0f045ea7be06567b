// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backoff computes delays that double while a failure repeats.
package backoff

import "time"

// The delays of both kinds, by what they delay.
var (
	// RejectedCreate delays the next create after the API server has rejected one.
	RejectedCreate = Range{First: time.Second, Max: time.Minute}
	// FailedWrite delays the next create after one failed without a rejection, and the next reconcile after another
	// write failed. A short problem delays little, and one that lasts causes one request in a minute.
	FailedWrite = Range{First: 20 * time.Millisecond, Max: time.Minute}
	// FinishedPods delays the deletion of a PodSet's finished pods.
	FinishedPods = Range{First: 10 * time.Second, Max: 5 * time.Minute}
	// FailedDryRun delays the next dry run of a pod that the API server would reject, or could not check.
	FailedDryRun = Range{First: time.Minute, Max: time.Hour}
	// attempt delays the next attempt of an At, as a Job does.
	attempt = Range{First: 10 * time.Second, Max: 6 * time.Minute}
)

// Retry returns when the next attempt of an At is due if the failure of attempt n, from 0, is recorded at now.
func Retry(n int, now time.Time) time.Time { return now.Add(min(attempt.First<<n, attempt.Max)) }

// Range bounds the delays of a Backoff.
type Range struct {
	// First is the delay of the first use.
	First time.Duration
	// Max is the longest delay.
	Max time.Duration
}

// Backoff is a delay that doubles each time it is used. It is a value: Next returns the next one and leaves its
// receiver unchanged, so a caller can compute a delay without starting it. The zero value is ready to use.
type Backoff struct {
	// Delay is the current delay, or zero if none has been used yet.
	Delay time.Duration
	// Until is when the current delay ends.
	Until time.Time
}

// Next returns the back-off after another failure: the operation began at began and failed at now. The delay starts
// over if the back-off was not used for more than twice its delay after the delay had ended, because this is a new
// failure.
func (b Backoff) Next(began, now time.Time, r Range) Backoff {
	delay := min(max(2*b.Delay, r.First), r.Max)
	if b.Delay == 0 || began.Sub(b.Until) > 2*b.Delay {
		delay = r.First
	}
	return Backoff{Delay: delay, Until: now.Add(delay)}
}
