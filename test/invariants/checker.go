// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

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
	// Invariant is its number in doc.go, such as P2.
	Invariant string
	// What describes the violation. Version is the resource version at which it was found, or 0 if there is no single one.
	What    string
	Version uint64
}

func (v Violation) String() string {
	return fmt.Sprintf("%s at version %d: %s", v.Invariant, v.Version, v.What)
}

// Checker replays the watch events of an environment and checks the invariants on each of them.
type Checker struct {
	// InFlight is how long after a deletion a create of the same process may still be in flight.
	InFlight time.Duration
	// LaggingPods is true if the cache of pods may lag at any time, so that the operator cannot know which pods are ready.
	LaggingPods bool

	// FaultsEnded is when the last fault ended, and End when the events ended. If they are zero, reports are not checked.
	FaultsEnded, End time.Time
	// Runs are what the nodes know about the commands of pods, whether a status shows it or not. Nil means that it is not known.
	Runs map[types.UID]*Run
	// Checks are the dry runs whose answers the operator has received. Nil means that they are not known.
	Checks []Check
	// ChangesIdentity is true if admission changes the names, the controllers, the containers, or the restartPolicy of new pods of Ats.
	ChangesIdentity bool
	// Told is who knows the last state of a deleted pod.
	Told map[types.UID]Told
	// StripsOwners is true if admission removes the owner references of new pods.
	StripsOwners bool
	// HidesSlots is true if admission removes everything that shows the slot of a pod.
	HidesSlots bool
	// ServerAhead is how far the clock of the API server is ahead of the times in Sent and Seen, or nil if the clocks are the same.
	ServerAhead *time.Duration
	// NodesAhead is how far the clocks of the nodes are ahead of these times, and Jumps are those of the clock of the operator's machine.
	NodesAhead time.Duration
	Jumps      []Jump

	full      bool // whether the operator fills the whole status: see Controllers
	state     *State
	writes    []Write
	started   map[int]time.Time                            // when each process started
	byUID     map[types.UID]Write                          // creates of pods
	deletes   map[types.UID]Write                          // of pods
	tried     map[types.UID]bool                           // pods that the operator tried to delete, perhaps without success
	ours      map[string]Write                             // the operator's writes by resource version
	deleted   map[types.UID]time.Time                      // when the deletion of each owner began
	windows   map[types.UID]*window                        // of each PodSet
	revisions map[types.UID]map[int64]revision             // of each PodSet, by generation
	setPods   map[types.UID]map[types.UID]*setPod          // every pod that a PodSet ever controlled
	phases    map[types.UID]cnatv1alpha1.Phase             // the last phase of each At that the operator wrote
	runs      map[types.UID]map[types.UID]bool             // the pods of each At
	owners    map[types.UID]bool                           // every PodSet and At that ever existed
	edits     map[types.UID][]edit                         // the changes of the spec of each At
	begins    map[types.UID]map[int32]Write                // the write that recorded the start of each attempt of each At
	failures  map[types.UID]map[int32]Write                // the write that recorded the failure of each attempt of each At
	history   map[types.UID][]Event                        // the changes of each PodSet and At
	writings  map[types.UID]int                            // the operator's writes to each unusable At since another change
	specs     map[types.UID]map[int64]*cnatv1alpha1.AtSpec // of each At, by generation
	reported  map[string]bool
	// foreign has the pods that an owner once controlled, and since when they have no owner, or zero if they have one.
	foreign map[types.UID]time.Time
	// spells are the states of pods that last and that their owners must report, and over those that have ended. zero is when commands of
	// pods ended with exit code 0.
	spells map[types.UID]spell
	over   []spell
	zero   map[types.UID]time.Time
	// shown is since when pods show the exit codes of their commands.
	shown map[types.UID]time.Time
	// recorded are the pods whose commands ended with exit code 0 according to a status that the operator wrote.
	recorded map[types.UID]bool
	// stops are the operator's requests to end pods, and claims the statuses that say that a command did not run.
	stops map[types.UID]stop
	// ungated is since when pods of Ats had no gate that the operator did not open: admission removed the gate, or somebody else did before the pod
	// was recorded. images are those with which the pods were created.
	ungated map[types.UID]time.Time
	images  map[types.UID][]string
	claims  []claim
	// stuck are the PodSets that do not match their spec, since they last made progress.
	stuck    map[types.UID]spell
	progress map[types.UID]*progress
	// degraded is when Degraded last became True because of a pod that crashes.
	degraded map[types.UID]time.Time
	now      Event

	// Violations are the invariants that did not hold.
	Violations []Violation
	// Checked are the invariants that were checked.
	Checked map[string]bool
}

// Told is a process to which a watch delivered the last state of a pod, and when.
type Told struct {
	Process int
	Seen    time.Time
}

// edit is a change of the spec of an At.
type edit struct {
	before *cnatv1alpha1.At
	seen   time.Time
}

