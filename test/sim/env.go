// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	mathrand "math/rand"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/redhat/podset-operator/test/invariants"
)

// env is one scenario: a Store, a process of the operator, and everything in flight between them. Only the scheduler changes it, while all
// goroutines of the operator are blocked. The operator only adds calls, watches, and notes.
type env struct {
	operator Operator
	scenario Scenario
	store    *Store
	clock    wallClock
	begin    time.Time
	process  *process // or nil if none is running
	// oldVersion is the version of the state that a list of any age returns.
	oldVersion uint64
	started    map[int]time.Time
	writes     []invariants.Write
	lists      []invariants.Call
	checks     []invariants.Check
	events     []eventsv1.Event
	violations []invariants.Violation
	stats      Stats
	trace      *[]string // or nil without a timeline
	// order decides the order in which caches list objects in this step.
	order uint64
	// state is the state after the first applied changes of the Store.
	state   *invariants.State
	applied int
	// collected is when the garbage collector last did something after the last fault.
	collected time.Time
	// jumps are those of the clock.
	jumps []invariants.Jump
	// webhook changes new pods, and fates are those of pods. runs are what the nodes know about the commands of pods, reported or not.
	webhook webhook
	fates   map[types.UID]*fate
	runs    map[types.UID]*invariants.Run
	// answers are those to dry runs that a defective operator remembers.
	answers map[string]remembered
	// budgets are the PodDisruptionBudgets by name.
	budgets map[string]*policyv1.PodDisruptionBudget
	// told is who knows the last state of an object: a watch has delivered it.
	told map[types.UID]invariants.Told
	// serverAhead and nodesAhead are how far the clocks of the API server and of the nodes are ahead of the operator's clock.
	serverAhead, nodesAhead time.Duration
	// oddDates decides which responses have an odd date.
	oddDates *rand.Rand
	// faultsEnded is when the last fault ended, and retry how much later the last retry is due.
	faultsEnded time.Time
	retry       time.Duration
	// streams is true if the Store streams lists, as servers of Kubernetes 1.34 and later do.
	streams bool
	// synced is true if the operator receives all changes before the next event.
	synced bool
	// lagging is true if the operator was not synced in all steps.
	lagging bool

	mu       sync.Mutex
	calls    []*call
	watchers []*watcher
	notes    []string
	arrived  chan struct{}
}

func (e *env) now() time.Time { return time.Now() } // of the bubble

// arrive adds a call. It returns false if the process has crashed.
func (e *env) arrive(c *call) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.process.ctx.Err() != nil {
		return false
	}
	e.calls = append(e.calls, c)
	if e.trace != nil {
		e.notes = append(e.notes, fmt.Sprintf("process %d sends %s", c.process.number, c.String()))
	}
	e.ping()
	return true
}

func (e *env) ping() {
	select {
	case e.arrived <- struct{}{}:
	default:
	}
}

func (e *env) remove(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = slices.DeleteFunc(e.calls, func(other *call) bool { return other == c })
}

func (e *env) addWatcher(added *watcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watchers = append(e.watchers, added)
}

func (e *env) removeWatcher(removed *watcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if removed.stopped {
		return
	}
	removed.stopped = true
	close(removed.events)
	e.watchers = slices.DeleteFunc(e.watchers, func(other *watcher) bool { return other == removed })
}

func (e *env) record(p *process, sent eventsv1.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.ctx.Err() != nil {
		return // The process ends.
	}
	e.operator.Defect.event(&sent)
	e.events = append(e.events, sent)
	if e.trace != nil {
		e.notes = append(e.notes, fmt.Sprintf("process %d reports %s about %s: %s", p.number, sent.Reason, sent.Regarding.Name, sent.Note))
	}
}

// runUntilBlocked lets all goroutines run until they are blocked. A millisecond passes, so that no two steps happen at the same time.
func (e *env) runUntilBlocked() {
	time.Sleep(time.Millisecond) //nolint:forbidigo // It is virtual time.
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.SortStableFunc(e.calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.sent.UnixNano(), b.sent.UnixNano()), cmp.Compare(a.process.number, b.process.number),
			strings.Compare(a.String(), b.String()), strings.Compare(string(a.Precondition), string(b.Precondition)))
	})
	if p := e.process; p != nil {
		p.mu.Lock()
		p.idle = 0
		p.mu.Unlock()
	}
	slices.SortFunc(e.watchers, func(a, b *watcher) int { return strings.Compare(a.resource, b.resource) })
	slices.Sort(e.notes) // The goroutines of one step have no order.
	for _, note := range e.notes {
		e.note("%s", note)
	}
	e.notes = nil
}

// note adds a line to the timeline.
func (e *env) note(format string, args ...any) {
	if e.trace != nil {
		*e.trace = append(*e.trace, fmt.Sprintf("%9.3fs  ", e.now().Sub(e.begin).Seconds())+fmt.Sprintf(format, args...))
	}
}

// behind returns the watches that have events to deliver.
func (e *env) behind() []*watcher {
	var behind []*watcher
	for _, watcher := range e.watchers {
		if _, ok := watcher.next(); ok {
			behind = append(behind, watcher)
		}
	}
	return behind
}

// behind reports whether a cache does not show the latest change of a resource. Only the goroutines of the operator call it, and the Store
// does not change while they run.
func (p *process) behind(resource string) bool {
	p.env.mu.Lock()
	defer p.env.mu.Unlock()
	for _, w := range p.env.watchers {
		if w.resource == resource {
			_, ok := w.next()
			return ok
		}
	}
	return true
}

func (e *env) deliver(to *watcher) {
	change, _ := to.next()
	to.version = change.Version
	object := CopyOf(change.Object)
	if !e.operator.Defect.delivers(change.Kind, object) {
		return
	}
	if e.trace != nil {
		e.note("cache of %s shows: %s", to.resource, describe(change))
	}
	to.process.shown[object.GetUID()] = true
	to.process.caches(object.GetUID())
	if change.Kind == watch.Deleted {
		e.told[object.GetUID()] = invariants.Told{Process: to.process.number, Seen: e.now()}
	}
	to.events <- watch.Event{Type: change.Kind, Object: object}
}

// caches notes that the cache of a process has an object from now on.
func (p *process) caches(uid types.UID) {
	if _, known := p.cached[uid]; !known {
		p.cached[uid] = p.env.now()
	}
}

// advance lets time pass until a process sends a call, but not longer than d.
func (e *env) advance(d time.Duration) {
	select {
	case <-e.arrived:
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.arrived:
	}
	synctest.Wait()
}

// seedDelays makes the delays of client-go, which come from a global random source, depend only on the step that causes them.
func (e *env) seedDelays() {
	mathrand.Seed(int64(e.order)) //nolint:staticcheck,gosec // Client-go uses this source.
}

func (e *env) end() {
	if p := e.process; p != nil {
		p.kill()
		p.done.Wait()
		synctest.Wait()
	}
	e.stats.Virtual = e.now().Sub(e.begin)
}

func (e *env) countWrite(c *call, write invariants.Write) {
	e.stats.Writes++
	if c.stale || c.stalePods {
		e.stats.StaleWrites++
	}
	e.note("the Store answers %s of process %d: %d", c.String(), c.process.number, write.Code)
}
