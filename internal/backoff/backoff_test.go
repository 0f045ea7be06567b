// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	now    = time.Date(2030, 1, 30, 10, 0, 0, 0, time.UTC)
	limits = Range{First: time.Second, Max: time.Minute}
)

func TestNext(t *testing.T) {
	var b Backoff
	var got []time.Duration
	for at := now; len(got) < 8; at = b.Until {
		b = b.Next(at, at, limits)
		got = append(got, b.Until.Sub(at)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, got); diff != "" {
		t.Errorf("delays in seconds (-want +got): %s", diff)
	}
}

func TestNext_reset(t *testing.T) {
	used := Backoff{Delay: 8 * time.Second, Until: now}
	for title, tc := range map[string]struct {
		began time.Time
		took  time.Duration
		want  time.Duration
	}{
		"before the delay is over":               {now.Add(-time.Second), 0, 16 * time.Second},
		"right after the delay":                  {now, 0, 16 * time.Second},
		"right after the delay, and slow":        {now, time.Minute, 16 * time.Second},
		"twice the delay after its end":          {now.Add(16 * time.Second), 0, 16 * time.Second},
		"longer than twice the delay afterwards": {now.Add(16*time.Second + 1), 0, time.Second},
	} {
		failed := tc.began.Add(tc.took)
		next := used.Next(tc.began, failed, limits)
		if diff := cmp.Diff(Backoff{Delay: tc.want, Until: failed.Add(tc.want)}, next); diff != "" {
			t.Errorf("%s (-want +got): %s", title, diff)
		}
	}
	if diff := cmp.Diff(Backoff{Delay: 8 * time.Second, Until: now}, used); diff != "" {
		t.Errorf("Next changed its receiver: %s", diff)
	}
}

// TestRetry has the delays before the attempts of an At: at most 6 minutes.
func TestRetry(t *testing.T) {
	var got []time.Duration
	for n := range 8 {
		got = append(got, Retry(n, now).Sub(now)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{10, 20, 40, 80, 160, 320, 360, 360}, got); diff != "" {
		t.Errorf("delays in seconds (-want +got): %s", diff)
	}
}
