// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serverclock tells the time of the API server. Durations that begin at a timestamp of the API server, such as the creation of an
// object, can only be compared with its clock: the clock of another machine can be minutes ahead or behind.
package serverclock

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// settle is how long no response has agreed with an estimate before another one replaces it. API servers behind one address can have
// different clocks. The estimate then stays that of one of them.
const settle = 10 * time.Second

// Clock is a clock that was corrected by what the responses of the API server say. If they prove a difference, it is not ahead of the API
// server, so that nothing begins too early. It is behind by at most the time that a request takes and a second, which is the resolution of a
// response, if the clock of the API server does not change. A difference that responses do not prove is not corrected.
type Clock struct {
	clock.WithTicker

	mu sync.Mutex
	// The offset of the API server is between low and high, if agreed is not zero. agreed is when a response last agreed with that.
	low, high time.Duration
	agreed    time.Time
}

// New returns a corrected clock.
func New(c clock.WithTicker) *Clock { return &Clock{WithTicker: c} }

// Now returns the time of the API server, as far as it is known.
func (c *Clock) Now() time.Time { return c.WithTicker.Now().Add(c.Offset()) }

// Since returns the time since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Offset returns how far the API server is ahead of this machine, at least, or 0 if the responses prove no difference.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.low > 0 || c.high < 0 {
		return c.low
	}
	return 0
}

// Observe notes that a response to a request of sent, which was received at received, says that the time is date, in whole seconds.
func (c *Clock) Observe(date, sent, received time.Time) {
	low, high := date.Sub(received.Round(0)), date.Add(time.Second).Sub(sent.Round(0)) // Round drops the monotonic reading.
	c.mu.Lock()
	defer c.mu.Unlock()
	agrees := low <= c.high && high >= c.low
	switch {
	case !c.agreed.IsZero() && agrees:
		c.low, c.high = max(low, c.low), min(high, c.high)
	case !c.agreed.IsZero() && received.Sub(c.agreed) < settle:
		return
	default:
		c.low, c.high = low, high
	}
	c.agreed = received
}

// RoundTripper returns a transport that observes the responses of next.
func (c *Clock) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return roundTripper{clock: c, next: next}
}

type roundTripper struct {
	clock *Clock
	next  http.RoundTripper
}

// RoundTrip sends a request and observes the date of its response.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := r.clock.WithTicker.Now()
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		r.clock.Observe(date, sent, r.clock.WithTicker.Now())
	}
	return response, nil
}

// WrappedRoundTripper returns the transport below, so that client-go can close its idle connections.
func (r roundTripper) WrappedRoundTripper() http.RoundTripper { return r.next }
