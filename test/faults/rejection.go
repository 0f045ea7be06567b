// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"net/http"
	"strings"
	"time"
)

// sameBatch is how far the creates of one batch lie apart.
const sameBatch = 300 * time.Millisecond

// Refused judges P9: the API server refused creates since a moment, and they came ExpectBackoff.
func (e *Env) ExpectRejected(since time.Time, first time.Duration) {
	e.Helper()
	e.Check("P9", e.ExpectBackoff(since, first) > 0, "nothing was refused")
}

// ExpectBackoff judges P9: the creates that the API server refused since a moment came in steps of a back-off that doubles
// from first on, one create in each. The first step may be a whole batch, since the creates of a batch are on their way
// together. It returns how many steps there were.
func (e *Env) ExpectBackoff(since time.Time, first time.Duration) int {
	e.Helper()
	var steps []time.Time
	for _, write := range e.Log.All() {
		refused := write.Code == http.StatusForbidden || write.Code == http.StatusUnprocessableEntity ||
			strings.HasPrefix(write.Fault, "403 ") || strings.HasPrefix(write.Fault, "422 ")
		if !Creates(write.Call) || !refused || write.Sent.Before(since) {
			continue
		}
		if len(steps) == 1 && write.Sent.Sub(steps[0]) < sameBatch {
			continue
		}
		steps = append(steps, write.Sent)
	}
	for i := 1; i < len(steps); i++ {
		// The operator counts from the moment when it looked, which on a busy machine is a while before it wrote.
		gap, least := steps[i].Sub(steps[i-1]), first<<(i-1)/2
		e.Check("P9", gap >= least, "refused create %d came %v after the one before, and the back-off is %v", i+1, gap, least)
	}
	return len(steps)
}
