// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"
)

// Stats counts what happened in scenarios.
type Stats struct {
	Scenarios, Steps, Writes, Crashes, LostResponses, Faults int
	// Abandoned are the calls that were in flight when a process crashed.
	Abandoned int
	// StaleReads are the reconciles that began while a cache was behind, and StaleWrites are their writes.
	StaleReads, StaleWrites int
	// Virtual is the time that passed in the scenarios, and Real is how long they took.
	Virtual, Real time.Duration
	// Settle is the longest time that anything needed to settle after the last fault.
	Settle time.Duration
}

// Add adds the counts of other scenarios.
func (s *Stats) Add(other Stats) {
	s.Scenarios += other.Scenarios
	s.Steps += other.Steps
	s.Writes += other.Writes
	s.Crashes += other.Crashes
	s.LostResponses += other.LostResponses
	s.Faults += other.Faults
	s.Abandoned += other.Abandoned
	s.StaleReads += other.StaleReads
	s.StaleWrites += other.StaleWrites
	s.Virtual += other.Virtual
	s.Real += other.Real
	s.Settle = max(s.Settle, other.Settle)
}

func (s Stats) perSecond() float64 { return float64(s.Scenarios) / max(s.Real, 1).Seconds() }

func (s Stats) String() string {
	return fmt.Sprintf("%d scenarios (%.0f/s), %d steps, %v of virtual time, %d writes, %d crashes with %d calls in flight, %d lost responses, %d failed calls, %d reconciles with a stale cache, %d writes of these, settled within %v",
		s.Scenarios, s.perSecond(), s.Steps, s.Virtual.Round(time.Second), s.Writes, s.Crashes, s.Abandoned, s.LostResponses, s.Faults, s.StaleReads, s.StaleWrites, s.Settle.Round(time.Second))
}
