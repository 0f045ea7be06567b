// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serverclock

import (
	"net/http"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/redhat/podset-operator/internal/testutil"
)

var start = time.Date(2030, 1, 30, 10, 0, 0, 0, time.UTC)

// answer is a transport that answers with the time of an API server after a delay.
type answer struct {
	clock *testingclock.FakeClock
	ahead *time.Duration
	takes time.Duration
	code  int
}

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	date := a.clock.Now().Add(*a.ahead).UTC().Format(http.TimeFormat)
	a.clock.Step(a.takes)
	return &http.Response{StatusCode: a.code, Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
}

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
		code         int
		// The offset is between these after a minute of requests.
		low, high time.Duration
	}{
		"the clocks agree":                     {0, 10 * time.Millisecond, 200, 0, 0},
		"a difference of less than a second":   {-400 * time.Millisecond, 10 * time.Millisecond, 200, -420 * time.Millisecond, 0},
		"the API server is two minutes ahead":  {2 * time.Minute, 10 * time.Millisecond, 200, 0, 0},
		"the API server is two minutes behind": {-2 * time.Minute, 10 * time.Millisecond, 201, -2*time.Minute - 10*time.Millisecond, -2*time.Minute + time.Second},
		"slow responses correct more":          {-10 * time.Second, 3 * time.Second, 200, -13 * time.Second, -10 * time.Second},
		"responses of a load balancer":         {-2 * time.Minute, 10 * time.Millisecond, 502, 0, 0},
		"denials":                              {-2 * time.Minute, 10 * time.Millisecond, 403, 0, 0},
		"redirections":                         {-2 * time.Minute, 10 * time.Millisecond, 307, 0, 0},
	} {
		fake := testingclock.NewFakeClock(start)
		c := New(fake)
		transport := c.RoundTripper(answer{clock: fake, ahead: &tc.ahead, takes: tc.takes, code: tc.code})
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

// seen is one response, or several one second apart, that show how far the API server is ahead. pause is the time
// before.
type seen struct {
	pause     time.Duration
	ahead     time.Duration
	responses int
}

func TestClock_jump(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	for title, tc := range map[string]struct {
		responses []seen
		want      time.Duration // within a second
	}{
		"one of an hour ahead":                             {[]seen{{0, -minute, 10}, {0, hour, 1}}, -minute},
		"one of an hour ahead after a silence":             {[]seen{{0, -minute, 10}, {hour, hour, 1}}, -minute},
		"several of an hour ahead for less than 10 s":      {[]seen{{0, -minute, 10}, {minute, 0, 9}}, -minute},
		"two of an hour ahead that do not agree":           {[]seen{{0, -minute, 10}, {minute, hour, 1}, {minute, 2 * hour, 1}}, -minute},
		"two of an hour ahead, and a right one between":    {[]seen{{0, -minute, 10}, {minute, 0, 1}, {minute, -minute, 1}, {minute, 0, 1}}, -minute},
		"the first one of an hour ahead":                   {[]seen{{0, hour, 1}, {0, -minute, 1}}, -minute},
		"the API server was behind and is not any more":    {[]seen{{0, -minute, 10}, {0, 0, 12}}, 0},
		"the same, with two responses":                     {[]seen{{0, -minute, 10}, {minute, 0, 1}, {minute, 0, 1}}, 0},
		"the API server was set back":                      {[]seen{{0, 0, 10}, {0, -minute, 1}}, -minute},
		"two servers: it is the time of the earlier one":   {[]seen{{0, 0, 20}, {0, -minute, 1}, {0, 0, 5}, {0, -minute, 1}, {0, 0, 8}}, -minute},
		"this machine was set back, and nothing is proven": {[]seen{{0, 0, 10}, {0, minute, 1}}, 0},
	} {
		fake := testingclock.NewFakeClock(start)
		c := New(fake)
		var ahead time.Duration
		transport := c.RoundTripper(answer{clock: fake, ahead: &ahead, code: http.StatusOK})
		for _, s := range tc.responses {
			fake.Step(s.pause)
			ahead = s.ahead
			for range s.responses {
				request(t, transport)
				fake.Step(time.Second)
			}
		}
		if got := c.Offset(); (got-tc.want).Abs() > time.Second || tc.want == 0 && got != 0 {
			t.Errorf("%s: the offset is %v, want %v", title, got, tc.want)
		}
	}
}

// jumping is a clock whose wall time jumps, and whose monotonic time does not.
type jumping struct {
	*testingclock.FakeClock
	ahead time.Duration
}

func (c *jumping) Now() time.Time {
	now := c.FakeClock.Now()
	return testutil.WithMonotonic(now.Add(c.ahead), now.Sub(start))
}

// The clock of this machine jumps, and no response follows.
func TestClock_ownJump(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		own := &jumping{FakeClock: testingclock.NewFakeClock(start)}
		c := New(own)
		request(t, c.RoundTripper(answer{clock: own.FakeClock, ahead: new(time.Duration), code: http.StatusOK}))
		before := c.Now()
		own.ahead = by
		own.Step(time.Minute)
		want := start.Add(time.Minute + min(by, 0))
		if got := c.Now(); got.Round(0).Sub(want).Abs() > time.Second || (got.Sub(before)-time.Minute).Abs() > time.Second {
			t.Errorf("a jump by %s: the time is %s, want %s; %s have passed, want a minute", by, got, want, got.Sub(before))
		}
	}
}

// Times of the two clocks can be compared: a wait that began while the clock of this machine was an hour behind is over
// when it is corrected.
func TestClock_bothClocks(t *testing.T) {
	own := &jumping{FakeClock: testingclock.NewFakeClock(start)}
	c, behind := New(own), -5*time.Minute
	request(t, c.RoundTripper(answer{clock: own.FakeClock, ahead: &behind, code: http.StatusOK}))
	own.ahead = -time.Hour
	until := c.Now().Add(time.Minute)
	own.ahead = 0
	if now := c.Now(); now.Before(until) {
		t.Errorf("at %s, the wait until %s is not over", now, until)
	}
}
