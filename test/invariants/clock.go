// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import "time"

// Jump is a jump of the clock of the operator's machine, and how far that clock was ahead of the times in Sent and Seen afterwards.
type Jump struct {
	Seen  time.Time
	Ahead time.Duration
}

// answerTime is how long the answer to a request can take. While the operator learns the time of the API server from its responses, what it knows
// can be behind by that much.
const answerTime = 20 * time.Second

// clockError returns how much a duration can be too short that the operator measures.
func (c *Checker) clockError() time.Duration {
	if c.ServerAhead != nil {
		return clockError + answerTime
	}
	return clockError
}

// machineAhead returns how far the clock of the operator's machine was ahead at a moment.
func (c *Checker) machineAhead(t time.Time) (ahead time.Duration) {
	for _, jump := range c.Jumps {
		if !jump.Seen.After(t) {
			ahead = jump.Ahead
		}
	}
	return ahead
}

// ahead returns how far the clock that decides when the operator may act was ahead at a moment: the earlier one of its own and that of the API
// server.
func (c *Checker) ahead(t time.Time) time.Duration {
	if c.ServerAhead != nil {
		return min(*c.ServerAhead, c.machineAhead(t))
	}
	return c.machineAhead(t)
}

// hasJumped reports whether the clock that decides has jumped in a period.
func (c *Checker) hasJumped(from, to time.Time) bool {
	before := c.ahead(from)
	for _, jump := range c.Jumps {
		if jump.Seen.After(from) && !jump.Seen.After(to) && c.ahead(jump.Seen) != before {
			return true
		}
	}
	return false
}

// decisiveTime returns the latest time of the clock that decides when the operator may act.
func (c *Checker) decisiveTime(write Write) time.Time {
	if c.ServerAhead == nil {
		return write.Clock
	}
	machineAhead := write.Clock.Round(0).Sub(write.Sent) // Of two events at the same instant, Jumps does not show the order.
	return write.Sent.Add(min(*c.ServerAhead, machineAhead) + clockError)
}

// serverAhead returns how far the clock of the API server is ahead.
func (c *Checker) serverAhead() time.Duration {
	if c.ServerAhead != nil {
		return *c.ServerAhead
	}
	return 0
}
