// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serverclock has a clock by which nothing begins too early. Durations that begin at a timestamp of the API
// server, such as the creation of an object, can only be compared with its clock: the clock of another machine can be
// minutes ahead or behind.
package serverclock

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// settle is how long all responses must show a later time of the API server than was known, before it is accepted. One
// response proves nothing: a load balancer or a cache can have written its date. API servers behind one address can
// have different clocks; the earliest one is used.
const settle = 10 * time.Second

// Clock is the earlier of two clocks: that of this machine, and that of the API server if its responses prove a
// difference. So nothing begins too early by either clock. The delay is at most the difference, plus the time of a
// request, plus the resolution of a response, which is a second. The time of the API server is that of its responses
// plus the monotonic time since then, so it does not depend on jumps of the clock of this machine.
type Clock struct {
	clock.WithTicker

	mu sync.Mutex
	// start is when the process began, with a monotonic reading.
	start time.Time
	// known is how far the API server is ahead of the steady time of this machine, or nil before the first response.
	// later is what all responses since laterSince show, if that is more than known; otherwise nil.
	known, later *span
	laterSince   time.Time
}

// span is the range of offsets from low to high.
type span struct{ low, high time.Duration }

// intersection returns the offsets that are in both spans, or nil if there are none.
func intersection(a, b *span) *span {
	both := &span{max(a.low, b.low), min(a.high, b.high)}
	if both.low > both.high {
		return nil
	}
	return both
}

// New returns the clock of this machine, until responses prove that the API server is behind.
func New(c clock.WithTicker) *Clock { return &Clock{WithTicker: c, start: c.Now()} }

// steady returns what the clock of this machine would show at t if it had not jumped since the start.
func (c *Clock) steady(t time.Time) time.Time { return c.start.Add(t.Sub(c.start)) }

// Now returns the time of the earlier clock, as far as it is known. That of the API server has no monotonic reading: it
// would differ from one of this machine by the offset, and Go compares nothing else if both times have one.
func (c *Clock) Now() time.Time {
	now := c.WithTicker.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if server := wall(c.steady(now)); c.known != nil && server.Add(c.known.high).Before(wall(now)) {
		return server.Add(c.known.low)
	}
	return now
}

// wall drops the monotonic reading.
func wall(t time.Time) time.Time { return t.Round(0) }

// Since returns the time since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Offset returns how far the time of the API server is from that of this machine, at least, if the API server is
// behind: never more than 0.
func (c *Clock) Offset() time.Duration { return wall(c.Now()).Sub(wall(c.WithTicker.Now())) }

// Observe records the time in the response to a request. sent and received are local times. date is in whole seconds.
func (c *Clock) Observe(date, sent, received time.Time) {
	reported := &span{date.Sub(wall(c.steady(received))), date.Add(time.Second).Sub(wall(c.steady(sent)))}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.known == nil || reported.high < c.known.low:
		c.known, c.later = reported, nil
	case reported.low <= c.known.high:
		c.known, c.later = intersection(c.known, reported), nil
	case c.later == nil || intersection(c.later, reported) == nil:
		c.later, c.laterSince = reported, received
	default:
		c.later = intersection(c.later, reported)
		if received.Sub(c.laterSince) >= settle {
			c.known, c.later = c.later, nil
		}
	}
}

// RoundTripper returns a transport that observes the successful responses of next. Other responses may come from a load
// balancer.
func (c *Clock) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return roundTripper{clock: c, next: next}
}

type roundTripper struct {
	clock *Clock
	next  http.RoundTripper
}

// RoundTrip sends a request and observes the date of its response if it was successful.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := r.clock.WithTicker.Now()
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode < 200 || response.StatusCode >= 300 {
		return response, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		r.clock.Observe(date, sent, r.clock.WithTicker.Now())
	}
	return response, nil
}

// WrappedRoundTripper returns the transport below, so that client-go can close its idle connections.
func (r roundTripper) WrappedRoundTripper() http.RoundTripper { return r.next }
