// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/redhat/podset-operator/internal/testutil"
)

var states = flag.Int("states", 40_000, "how many states the explorer visits")

// The explorer walks through every interleaving of a small life: a user who scales, deletes pods and the set; a kubelet;
// a cache that lags behind by any number of events; an operator that crashes before or after each of its writes, or gets
// no answer to it, and starts again with a list of any age that the store still had. P1 to P6 hold in every state.

// change is one event of the store that a cache has not seen.
type change struct {
	pod      *corev1.Pod // nil: the set
	gone     bool
	replicas int32
	deleting bool
}

// view is the set and its pods, as the store has them or as a cache shows them.
type view struct {
	replicas int32
	deleting bool
	pods     map[string]*corev1.Pod // shared, never changed
}

func (v view) clone() view { v.pods = maps.Clone(v.pods); return v }

func (v *view) apply(c change) {
	switch {
	case c.pod == nil:
		v.replicas, v.deleting = c.replicas, c.deleting
	case c.gone:
		delete(v.pods, c.pod.Name)
	default:
		v.pods[c.pod.Name] = c.pod
	}
}

// node is one state of the small world.
type node struct {
	store, cache view
	queue        []change // what the store has done and the cache has not shown
	// What the operator remembers: see controllers/memory.go.
	created map[types.UID]*corev1.Pod
	deleted sets.Set[types.UID]
	// unverified is how many events the cache lags behind the moment of the start: no write before they are shown.
	unverified int
	// What may still happen.
	script, crashes, losses, kills, readies int
	uids                                    int
	most                                    int // the largest replicas since the set had what it asked for
}

func (n *node) clone() *node {
	c := *n
	c.store, c.cache, c.queue = n.store.clone(), n.cache.clone(), slices.Clone(n.queue)
	c.created, c.deleted = maps.Clone(n.created), n.deleted.Clone()
	return &c
}

// key names a state: two with one key have the same future. UIDs are counted, so states that differ in their past by a
// pod more or less are two.
func (n *node) key() string {
	var k strings.Builder
	pods := func(pods map[string]*corev1.Pod) {
		for _, name := range slices.Sorted(maps.Keys(pods)) {
			fmt.Fprintf(&k, "%s%t ", pods[name].UID, isReady(pods[name]))
		}
	}
	for _, v := range []view{n.store, n.cache} {
		fmt.Fprintf(&k, "|%d%t ", v.replicas, v.deleting)
		pods(v.pods)
	}
	for _, c := range n.queue {
		if c.pod != nil {
			fmt.Fprintf(&k, "+%s%t%t", c.pod.UID, isReady(c.pod), c.gone)
		} else {
			fmt.Fprintf(&k, "+%d%t", c.replicas, c.deleting)
		}
	}
	fmt.Fprintf(&k, "|%v%v", slices.Sorted(maps.Keys(n.created)), sets.List(n.deleted))
	fmt.Fprintf(&k, "|%d %d %d %d %d %d %d", n.unverified, n.script, n.crashes, n.losses, n.kills, n.readies, n.most)
	return k.String()
}

func (n *node) emit(c change) {
	n.store.apply(c)
	n.queue = append(n.queue, c)
}

// script is what the user does to the set, in this order; 0 deletes it.
var script = []int32{3, 1, 2, 0}

// explorer counts and checks.
type explorer struct {
	t     *testing.T
	seen  map[string]bool
	stack []*node
	edges int
}

func (e *explorer) push(n *node) {
	e.edges++
	if key := n.key(); !e.seen[key] {
		e.seen[key] = true
		e.stack = append(e.stack, n)
	}
}

