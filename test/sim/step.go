// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// step does one thing, which only its seed and the state of the world decide.
func (w *world) step(seed uint64) error {
	w.stats.Steps++
	w.order = seed
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // reproducible
	if w.prompt && w.progress() {
		return nil
	}
	switch n := random.IntN(100); {
	case n < 35:
		if !w.answerCall(random) && !w.deliverEvent(random) {
			w.pass(random)
		}
	case n < 58:
		if !w.deliverEvent(random) && !w.answerCall(random) {
			w.pass(random)
		}
	case n < 70:
		if !w.kubelet(random) {
			w.pass(random)
		}
	case n < 80:
		w.pass(random)
	case n < 93:
		w.user(random)
	case n < 96:
		w.collectGarbage()
	default:
		return w.disturb(random)
	}
	return nil
}

// progress answers the oldest call or delivers the oldest event. It returns false if there is none.
func (w *world) progress() bool {
	if len(w.calls) > 0 {
		w.finish(w.calls[0])
		return true
	}
	if behind := w.behind(); len(behind) > 0 {
		w.deliver(behind[0])
		return true
	}
	return false
}

// finish carries out a call, if that has not happened, and responds.
func (w *world) finish(c *call) {
	if c.committed == nil {
		w.carryOut(c)
	}
	w.respond(c, *c.committed)
}

// answerCall does something with one of the calls that wait.
func (w *world) answerCall(random *rand.Rand) bool {
	if len(w.calls) == 0 {
		return false
	}
	c := w.calls[random.IntN(len(w.calls))]
	reads := c.isRead()
	switch n := random.IntN(100); {
	case c.committed != nil && n < 10 && !reads:
		w.stats.LostResponses++
		w.note("the response to %s is lost", c.String())
		w.respond(c, answer{err: faults[4].err(c)})
	case c.committed != nil || n < 70 || c.abandoned:
		w.finish(c)
	case n < 80 && !reads:
		w.carryOut(c)
	case n < 88 && !reads:
		w.carryOut(c)
		w.stats.LostResponses++
		w.note("the response to %s is lost", c.String())
		w.respond(c, answer{err: faults[4].err(c)})
	case n < 98 && c.Verb != "list":
		f := faults[random.IntN(len(faults))]
		w.stats.Faults++
		w.note("%s fails: %s", c.String(), f.name)
		w.respond(c, answer{err: f.err(c)})
	default:
		w.finish(c)
	}
	return true
}

func (w *world) deliverEvent(random *rand.Rand) bool {
	behind := w.behind()
	if len(behind) == 0 {
		return false
	}
	w.deliver(behind[random.IntN(len(behind))])
	return true
}

// maxLag is how long a call or an event can be in flight.
const maxLag = 20 * time.Second

// pass lets time pass. While something is in flight it is not long, and nothing is in flight for longer than maxLag.
func (w *world) pass(random *rand.Rand) {
	for _, c := range w.calls {
		if w.now().Sub(c.sent) > maxLag {
			w.finish(c)
			return
		}
	}
	behind := w.behind()
	for _, late := range behind {
		if e, _ := late.next(); w.now().Sub(e.Seen) > maxLag {
			w.deliver(late)
			return
		}
	}
	durations := []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, time.Minute}
	if len(w.calls)+len(behind) > 0 {
		durations = durations[:5]
	}
	w.advance(durations[random.IntN(len(durations))])
}

// disturb is a rare event: a crash, a watch that ends or expires, a clock that jumps, a quota.
func (w *world) disturb(random *rand.Rand) error {
	if w.process == nil {
		return w.restart()
	}
	switch random.IntN(8) {
	case 0, 1, 2:
		w.crash(random)
		if random.IntN(2) == 0 {
			return w.restart()
		}
	case 3, 4:
		if len(w.watchers) == 0 {
			return nil
		}
		cut := w.watchers[random.IntN(len(w.watchers))]
		if random.IntN(2) == 0 && len(cut.events) == 0 {
			w.note("the watch of %s expires", cut.resource)
			expired := apierrors.NewResourceExpired("injected").Status()
			cut.events <- watch.Event{Type: watch.Error, Object: &expired}
			return nil
		}
		w.note("the watch of %s ends", cut.resource)
		w.removeWatcher(cut)
	case 5:
		if w.now().Sub(w.jumped) < jumpInterval {
			return nil
		}
		w.jumped = w.now()
		by := time.Duration(random.IntN(7200)-3600) * time.Second
		w.note("the clock jumps by %v", by)
		w.clock.jump(by)
	case 6, 7:
		w.store.podLimit = random.IntN(5) - 1
		w.note("the quota is %d pods", w.store.podLimit)
	}
	return nil
}
