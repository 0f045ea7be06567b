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
	// slotRetry is when an At that found no slot comes back.
	slotRetry = 100 * time.Millisecond
)

// requestSlots counts the requests of each namespace that admission can delay. The zero value is ready to use.
type requestSlots struct {
	mu    sync.Mutex
	taken map[slot]int
}

type slot struct {
	namespace string
	urgency
}

// enter reports whether a request may be sent now. If so, call leave after its answer.
func (s *requestSlots) enter(namespace string, u urgency) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken = map[slot]int{}
	}
	if s.taken[slot{namespace, u}] >= maxRequests {
		return false
	}
	s.taken[slot{namespace, u}]++
	return true
}

// leave ends a request.
func (s *requestSlots) leave(namespace string, u urgency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[slot{namespace, u}]--; s.taken[slot{namespace, u}] == 0 {
		delete(s.taken, slot{namespace, u})
	}
}
