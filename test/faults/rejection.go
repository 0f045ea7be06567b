// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"net/http"
	"strings"
	"time"
)

// sameBatch is the longest time between two creates of one batch.
const sameBatch = 300 * time.Millisecond

// maxRejectionBackoff is where the back-off after rejected creates stops growing.
const maxRejectionBackoff = time.Minute

// RejectedCreate matches creates of pods that the API server, or a fault, rejected.
func RejectedCreate(w Write) bool {
	return Creates(w.Call) && (w.Code == http.StatusForbidden || w.Code == http.StatusUnprocessableEntity ||
		strings.HasPrefix(w.Fault, "403 ") || strings.HasPrefix(w.Fault, "422 "))
}

// ExpectRejected checks P9: the API server has rejected creates since a moment, and the operator retried them with back-off. The
// operator may now wait as long as it has been rejected, so the environment gets more time to settle.
func (e *Env) ExpectRejected(since time.Time, first time.Duration) {
	e.Helper()
	e.Check("P9", e.ExpectBackoff(since, first) > 0, "no create was rejected")
	e.Timeout = max(e.Timeout, 3*time.Since(since))
}

// ExpectBackoff checks P9: the operator retried creates that the API server rejected with one create per step of a back-off that
// starts with first and doubles. The first step may be a whole batch, because the creates of a batch are in flight together. It
// returns the number of steps.
func (e *Env) ExpectBackoff(since time.Time, first time.Duration) int {
	e.Helper()
	var steps []time.Time
	for _, write := range e.Log.All() {
		if !RejectedCreate(write) || write.Sent.Before(since) {
			continue
		}
		if len(steps) == 1 && write.Sent.Sub(steps[0]) < sameBatch {
			continue
		}
		steps = append(steps, write.Sent)
	}
	for i := 1; i < len(steps); i++ {
		// The back-off starts when the operator observes, which on a busy machine is a while before it writes.
		gap, least := steps[i].Sub(steps[i-1]), min(first<<(i-1), maxRejectionBackoff)/2
		e.Check("P9", gap >= least, "rejected create %d came %v after the previous one, before the back-off of %v had passed", i+1, gap, least)
	}
	return len(steps)
}