// NewChecker returns a checker for an operator with these writes. full is true if it fills the whole status. started is when each of its
// processes started, by number.
func NewChecker(full bool, writes []Write, started map[int]time.Time) *Checker {
	c := &Checker{
		InFlight: 2 * time.Second, full: full, state: NewState(), writes: writes, started: started, byUID: map[types.UID]Write{},
		deletes: map[types.UID]Write{}, tried: map[types.UID]bool{}, ours: map[string]Write{}, deleted: map[types.UID]time.Time{}, windows: map[types.UID]*window{},
		revisions: map[types.UID]map[int64]revision{}, setPods: map[types.UID]map[types.UID]*setPod{},
		phases: map[types.UID]cnatv1alpha1.Phase{}, runs: map[types.UID]map[types.UID]bool{}, owners: map[types.UID]bool{},
		edits: map[types.UID][]edit{}, begins: map[types.UID]map[int32]Write{}, failures: map[types.UID]map[int32]Write{}, specs: map[types.UID]map[int64]*cnatv1alpha1.AtSpec{},
		history: map[types.UID][]Event{}, writings: map[types.UID]int{}, foreign: map[types.UID]time.Time{},
		spells: map[types.UID]spell{}, stuck: map[types.UID]spell{}, progress: map[types.UID]*progress{}, zero: map[types.UID]time.Time{}, shown: map[types.UID]time.Time{}, recorded: map[types.UID]bool{}, stops: map[types.UID]stop{}, ungated: map[types.UID]time.Time{}, images: map[types.UID][]string{}, degraded: map[types.UID]time.Time{}, Checked: map[string]bool{}, reported: map[string]bool{},
	}
	for _, w := range writes {
		if w.Verb == "delete" && w.Precondition != "" {
			c.tried[w.Precondition] = true
		}
		if !w.Committed() {
			continue
		}
		if _, known := c.ours[w.Version]; !known && !w.Undone { // A write that changes nothing gets the version of the last change.
			c.ours[w.Version] = w
		}
		switch {
		case w.createsPod():
			c.byUID[w.UID] = w
		case w.Verb == "delete" && w.Resource == "pods":
			c.deletes[w.UID] = w
		}
	}
	return c
}

// check records that an invariant was checked, and a violation if it does not hold. It reports a violation once per subject.
func (c *Checker) check(invariant string, holds bool, subject, format string, args ...any) {
	c.Checked[invariant] = true
	key := invariant + " " + subject
	if holds || c.reported[key] {
		return
	}
	c.reported[key] = true
	c.Violations = append(c.Violations, Violation{invariant, strings.TrimSpace(subject + ": " + fmt.Sprintf(format, args...)), c.now.Version})
}

// Replay checks the changes of all objects, in the order of their versions.
func (c *Checker) Replay(events []Event) {
	for _, e := range events {
		if _, isPod := e.Object.(*corev1.Pod); !isPod {
			c.owners[e.Object.GetUID()] = true
			c.history[e.Object.GetUID()] = append(c.history[e.Object.GetUID()], e)
		}
	}
	for _, e := range events {
		c.now = e
		uid := e.Object.GetUID()
		switch object := e.Object.(type) {
		case *appv1alpha1.PodSet:
			before := c.state.Sets[uid]
			c.state.Apply(e)
			c.noteDeletion(object.UID)
			c.podSet(before, object)
		case *cnatv1alpha1.At:
			before := c.state.Ats[uid]
			c.state.Apply(e)
			c.noteDeletion(object.UID)
			c.at(before, object)
		case *corev1.Pod:
			before, wasActive := c.state.Pods[uid], false
			if before != nil {
				wasActive = c.state.IsActive(before)
			}
			c.state.Apply(e)
			c.notePod(object)
			c.noteOwner(object)
			c.noteSpell(object)
			c.noteExit(object)
			if before == nil {
				c.podCreated(object)
			}
			c.noteGate(before, object)
			c.keepsStopped(before, object)
			if set, ok := c.state.Sets[ControllerOf(object)]; ok {
				c.podOfSet(set, before, object, wasActive)
				c.noteProgress(set, before, object)
			} else if before != nil && c.state.Sets[ControllerOf(before)] != nil { // The pod has lost its owner.
				c.noteProgress(c.state.Sets[ControllerOf(before)], nil, nil)
			}
		}
	}
	c.deletions()
	c.rejections()
	c.identities()
	c.reports()
	c.checksAreFew()
	c.claimsAreTrue()
}

// ownerOf returns the UID of the owner for which the operator created a pod if admission removed it, or else that of its controller.
func (c *Checker) ownerOf(pod *corev1.Pod) types.UID {
	if write, ours := c.byUID[pod.UID]; ours && write.Stripped {
		return write.Owner
	}
	return ControllerOf(pod)
}

func (c *Checker) noteDeletion(uid types.UID) {
	if _, ok := c.deleted[uid]; !ok && (c.now.Object.GetDeletionTimestamp() != nil || c.state.Removed[uid]) {
		c.deleted[uid] = c.now.Seen
	}
}

// podCreated checks a new pod: P1, P5.
func (c *Checker) podCreated(pod *corev1.Pod) {
	write, byOperator := c.byUID[pod.UID]
	c.images[pod.UID] = imagesOf(pod)
	owner := c.ownerOf(pod)
	_, ofSet := c.state.Sets[owner]
	_, ofAt := c.state.Ats[owner]
	if !byOperator {
		return
	}
	// After a restart of the API server, the observer may see the owner later than its pod.
	c.check("P1", c.owners[owner] && (len(pod.OwnerReferences) == 1 || c.StripsOwners), "pod "+pod.Name, "created with owners %v", pod.OwnerReferences)
	if deleted, ok := c.deleted[owner]; ofSet || ofAt {
		known := deleted
		if write.StaleUntil.After(deleted) {
			known = write.StaleUntil
		}
		late := ok && (write.Sent.After(known.Add(c.InFlight)) || c.started[write.Process].After(deleted))
		c.check("P5", !late, "pod "+pod.Name, "created %v after the deletion of its owner", write.Sent.Sub(deleted))
	}
	if ofSet {
		c.slots(owner, pod, write)
		c.stripped(c.state.Sets[owner])
	}
}

// Lists checks the reads of the operator: L1. A process that accepts a list of any age may not see the writes of its predecessor.
func (c *Checker) Lists(calls []Call) {
	for _, call := range calls {
		if call.Verb == "list" || call.Verb == "watch" {
			c.check("L1", !call.AnyAge, call.String(), "accepts a state of any age")
		}
	}
}
