// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// Violation is an invariant that did not hold.
type Violation struct {
	// Invariant is its number in docs/testing.md, such as P2.
	Invariant string
	// What happened, and at which resource version; 0: not at one moment.
	What    string
	Version uint64
}

func (v Violation) String() string {
	return fmt.Sprintf("%s at version %d: %s", v.Invariant, v.Version, v.What)
}

// inFlight is how long after a deletion a create of the same process counts as sent before it.
const inFlight = 2 * time.Second

// judge replays the history of a world and looks at every event.
type checker struct {
	full       bool // what the operator's status says: see Controllers
	state      *state
	writes     []Write
	started    map[int]time.Time       // of each process
	byUID      map[types.UID]Write     // creates of pods
	deletes    map[types.UID]bool      // pods that the operator deleted
	ours       map[string]bool         // resource versions that the operator wrote
	deleted    map[types.UID]time.Time // owners, since when they are being deleted
	windows    map[types.UID]*window
	phases     map[types.UID]cnatv1alpha1.Phase
	runs       map[types.UID]map[types.UID]bool             // At -> its pods
	owners     map[types.UID]bool                           // all that ever were
	edits      map[types.UID]edit                           // the last new schedule of an At
	specs      map[types.UID]map[int64]*cnatv1alpha1.AtSpec // of an At, by generation
	byVersion  map[string]Write                             // writes by the resource version that they led to
	violations []Violation
	checked    map[string]bool
	reported   map[string]bool
	now        event
}

// edit is a change of a schedule.
type edit struct {
	before *cnatv1alpha1.At
	seen   time.Time
}

func newChecker(full bool, writes []Write, processes []*Process) *checker {
	c := &checker{
		full: full, state: newState(), writes: writes, started: map[int]time.Time{},
		byUID: map[types.UID]Write{}, deletes: map[types.UID]bool{}, ours: map[string]bool{}, deleted: map[types.UID]time.Time{},
		windows: map[types.UID]*window{}, phases: map[types.UID]cnatv1alpha1.Phase{}, runs: map[types.UID]map[types.UID]bool{},
		owners: map[types.UID]bool{}, edits: map[types.UID]edit{}, specs: map[types.UID]map[int64]*cnatv1alpha1.AtSpec{}, byVersion: map[string]Write{}, checked: map[string]bool{}, reported: map[string]bool{},
	}
	for _, i := range processes {
		c.started[i.Number] = i.Started
	}
	for _, w := range writes {
		if !w.Committed() {
			continue
		}
		c.ours[w.Version], c.byVersion[w.Version] = true, w
		switch {
		case Creates(w.Call):
			c.byUID[w.UID] = w
		case w.Verb == "delete" && w.Resource == "pods":
			c.deletes[w.UID] = true
		}
	}
	return c
}

// check notes that an invariant was looked at, and whether it held. A violation that lasts is reported once for each subject.
func (c *checker) check(invariant string, holds bool, subject, format string, args ...any) {
	c.checked[invariant] = true
	key := invariant + " " + subject
	if holds || c.reported[key] {
		return
	}
	c.reported[key] = true
	c.violations = append(c.violations, Violation{invariant, strings.TrimSpace(subject + ": " + fmt.Sprintf(format, args...)), c.now.version})
}

func (c *checker) replay(events []event) {
	for _, e := range events {
		if _, isPod := e.object.(*corev1.Pod); !isPod {
			c.owners[e.object.GetUID()] = true
		}
	}
	for _, e := range events {
		c.now = e
		uid := e.object.GetUID()
		switch object := e.object.(type) {
		case *appv1alpha1.PodSet:
			before := c.state.sets[uid]
			c.state.apply(e)
			c.noteDeletion(object.UID)
			c.podSet(before, object)
		case *cnatv1alpha1.At:
			before := c.state.ats[uid]
			c.state.apply(e)
			c.noteDeletion(object.UID)
			c.at(before, object)
		case *corev1.Pod:
			before, wasActive := c.state.pods[uid], false
			if before != nil {
				wasActive = c.state.isActive(before)
			}
			c.state.apply(e)
			if before == nil {
				c.podCreated(object)
			}
			if set, ok := c.state.sets[controller(object)]; ok {
				c.podOfSet(set, before, object, wasActive)
			}
		}
	}
	c.deletions()
}

// noteDeletion remembers when an owner's deletion began.
func (c *checker) noteDeletion(uid types.UID) {
	if _, ok := c.deleted[uid]; !ok && (c.now.object.GetDeletionTimestamp() != nil || c.state.removed[uid]) {
		c.deleted[uid] = c.now.seen
	}
}

// born judges a new pod: P1, P5, A1, A2.
func (c *checker) podCreated(pod *corev1.Pod) {
	write, byOperator := c.byUID[pod.UID]
	owner := controller(pod)
	_, ofSet := c.state.sets[owner]
	at, ofAt := c.state.ats[owner]
	if !byOperator {
		return
	}
	// The owner may have been seen late, after a restart of the API server.
	c.check("P1", c.owners[owner] && len(pod.OwnerReferences) == 1, "pod "+pod.Name, "made with owners %v", pod.OwnerReferences)
	if deleted, ok := c.deleted[owner]; ofSet || ofAt {
		told := deleted
		if write.StaleUntil.After(deleted) {
			told = write.StaleUntil
		}
		late := ok && (write.Sent.After(told.Add(inFlight)) || c.started[write.Process].After(deleted))
		c.check("P5", !late, "pod "+pod.Name, "made %v after the deletion of its owner", write.Sent.Sub(deleted))
	}
	if ofAt {
		c.run(at, pod, write)
	}
}

// lists judges what the operator read: L1. A process that accepts a list of any age may not see what its predecessor wrote.
func (c *checker) lists(calls []Call) {
	for _, call := range calls {
		if call.Verb == "list" || call.Verb == "watch" {
			c.check("L1", !call.AnyAge, call.String(), "accepts any age")
		}
	}
}

// deletions judges every delete of a pod that the operator asked for: P4.
func (c *checker) deletions() {
	for _, w := range c.writes {
		foreign := func(pod *corev1.Pod) bool {
			return c.state.sets[controller(pod)] == nil && c.state.ats[controller(pod)] == nil
		}
		if w.Resource != "pods" || w.Verb == "create" {
			continue
		}
		c.check("P4", w.Verb == "delete", "pod "+w.Name, "changed by the operator: %s", w)
		if w.Verb != "delete" {
			continue
		}
		c.check("P4", w.Precondition != "", "pod "+w.Name, "deleted by name alone")
		if pod, ok := c.state.pods[w.UID]; ok && w.Committed() {
			c.check("P4", !foreign(pod), "foreign pod "+w.Name, "deleted by the operator")
		}
	}
}
