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

// inFlight is how long after a deletion a create of the same incarnation counts as sent before it.
const inFlight = 2 * time.Second

// judge replays the history of a world and looks at every event.
type judge struct {
	full      bool // what the operator's status says: see Controllers
	state     *state
	writes    []Write
	started   map[int]time.Time       // of each incarnation
	byUID     map[types.UID]Write     // creates of pods
	deletes   map[types.UID]bool      // pods that the operator deleted
	ours      map[string]bool         // resource versions that the operator wrote
	deleted   map[types.UID]time.Time // owners, since when they are being deleted
	windows   map[types.UID]*window
	phases    map[types.UID]cnatv1alpha1.Phase
	runs      map[types.UID]map[types.UID]bool             // At -> its pods
	owners    map[types.UID]bool                           // all that ever were
	edits     map[types.UID]edit                           // the last new schedule of an At
	specs     map[types.UID]map[int64]*cnatv1alpha1.AtSpec // of an At, by generation
	byVersion map[string]Write                             // writes by the resource version that they led to
	verdict   []Violation
	checked   map[string]bool
	reported  map[string]bool
	now       event
}

// edit is a change of a schedule.
type edit struct {
	before *cnatv1alpha1.At
	seen   time.Time
}

func newJudge(full bool, writes []Write, incarnations []*Incarnation) *judge {
	j := &judge{
		full: full, state: newState(), writes: writes, started: map[int]time.Time{},
		byUID: map[types.UID]Write{}, deletes: map[types.UID]bool{}, ours: map[string]bool{}, deleted: map[types.UID]time.Time{},
		windows: map[types.UID]*window{}, phases: map[types.UID]cnatv1alpha1.Phase{}, runs: map[types.UID]map[types.UID]bool{},
		owners: map[types.UID]bool{}, edits: map[types.UID]edit{}, specs: map[types.UID]map[int64]*cnatv1alpha1.AtSpec{}, byVersion: map[string]Write{}, checked: map[string]bool{}, reported: map[string]bool{},
	}
	for _, i := range incarnations {
		j.started[i.Number] = i.Started
	}
	for _, w := range writes {
		if !w.Committed() {
			continue
		}
		j.ours[w.Version], j.byVersion[w.Version] = true, w
		switch {
		case Creates(w.Call):
			j.byUID[w.UID] = w
		case w.Verb == "delete" && w.Resource == "pods":
			j.deletes[w.UID] = true
		}
	}
	return j
}

// check notes that an invariant was looked at, and whether it held. A violation that lasts is reported once for each subject.
func (j *judge) check(invariant string, holds bool, subject, format string, args ...any) {
	j.checked[invariant] = true
	key := invariant + " " + subject
	if holds || j.reported[key] {
		return
	}
	j.reported[key] = true
	j.verdict = append(j.verdict, Violation{invariant, strings.TrimSpace(subject + ": " + fmt.Sprintf(format, args...)), j.now.version})
}

func (j *judge) replay(events []event) {
	for _, e := range events {
		if _, isPod := e.object.(*corev1.Pod); !isPod {
			j.owners[e.object.GetUID()] = true
		}
	}
	for _, e := range events {
		j.now = e
		uid := e.object.GetUID()
		switch object := e.object.(type) {
		case *appv1alpha1.PodSet:
			before := j.state.sets[uid]
			j.state.apply(e)
			j.noteDeletion(object.UID)
			j.podSet(before, object)
		case *cnatv1alpha1.At:
			before := j.state.ats[uid]
			j.state.apply(e)
			j.noteDeletion(object.UID)
			j.at(before, object)
		case *corev1.Pod:
			before, wasActive := j.state.pods[uid], false
			if before != nil {
				wasActive = j.state.isActive(before)
			}
			j.state.apply(e)
			if before == nil {
				j.born(object)
			}
			if set, ok := j.state.sets[controller(object)]; ok {
				j.podOfSet(set, before, object, wasActive)
			}
		}
	}
	j.deletions()
}

// noteDeletion remembers when an owner's deletion began.
func (j *judge) noteDeletion(uid types.UID) {
	if _, ok := j.deleted[uid]; !ok && (j.now.object.GetDeletionTimestamp() != nil || j.state.gone[uid]) {
		j.deleted[uid] = j.now.seen
	}
}

// born judges a new pod: P1, P5, A1, A2.
func (j *judge) born(pod *corev1.Pod) {
	write, byOperator := j.byUID[pod.UID]
	owner := controller(pod)
	_, ofSet := j.state.sets[owner]
	at, ofAt := j.state.ats[owner]
	if !byOperator {
		return
	}
	// The owner may have been seen late, after a restart of the API server.
	j.check("P1", j.owners[owner] && len(pod.OwnerReferences) == 1, "pod "+pod.Name, "made with owners %v", pod.OwnerReferences)
	if deleted, ok := j.deleted[owner]; ofSet || ofAt {
		told := deleted
		if write.Blind.After(deleted) {
			told = write.Blind
		}
		late := ok && (write.Sent.After(told.Add(inFlight)) || j.started[write.Incarnation].After(deleted))
		j.check("P5", !late, "pod "+pod.Name, "made %v after the deletion of its owner", write.Sent.Sub(deleted))
	}
	if ofAt {
		j.run(at, pod, write)
	}
}

// lists judges what the operator read: L1. A process that accepts a list of any age may not see what its predecessor wrote.
func (j *judge) lists(calls []Call) {
	for _, c := range calls {
		if c.Verb == "list" || c.Verb == "watch" {
			j.check("L1", !c.AnyAge, c.String(), "accepts any age")
		}
	}
}

// deletions judges every delete of a pod that the operator asked for: P4.
func (j *judge) deletions() {
	for _, w := range j.writes {
		foreign := func(pod *corev1.Pod) bool {
			return j.state.sets[controller(pod)] == nil && j.state.ats[controller(pod)] == nil
		}
		if w.Resource != "pods" || w.Verb == "create" {
			continue
		}
		j.check("P4", w.Verb == "delete", "pod "+w.Name, "changed by the operator: %s", w)
		if w.Verb != "delete" {
			continue
		}
		j.check("P4", w.Precondition != "", "pod "+w.Name, "deleted by name alone")
		if pod, ok := j.state.pods[w.UID]; ok && w.Committed() {
			j.check("P4", !foreign(pod), "foreign pod "+w.Name, "deleted by the operator")
		}
	}
}
