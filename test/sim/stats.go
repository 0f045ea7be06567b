// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"
)

// Stats counts what happened in scenarios.
type Stats struct {
	Scenarios, Steps, Writes, Crashes, LostResponses, StaleReads, Faults int
	// Virtual is the time that passed in the scenarios, and Real is how long they took.
	Virtual, Real time.Duration
}

// Add adds the counts of other scenarios.
func (s *Stats) Add(other Stats) {
	s.Scenarios += other.Scenarios
	s.Steps += other.Steps
	s.Writes += other.Writes
	s.Crashes += other.Crashes
	s.LostResponses += other.LostResponses
	s.StaleReads += other.StaleReads
	s.Faults += other.Faults
	s.Virtual += other.Virtual
	s.Real += other.Real
}

// perSecond returns how many scenarios ran in a second.
func (s Stats) perSecond() float64 { return float64(s.Scenarios) / max(s.Real, 1).Seconds() }

func (s Stats) String() string {
	return fmt.Sprintf("%d scenarios (%.0f/s), %d steps, %v of virtual time, %d writes, %d crashes, %d lost responses, %d failed calls, %d writes based on stale caches",
		s.Scenarios, s.perSecond(), s.Steps, s.Virtual.Round(time.Second), s.Writes, s.Crashes, s.LostResponses, s.Faults, s.StaleReads)
}
