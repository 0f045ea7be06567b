// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"
)

// urgency separates the requests that start or stop a command from all others, so that what happens before the time of
// an At never delays what happens at it.
type urgency string

const (
	atItsTime  urgency = "starts and stops"
	beforehand urgency = "creates, deletions, and dry runs"
)

const (
	// maxRequests bounds the requests of one urgency that wait for the API server at the same time in one namespace. An
	// admission webhook can take 10 s, and it usually concerns one namespace, which must not occupy all workers.
	maxRequests = 16
	// minTurn and maxTurn bound when an At comes back that found no slot, whatever the clock does. turnInterval is the
	// time between two that come back, so the work does not grow with their number.
	minTurn, maxTurn = 100 * time.Millisecond, 10 * time.Second
	turnInterval     = 2 * time.Millisecond
)

// requestSlots counts the requests of each namespace that admission can delay. The zero value is ready to use.
type requestSlots struct {
	mu    sync.Mutex
	taken map[slot]usage
}

type slot struct {
	namespace string
	urgency
}

// usage is how many requests wait, and when the last At that found no slot comes back.
type usage struct {
	requests int
	turn     time.Time
}

// enter returns 0 if a request may be sent now. Then call leave after its answer. Otherwise it returns after which time
// to try again.
func (s *requestSlots) enter(namespace string, u urgency, now time.Time) (turn time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken = map[slot]usage{}
	}
	key := slot{namespace, u}
	used := s.taken[key]
	if used.requests < maxRequests {
		used.requests++
	} else {
		turn = min(max(used.turn.Sub(now)+turnInterval, minTurn), maxTurn)
		used.turn = now.Add(turn)
	}
	s.taken[key] = used
	return turn
}

// leave ends a request.
func (s *requestSlots) leave(namespace string, u urgency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := slot{namespace, u}
	used := s.taken[key]
	if used.requests--; used.requests > 0 {
		s.taken[key] = used
	} else {
		delete(s.taken, key)
	}
}
