// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection"
)

// LeaseTiming has the durations of the leader election.
type LeaseTiming struct {
	// Duration is how long a lease lasts if it is not renewed.
	Duration time.Duration
	// RenewDeadline is how long the leader tries to renew the lease before it ends.
	RenewDeadline time.Duration
	// RetryPeriod is how often the leader renews the lease, and how often a replica that waits checks it. Up to 1.2 times as much is added
	// at random.
	RetryPeriod time.Duration
}

// Validate returns an error unless a leader ends before another process can take over its lease.
func (t LeaseTiming) Validate() error {
	retry := time.Duration(float64(t.RetryPeriod) * leaderelection.JitterFactor)
	if t.RetryPeriod <= 0 || retry >= t.RenewDeadline || t.RenewDeadline >= t.Duration || t.Duration < time.Second {
		return fmt.Errorf("--leader-elect-lease-duration=%s must be at least 1s and longer than --leader-elect-renew-deadline=%s, which must be longer than %.1f times --leader-elect-retry-period=%s, which must be longer than 0",
			t.Duration, t.RenewDeadline, leaderelection.JitterFactor, t.RetryPeriod)
	}
	return nil
}
