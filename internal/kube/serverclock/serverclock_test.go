// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serverclock

import (
	"net/http"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

var start = time.Date(2030, 1, 30, 10, 0, 0, 0, time.UTC)

// answer is a transport that answers with the time of an API server after a delay.
type answer struct {
	clock *testingclock.FakeClock
	ahead *time.Duration
	takes time.Duration
}

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	date := a.clock.Now().Add(*a.ahead).UTC().Format(http.TimeFormat)
	a.clock.Step(a.takes)
	return &http.Response{Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
}

// request sends a request and drops the response.
func request(t *testing.T, transport http.RoundTripper) {
	response, err := transport.RoundTrip(nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

func TestClock(t *testing.T) {
	for title, tc := range map[string]struct {
		ahead, takes time.Duration
		// The offset is between these after a minute of requests.
		low, high time.Duration
	}{
		"the clocks agree": {0, 10 * time.Millisecond, 0, 0},
		"a difference that cannot be proven is not corrected": {400 * time.Millisecond, 10 * time.Millisecond, 0, 400 * time.Millisecond},
		"the API server is two minutes ahead":                 {2 * time.Minute, 10 * time.Millisecond, 2*time.Minute - time.Second, 2*time.Minute + 10*time.Millisecond},
		"the API server is two minutes behind":                {-2 * time.Minute, 10 * time.Millisecond, -2*time.Minute - 10*time.Millisecond, -2*time.Minute + time.Second},
		"slow responses correct less":                         {10 * time.Second, 3 * time.Second, 6 * time.Second, 10 * time.Second},
	} {
		fake := testingclock.NewFakeClock(start)
		c := New(fake)
		transport := c.RoundTripper(answer{clock: fake, ahead: &tc.ahead, takes: tc.takes})
		for range 60 {
			request(t, transport)
			fake.Step(973 * time.Millisecond)
		}
		if got := c.Offset(); got < tc.low || got > tc.high {
			t.Errorf("%s: corrected by %v, want %v to %v", title, got, tc.low, tc.high)
		}
		if got := c.Now().Sub(fake.Now()); got != c.Offset() || c.Since(fake.Now()) != c.Offset() {
			t.Errorf("%s: the time is not corrected by the offset, but by %v", title, got)
		}
	}
}

func TestClockOfSeveralServers(t *testing.T) {
	fake := testingclock.NewFakeClock(start)
	c := New(fake)
	ahead := time.Minute
	transport := c.RoundTripper(answer{clock: fake, ahead: &ahead})
	observe := func(seconds int, offsets ...time.Duration) {
		for n := range seconds {
			ahead = offsets[n%len(offsets)]
			request(t, transport)
			fake.Step(time.Second)
		}
	}
	observe(10, time.Minute)
	first := c.Offset()
	observe(60, -time.Minute, time.Minute)
	if got := c.Offset(); got != first {
		t.Errorf("with two servers, the offset changes from %v to %v", first, got)
	}
	observe(15, -time.Minute)
	if got := c.Offset(); got > -59*time.Second {
		t.Errorf("after the clock of the server was set back, the offset is %v", got)
	}
}
