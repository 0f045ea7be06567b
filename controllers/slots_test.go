// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"
)

func TestRequestSlots(t *testing.T) {
	var s requestSlots
	now := time.Now()
	fill := func(namespace string, u urgency) (entered int) {
		for s.enter(namespace, u, now) == 0 {
			entered++
		}
		return entered
	}
	if got := fill("a", beforehand); got != maxRequests {
		t.Errorf("%d requests of one namespace at the same time, want %d", got, maxRequests)
	}
	if s.enter("a", atItsTime, now) > 0 || s.enter("b", beforehand, now) > 0 {
		t.Error("creates and dry runs delay a start, or another namespace")
	}
	s.leave("a", atItsTime)
	s.leave("b", beforehand)
	for range maxRequests {
		s.leave("a", beforehand)
	}
	if len(s.taken) > 0 {
		t.Errorf("%v is left", s.taken)
	}
	if got := fill("a", beforehand); got != maxRequests {
		t.Errorf("%d requests after the others were answered, want %d", got, maxRequests)
	}
}

// Those that find no slot come back one after the other, and soon after the clock has jumped.
func TestRequestSlots_turns(t *testing.T) {
	var s requestSlots
	now := time.Now()
	for range maxRequests {
		s.enter("a", beforehand, now)
	}
	for n := 1; n <= 100; n++ {
		if got, want := s.enter("a", beforehand, now), minTurn+time.Duration(n-1)*turnInterval; got != want {
			t.Fatalf("number %d comes back after %s, want %s", n, got, want)
		}
	}
	if got := s.enter("a", beforehand, now.Add(time.Second)); got != minTurn {
		t.Errorf("after a pause, the next one comes back after %s, want %s", got, minTurn)
	}
	if got := s.enter("a", beforehand, now.Add(-time.Hour)); got != maxTurn {
		t.Errorf("after a jump of the clock, the next one comes back after %s, want %s", got, maxTurn)
	}
	if got, want := s.enter("a", beforehand, now.Add(-time.Hour)), maxTurn; got != want {
		t.Errorf("then the next one after %s, want %s", got, want)
	}
}
