// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"slices"
	"testing/synctest"
)

// crash kills the process. Its calls may still reach the Store.
func (e *env) crash(random *rand.Rand) {
	p := e.process
	if p == nil {
		return
	}
	e.note("process %d crashes", p.number)
	e.stats.Crashes++
	e.process = nil
	e.mu.Lock()
	for _, c := range e.calls {
		c.abandoned = true
		e.stats.Abandoned++
	}
	e.calls = slices.DeleteFunc(e.calls, func(c *call) bool {
		if c.committed != nil || c.isRead() {
			return true
		}
		lost := random.IntN(2) == 0 || e.webhook.hides(c)
		if lost {
			e.fail(c, "the process crashed")
		}
		return lost
	})
	e.mu.Unlock()
	p.kill()
	p.done.Wait()
	synctest.Wait()
}

// restart starts the next process. The requests of the previous one have reached the Store or are lost by then, unless it is frozen.
func (e *env) restart() error {
	for i, c := range slices.Clone(e.calls) {
		if e.scenario.has(Frozen) && e.scenario.Only == ats && hash(e.order, c.String())>>32%2 == uint64(i%2) {
			continue
		}
		e.note("the Store commits %s of process %d, which has crashed", c.String(), c.process.number)
		e.carryOut(c)
		e.remove(c)
	}
	e.oldVersion = e.store.version - e.order%(min(e.store.version, 30)+1)
	e.seedDelays()
	p, err := e.start()
	e.process = p
	e.note("process %d starts", len(e.started))
	return err
}