func TestExplore(t *testing.T) {
	limit := *states
	e := &explorer{t: t, seen: map[string]bool{}}
	empty := view{replicas: 1, pods: map[string]*corev1.Pod{}}
	e.push(&node{
		store: empty, cache: empty.clone(), created: map[types.UID]*corev1.Pod{}, deleted: sets.New[types.UID](),
		crashes: 2, losses: 1, kills: 1, readies: 2, most: 1,
	})
	// Breadth first: all that can happen in few steps comes before what needs many.
	for len(e.stack) > 0 && len(e.seen) < limit && !t.Failed() {
		n := e.stack[0]
		e.stack = e.stack[1:]
		e.next(n)
	}
	rest := "everything"
	if len(e.stack) > 0 {
		rest = fmt.Sprintf("%d states are left", len(e.stack))
	}
	t.Logf("%d states, %d transitions, %s", len(e.seen), e.edges, rest)
}

// next pushes all states that can follow.
func (e *explorer) next(n *node) {
	if n.script < len(script) && !n.store.deleting {
		c := n.clone()
		replicas := script[n.script]
		c.script++
		c.emit(change{replicas: max(replicas, n.store.replicas*btoi(replicas == 0)), deleting: replicas == 0})
		c.most = max(c.most, int(c.store.replicas))
		e.push(c)
	}
	for _, name := range slices.Sorted(maps.Keys(n.store.pods)) {
		pod := n.store.pods[name]
		if n.kills > 0 {
			c := n.clone()
			c.kills--
			c.emit(change{pod: pod, gone: true})
			e.push(c)
		}
		if n.readies > 0 && !isReady(pod) {
			c := n.clone()
			c.readies--
			ready := pod.DeepCopy()
			ready.Status.Phase = corev1.PodRunning
			ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			c.emit(change{pod: ready})
			e.push(c)
		}
	}
	if len(n.queue) > 0 {
		c := n.clone()
		c.deliver()
		e.push(c)
	}
	if n.crashes > 0 {
		e.crash(n)
	}
	e.reconcile(n)
	e.settle(n)
}

