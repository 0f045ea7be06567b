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
	Virtual                                                              time.Duration
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
}

func (s Stats) String() string {
	return fmt.Sprintf("%d scenarios, %d steps, %v of virtual time, %d writes, %d crashes, %d lost responses, %d failed calls, %d writes based on stale caches",
		s.Scenarios, s.Steps, s.Virtual.Round(time.Second), s.Writes, s.Crashes, s.LostResponses, s.Faults, s.StaleReads)
}
