// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"time"

	"github.com/redhat/podset-operator/internal/backoff"
)

// rejectionDelays are the delays before a rejected create is retried.
var rejectionDelays = backoff.Range{First: time.Second, Max: time.Minute}

// Rejection says that the API server rejected a create, and that an immediate retry would not help: a quota is exceeded, an
// admission policy forbids the pod, or the pod is invalid.
type Rejection struct {
	// Message is the message of the API server.
	Message string
	// Invalid says that the pod itself is invalid: its template must be edited.
	Invalid bool
	// Until is when the create may be retried.
	Until time.Time
}

// LastRejection is the last rejection of a create for one owner. The zero value has none.
type LastRejection struct {
	rejection  *Rejection // never changed once set
	generation int64
	backoff    backoff.Backoff
}

// Rejected returns the value after a create for a generation of the owner's spec, which began at began, was rejected at now. The
// delay before the next create doubles with each rejection.
func (l LastRejection) Rejected(message string, invalid bool, generation int64, began, now time.Time) LastRejection {
	next := l.backoff.Next(began, now, rejectionDelays)
	return LastRejection{
		rejection:  &Rejection{Message: message, Invalid: invalid, Until: next.Until},
		generation: generation,
		backoff:    next,
	}
}

// Of returns the rejection that applies to a generation of the owner's spec, nil for none. It must not be changed. An
// edited spec has a new generation, so its create is retried at once.
func (l LastRejection) Of(generation int64) *Rejection {
	if l.generation != generation {
		return nil
	}
	return l.rejection
}
