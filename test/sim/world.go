// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/redhat/podset-operator/test/invariants"
)

// world is one scenario: a Store, a process of the operator, and everything that is in flight between them. Only the scheduler
// changes it, while all goroutines of the operator are blocked. The operator only adds calls, watches, and notes.
type world struct {
	operator Operator
	store    *Store
	clock    wallClock
	begin    time.Time
	process  *process // nil: none runs
	// oldVersion is that of the state which a list of any age returns.
	oldVersion uint64
	started    map[int]time.Time
	writes     []invariants.Write
	lists      []invariants.Call
	events     []eventsv1.Event
	violations []invariants.Violation
	stats      Stats
	trace      *[]string // nil: no timeline is wanted
	// order decides in which order caches list objects in this step.
	order uint64
	// state is that after the first changes of the Store, of which there are applied.
	state   *invariants.State
	applied int
	// jumped is when the clock last jumped.
	jumped time.Time
	// prompt says that the operator knows everything before anything else happens.
	prompt bool
	// lagging says that it was not so in all steps.
	lagging bool

	mu       sync.Mutex
	calls    []*call
	watchers []*watcher
	notes    []string
	arrived  chan struct{}
}

func (w *world) now() time.Time { return time.Now() } // of the bubble

// arrive adds a call. It returns false if the process has crashed.
func (w *world) arrive(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.process.ctx.Err() != nil {
		return false
	}
	w.calls = append(w.calls, c)
	if w.trace != nil {
		w.notes = append(w.notes, fmt.Sprintf("process %d sends %s", c.process.number, c.String()))
	}
	w.ping()
	return true
}

func (w *world) ping() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

func (w *world) remove(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = slices.DeleteFunc(w.calls, func(other *call) bool { return other == c })
}

func (w *world) addWatcher(added *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchers = append(w.watchers, added)
}

func (w *world) removeWatcher(removed *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if removed.stopped {
		return
	}
	removed.stopped = true
	close(removed.events)
	w.watchers = slices.DeleteFunc(w.watchers, func(other *watcher) bool { return other == removed })
}

func (w *world) record(p *process, e eventsv1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.ctx.Err() != nil {
		return // The process ends.
	}
	w.operator.Defect.event(&e)
	w.events = append(w.events, e)
	if w.trace != nil {
		w.notes = append(w.notes, fmt.Sprintf("process %d reports %s about %s: %s", p.number, e.Reason, e.Regarding.Name, e.Note))
	}
}

// settle lets all goroutines run until they are blocked. A millisecond passes, so that no two steps happen at the same time.
func (w *world) settle() {
	time.Sleep(time.Millisecond) //nolint:forbidigo // It is virtual time.
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.sent.UnixNano(), b.sent.UnixNano()), cmp.Compare(a.process.number, b.process.number),
			strings.Compare(a.String(), b.String()), strings.Compare(string(a.Precondition), string(b.Precondition)))
	})
	if p := w.process; p != nil {
		p.mu.Lock()
		p.idle = 0
		p.mu.Unlock()
	}
	slices.SortFunc(w.watchers, func(a, b *watcher) int { return strings.Compare(a.resource, b.resource) })
	slices.Sort(w.notes) // The goroutines of one step have no order.
	for _, note := range w.notes {
		w.note("%s", note)
	}
	w.notes = nil
}

// note adds a line to the timeline.
func (w *world) note(format string, args ...any) {
	if w.trace != nil {
		*w.trace = append(*w.trace, fmt.Sprintf("%9.3fs  ", w.now().Sub(w.begin).Seconds())+fmt.Sprintf(format, args...))
	}
}

// behind returns the watches that have events to deliver.
func (w *world) behind() []*watcher {
	var behind []*watcher
	for _, watcher := range w.watchers {
		if _, ok := watcher.next(); ok {
			behind = append(behind, watcher)
		}
	}
	return behind
}

// behind tells whether a cache does not show the latest change of a resource. Only the goroutines of the operator call it, and
// the Store does not change while they run.
func (p *process) behind(resource string) bool {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	for _, w := range p.world.watchers {
		if w.resource == resource {
			_, ok := w.next()
			return ok
		}
	}
	return true
}

// deliver delivers the next event of a watch.
func (w *world) deliver(to *watcher) {
	e, _ := to.next()
	to.version = e.Version
	if !w.operator.Defect.delivers(e.Kind, e.Object) {
		return
	}
	w.note("cache of %s shows: %s", to.resource, describe(e))
	to.events <- watch.Event{Type: e.Kind, Object: copyOf(e.Object)}
}

// advance lets time pass until a process sends a call, but not longer than d.
func (w *world) advance(d time.Duration) {
	select {
	case <-w.arrived:
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.arrived:
	}
	synctest.Wait()
}

// crash kills the process. Its calls may still reach the Store.
func (w *world) crash(random *rand.Rand) {
	p := w.process
	if p == nil {
		return
	}
	w.note("process %d crashes", p.number)
	w.stats.Crashes++
	w.process = nil
	w.mu.Lock()
	for _, c := range w.calls {
		c.abandoned = true
	}
	w.calls = slices.DeleteFunc(w.calls, func(c *call) bool {
		return c.committed != nil || c.isRead() || random.IntN(2) == 0
	})
	w.mu.Unlock()
	p.kill()
	p.done.Wait()
	synctest.Wait()
}

// restart starts the next process. The requests of the previous one have reached the Store or are lost by then.
func (w *world) restart() error {
	for _, c := range slices.Clone(w.calls) {
		w.note("the Store commits %s of process %d, which has crashed", c.String(), c.process.number)
		w.carryOut(c)
		w.remove(c)
	}
	w.oldVersion = w.store.version - w.order%(min(w.store.version, 30)+1)
	p, err := w.start()
	w.process = p
	w.note("process %d starts", len(w.started))
	return err
}

// end stops the process.
func (w *world) end() {
	if p := w.process; p != nil {
		p.kill()
		p.done.Wait()
		synctest.Wait()
	}
	w.stats.Virtual = w.now().Sub(w.begin)
}

func (w *world) countWrite(c *call, write invariants.Write) {
	w.stats.Writes++
	if c.stale {
		w.stats.StaleReads++
	}
	w.note("the Store answers %s of process %d: %d", c.String(), c.process.number, write.Code)
}
