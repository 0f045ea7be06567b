// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/redhat/podset-operator/internal/testutil"
	"github.com/redhat/podset-operator/test/invariants"
)

// wallClock is the clock of the operator's machine. When it jumps, its wall time changes and its monotonic time does not, as on a real
// machine. Otherwise delays inside the process would seem to change with the wall clock.
type wallClock struct {
	clock.RealClock // of the bubble

	mu     sync.Mutex
	offset time.Duration
}

// Now returns the time of the clock.
func (c *wallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return testutil.WithMonotonic(now.Add(c.offset), now.Sub(epoch))
}

// epoch is when the monotonic time began.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Since returns the time that has passed.
func (c *wallClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *wallClock) jump(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += by
}

// jump lets the clock of the operator's machine jump.
func (e *env) jump(by time.Duration) {
	if by == 0 {
		return
	}
	e.note("the clock jumps by %v", by)
	e.clock.jump(by)
	e.jumps = append(e.jumps, invariants.Jump{Seen: e.now(), Ahead: e.clock.offset})
}

// aheadClock is a clock that is ahead of another.
type aheadClock struct {
	*wallClock
	by time.Duration
}

// Now returns the time of the clock.
func (c aheadClock) Now() time.Time { return c.wallClock.Now().Add(c.by) }

// Since returns the time that has passed.
func (c aheadClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// oddBy is how far an odd date is ahead of the API server.
const oddBy = time.Hour

// clockError is the resolution of a date.
const clockError = time.Second

// makeOdd gives some of the responses an odd date, as if a load balancer or a cache had written it, but never two in a row. It begins after the
// first response of a process that took less than clockError: a slow one does not prove how far the clocks differ.
func (e *env) makeOdd(c *call) {
	if !e.scenario.has(Clocks) {
		return
	}
	answered := c.process.answered
	c.process.answered = answered || e.now().Sub(c.sent) < clockError
	c.process.odd = answered && !c.process.odd && e.oddDates.IntN(4) == 0
	if c.process.odd {
		c.date = c.date.Add(oddBy)
		e.note("the date of the next response is an hour ahead")
	}
}

// setClocks lets the clocks of the API server and of the nodes differ from that of the operator.
func (e *env) setClocks() {
	if !e.scenario.has(Clocks) {
		return
	}
	random := rand.New(rand.NewPCG(e.scenario.Seed, 7)) //nolint:gosec // reproducible
	e.serverAhead, e.nodesAhead = time.Duration(random.IntN(241)-120)*time.Second, time.Duration(random.IntN(241)-120)*time.Second
	e.oddDates = random
	e.store.now = func() time.Time { return e.now().Add(e.serverAhead) }
}

// nodeNow is the time of the nodes.
func (e *env) nodeNow() time.Time { return e.now().Add(e.nodesAhead) }