func btoi(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// deliver shows the cache one event, and the memory forgets what is shown by now.
func (n *node) deliver() {
	n.cache.apply(n.queue[0])
	n.queue = n.queue[1:]
	n.unverified = max(n.unverified-1, 0)
	living := sets.New[types.UID]()
	for _, pod := range n.cache.pods {
		delete(n.created, pod.UID)
		living.Insert(pod.UID)
	}
	for uid := range n.created {
		living.Insert(uid)
	}
	n.deleted = n.deleted.Intersection(living)
}

// crash starts the operator again: with a list as new as the store, or as old as the cache was.
func (e *explorer) crash(n *node) {
	for _, stale := range []bool{false, true} {
		c := n.clone()
		c.crashes--
		c.created, c.deleted = map[types.UID]*corev1.Pod{}, sets.New[types.UID]()
		if !stale {
			c.cache, c.queue = c.store.clone(), nil
		}
		c.unverified = len(c.queue)
		e.push(c)
	}
}

// observe is what the reconciler sees.
func (n *node) observe() Observation {
	set := testutil.MakePodSet("a").Replicas(n.cache.replicas).Obj()
	if n.cache.deleting {
		set.DeletionTimestamp = &metav1.Time{Time: now}
	}
	o := Observation{Set: set, TemplateHash: HashTemplate(set.Spec.Template), Deleted: n.deleted, Taken: sets.New[string](), Now: now}
	for _, name := range slices.Sorted(maps.Keys(n.cache.pods)) {
		o.Pods = append(o.Pods, n.cache.pods[name])
	}
	for _, uid := range slices.Sorted(maps.Keys(n.created)) {
		o.Pods = append(o.Pods, n.created[uid])
	}
	return o
}

// reconcile pushes what a pass can lead to: all writes succeed; a crash comes before or after any of them; one gets no
// answer.
func (e *explorer) reconcile(n *node) {
	o := n.observe()
	plan := MakePlan(o)
	if plan.IsEmpty() || n.unverified > 0 {
		return
	}
	e.judgePlan(n, o, plan)
	writes := len(plan.Delete) + len(plan.Create)
	for last := range writes + 1 {
		c := n.clone()
		for i := range last {
			e.write(c, plan, i, true)
		}
		if last == writes {
			e.push(c)
			continue
		}
		if n.crashes > 0 {
			e.crash(c) // before the write; after it is before the next one, or the crash of a pass that is complete
		}
		if n.losses > 0 {
			lost := c.clone()
			lost.losses--
			e.write(lost, plan, last, false)
			e.push(lost)
		}
	}
}

// write carries out the i-th write of a plan; unanswered, the operator does not learn of it.
func (e *explorer) write(n *node, plan Plan, i int, answered bool) {
	if i < len(plan.Delete) {
		pod := plan.Delete[i]
		if there, ok := n.store.pods[pod.Name]; ok && there.UID == pod.UID {
			n.emit(change{pod: there, gone: true})
		}
		if answered {
			n.deleted.Insert(pod.UID)
		}
		return
	}
	pod := plan.Create[i-len(plan.Delete)]
	there, exists := n.store.pods[pod.Name]
	if !exists {
		there = pod.DeepCopy()
		n.uids++
		there.UID = types.UID(fmt.Sprintf("%s#%d", pod.Name, n.uids))
		if !metav1.IsControlledBy(there, n.observe().Set) {
			e.t.Errorf("P1: pod %s has another owner", there.Name)
		}
		n.emit(change{pod: there})
	}
	if answered {
		n.created[there.UID] = there
	}
	if active := len(n.store.pods); active > n.most {
		e.t.Errorf("P2: %d pods, and no more than %d were asked for, in %s", active, n.most, n.key())
	}
}

// judgePlan judges P4, P5 and P6 by what the planner knew.
func (e *explorer) judgePlan(n *node, o Observation, plan Plan) {
	if n.cache.deleting {
		e.t.Errorf("P5: a set that is being deleted gets writes in %s", n.key())
	}
	dead := sets.New[types.UID]()
	for _, pod := range plan.Delete {
		dead.Insert(pod.UID)
		if pod.UID == "" || !metav1.IsControlledBy(pod, o.Set) {
			e.t.Errorf("P4: pod %s is not ours or has no UID", pod.Name)
		}
	}
	active := slices.DeleteFunc(slices.Clone(o.Pods), func(pod *corev1.Pod) bool { return !o.IsActive(pod) })
	if surplus := max(len(active)-o.wanted(), 0); len(plan.Delete) != surplus {
		e.t.Errorf("P6: %d deletes for a surplus of %d in %s", len(plan.Delete), surplus, n.key())
	}
	for _, pod := range active {
		if dead.Has(pod.UID) || isReady(pod) {
			continue
		}
		for _, victim := range plan.Delete {
			if isReady(victim) {
				e.t.Errorf("P6: %s dies while %s lives, in %s", victim.Name, pod.Name, n.key())
			}
		}
	}
}

// settle judges P3: left alone from here, the set gets what it asks for, and then nothing is left to do.
func (e *explorer) settle(n *node) {
	c := n.clone()
	for range 20 {
		for len(c.queue) > 0 {
			c.deliver()
		}
		for uid, pod := range c.created {
			// The reconciler asks the API server for a pod that stays unseen.
			if there, ok := c.store.pods[pod.Name]; !ok || there.UID != uid {
				delete(c.created, uid)
			}
		}
		plan := MakePlan(c.observe())
		if plan.IsEmpty() {
			if c.store.deleting || len(c.store.pods) == int(c.store.replicas) {
				e.converged(n)
				return
			}
			e.t.Errorf("P3: %d pods for %d replicas, and no plan, in %s", len(c.store.pods), c.store.replicas, n.key())
			return
		}
		for i := range len(plan.Delete) + len(plan.Create) {
			e.write(c, plan, i, true)
		}
	}
	e.t.Errorf("P3: it never ends, from %s", n.key())
}

// converged ends the window of P2 where the set has what it asks for and the operator knows it.
func (e *explorer) converged(n *node) {
	if len(n.queue) > 0 || len(n.store.pods) != int(n.store.replicas) || n.most == int(n.store.replicas) {
		return
	}
	c := n.clone()
	c.most = int(c.store.replicas)
	e.push(c)
}
