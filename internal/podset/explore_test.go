// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
	"github.com/redhat/podset-operator/internal/testutil"
)

var states = flag.Int("states", 40_000, "how many states the explorer visits")

// The explorer visits every interleaving of a small environment, breadth first, with the real State and the real rules:
//
//   - a user who scales the set, edits its template, deletes pods, and deletes the set; another controller that creates a conflicting pod
//   - a kubelet that makes pods ready, lets them fail, and removes terminating ones
//   - a cache that lags behind by any number of events
//   - an API server that rejects a create, or does what it was asked to and its answer is lost
//   - an operator that crashes before or after any of its writes, and starts with a new cache
//
// These invariants hold in every state:
//
//	P1  every pod is created with the set as its controller
//	P2  there are never more active pods than were asked for since the set last had what it asked for
//	P3  left alone, the set gets what it asks for, and then nothing is left to do
//	P4  only pods of the set are deleted, by UID
//	P5  a set that is being deleted gets no writes
//	P6  only surplus pods are deleted, and no ready pod while there is one that is not ready
//	P7  a pod that the process knows to be deleted never counts as active again, whatever the cache shows
//	P8  only finished pods are cleaned up
//	P9  a rolling update leaves all available pods but one
//	P10 with the policy TerminationComplete, no slot has two pods

// editTemplate in a script edits the template.
const editTemplate = -1

// change is one event of the store that the cache has not shown.
type change struct {
	pod  *corev1.Pod // nil means the event is about the set
	gone bool
	set  spec
}

// spec is what the user changes.
type spec struct {
	replicas int32
	edits    int // of the template
	deleting bool
}

// view is the set and its pods, as the store has them or as the cache shows them.
type view struct {
	spec
	pods map[string]*corev1.Pod // the pods themselves are shared and never modified
}

func (v view) clone() view { v.pods = maps.Clone(v.pods); return v }

func (v *view) apply(c change) {
	switch {
	case c.pod == nil:
		v.spec = c.set
	case c.gone:
		delete(v.pods, c.pod.Name)
	default:
		v.pods[c.pod.Name] = c.pod
	}
}

func (v view) sorted() []*corev1.Pod {
	return slices.SortedFunc(maps.Values(v.pods), func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

func (v view) active() int {
	return count(v.sorted(), func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !pods.IsFinished(pod) })
}

// budget is what may still happen.
type budget struct{ crashes, losses, kills, readies, failures, conflicts, rejections, ticks int }

// node is one state of the environment and of the operator.
type node struct {
	store, cache view
	queue        []change // what the store has done and the cache has not shown
	foreign      string   // the name of a conflicting pod, which the cache does not show
	now          time.Time
	script       []int32 // what the user will do to the set, in order: replicas, 0 to delete it, or edit
	uids         int     // how many pods were created
	most         int     // the most replicas since the set had what it asked for
	budget       budget
	minReady     int32
	policy       appv1alpha1.PodReplacementPolicy

	state State // of the operator's process; copied by assignment
	// there are the pods of the last observation, and deleted those that the process knows to be deleted.
	there, deleted sets.Set[types.UID]
}

func (n *node) clone() *node {
	c := *n
	c.store, c.cache, c.queue, c.deleted = n.store.clone(), n.cache.clone(), slices.Clone(n.queue), n.deleted.Clone()
	return &c
}

// key identifies a state: two states with the same key have the same future.
func (n *node) key() string {
	var k strings.Builder
	describe := func(pod *corev1.Pod) {
		fmt.Fprintf(&k, "%s%.1s%t%d ", pod.UID, pod.Status.Phase, pod.DeletionTimestamp != nil, pods.ReadySince(pod).Unix())
	}
	for _, v := range []view{n.store, n.cache} {
		fmt.Fprintf(&k, "|%v ", v.spec)
		for _, pod := range v.sorted() {
			describe(pod)
		}
	}
	for _, c := range n.queue {
		fmt.Fprintf(&k, "+%t%v", c.gone, c.set)
		if c.pod != nil {
			describe(c.pod)
		}
	}
	s := &n.state
	fmt.Fprintf(&k, "|%s|%v%+v|%d %d %v", s.pods, s.attempts, s.rejection, s.cleanupAt.Unix(), s.cleanupBackoff.Until.Unix(), s.cleanupBackoff.Delay)
	fmt.Fprintf(&k, "|%v", sets.List(s.maybeDeleted))
	fmt.Fprintf(&k, "|%v%v|%s|%d %d %d %v", sets.List(n.there), sets.List(n.deleted), n.foreign, n.now.Unix(), len(n.script), n.most, n.budget)
	return k.String()
}

// emit changes the store. The cache shows it later.
func (n *node) emit(c change) {
	n.store.apply(c)
	n.queue = append(n.queue, c)
}

// delete does what the API server does: a pod that runs on a node is terminating until the kubelet has stopped it.
func (n *node) delete(pod *corev1.Pod) {
	switch there := n.store.pods[pod.Name]; {
	case there == nil || there.UID != pod.UID || there.DeletionTimestamp != nil:
	case there.Status.Phase == corev1.PodPending || pods.IsFinished(there):
		n.emit(change{pod: there, gone: true})
	default:
		n.emit(change{pod: edit(there, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: now} })})
	}
}

func edit(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	pod = pod.DeepCopy()
	change(pod)
	return pod
}

// deliver shows the cache one event.
func (n *node) deliver() {
	n.cache.apply(n.queue[0])
	n.queue = n.queue[1:]
}

func (n *node) cachedSet() *testutil.PodSetBuilder {
	set := testutil.MakePodSet("a").Replicas(n.cache.replicas).MinReadySeconds(n.minReady).ReplacementPolicy(n.policy)
	if n.cache.edits > 0 {
		set.Image("edited")
	}
	if n.cache.deleting {
		set.Deleting()
	}
	return set
}

// explorer counts the states and checks the invariants.
type explorer struct {
	t     *testing.T
	seen  map[string]bool
	queue []*node
	edges int
}

func (e *explorer) push(n *node) {
	e.edges++
	if key := n.key(); !e.seen[key] {
		e.seen[key] = true
		e.queue = append(e.queue, n)
	}
}

// The first scenario contains everything, and has too many states to visit. The others contain less and go deeper: they visit at most a
// quarter as many states.
var scenarios = map[string]struct {
	replicas int32
	script   []int32
	budget   budget
	minReady int32
	policy   appv1alpha1.PodReplacementPolicy
}{
	"everything": {replicas: 1, script: []int32{3, 1, 2, 0}, budget: budget{
		crashes: 2, losses: 1, kills: 1, readies: 2, failures: 1, conflicts: 1, rejections: 1, ticks: 2,
	}},
	"crashes":                  {replicas: 1, script: []int32{3, 1, 2, 0}, budget: budget{crashes: 2, losses: 1, kills: 1, readies: 2}},
	"lost answers":             {replicas: 2, script: []int32{1, 2}, budget: budget{losses: 2}},
	"a cache that lags a lot":  {replicas: 1, budget: budget{losses: 1, kills: 1, readies: 1, ticks: 2}},
	"conflicts and rejections": {replicas: 1, script: []int32{2}, budget: budget{crashes: 1, kills: 1, conflicts: 1, rejections: 1, ticks: 1}},
	"failures":                 {replicas: 1, budget: budget{losses: 1, readies: 2, failures: 2, ticks: 2}},
	"a rolling update":         {replicas: 2, script: []int32{editTemplate}, budget: budget{crashes: 1, readies: 4, ticks: 1}},
	"pods that must be Ready for a while": {
		replicas: 2, script: []int32{editTemplate}, budget: budget{crashes: 1, readies: 4, ticks: 3}, minReady: 10,
	},
	"slots that wait": {
		replicas: 1, script: []int32{2, 1, 2}, budget: budget{crashes: 1, losses: 1, kills: 2, readies: 2, conflicts: 1}, policy: appv1alpha1.TerminationComplete,
	},
	"slots that wait, and failures": {
		replicas: 2, budget: budget{losses: 1, kills: 2, readies: 2, failures: 2, ticks: 2}, policy: appv1alpha1.TerminationComplete,
	},
}

func TestExplore(t *testing.T) {
	for title, scenario := range scenarios {
		t.Run(title, func(t *testing.T) {
			limit := *states
			if title != "everything" {
				limit /= 4
			}
			e := &explorer{t: t, seen: map[string]bool{}}
			empty := view{spec: spec{replicas: scenario.replicas}, pods: map[string]*corev1.Pod{}}
			e.push(&node{
				store: empty, cache: empty.clone(), there: sets.New[types.UID](), deleted: sets.New[types.UID](), now: now,
				script: scenario.script, most: int(scenario.replicas), budget: scenario.budget, minReady: scenario.minReady, policy: scenario.policy,
			})
			// Breadth first: short sequences come before long ones.
			for len(e.queue) > 0 && len(e.seen) < limit && !t.Failed() {
				n := e.queue[0]
				e.queue = e.queue[1:]
				e.next(n)
			}
			rest := "everything"
			if len(e.queue) > 0 {
				rest = fmt.Sprintf("%d states are left", len(e.queue))
			}
			t.Logf("%d states, %d transitions, %s", len(e.seen), e.edges, rest)
		})
	}
}

// spend pushes a copy of n with a change, if the budget allows it.
func (e *explorer) spend(n *node, item func(*budget) *int, change func(*node)) {
	if *item(&n.budget) > 0 {
		c := n.clone()
		*item(&c.budget)--
		change(c)
		e.push(c)
	}
}

func (e *explorer) next(n *node) {
	e.user(n)
	for _, pod := range n.store.sorted() {
		e.kubelet(n, pod)
	}
	if len(n.queue) > 0 {
		c := n.clone()
		c.deliver()
		e.push(c)
	}
	e.spend(n, func(b *budget) *int { return &b.ticks }, func(c *node) { c.now = c.now.Add(10 * time.Second) })
	e.spend(n, func(b *budget) *int { return &b.crashes }, (*node).restart)
	e.reconcile(n)
	e.settle(n)
}

func (e *explorer) user(n *node) {
	if len(n.script) > 0 && !n.store.deleting {
		c := n.clone()
		set := n.store.spec
		switch replicas := n.script[0]; replicas {
		case 0:
			set.deleting = true
		case editTemplate:
			set.edits++
		default:
			set.replicas = replicas
		}
		c.script = n.script[1:]
		c.emit(change{set: set})
		c.most = max(c.most, int(c.store.replicas))
		e.push(c)
	}
	for _, pod := range n.store.sorted() {
		if pod.DeletionTimestamp == nil {
			e.spend(n, func(b *budget) *int { return &b.kills }, func(c *node) { c.delete(pod) })
		}
	}
	name := podName(n.cachedSet().Obj(), slotAttempt{})
	if _, exists := n.store.pods[name]; !exists {
		e.spend(n, func(b *budget) *int { return &b.conflicts }, func(c *node) { c.foreign = name })
	}
}

func (e *explorer) kubelet(n *node, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		c := n.clone()
		c.emit(change{pod: pod, gone: true})
		e.push(c)
		return
	}
	if pod.Status.Phase == corev1.PodPending {
		e.spend(n, func(b *budget) *int { return &b.readies }, func(c *node) {
			c.emit(change{pod: edit(pod, func(pod *corev1.Pod) {
				pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(n.now),
				}}
			})})
		})
	}
	if pod.Status.Phase == corev1.PodRunning {
		e.spend(n, func(b *budget) *int { return &b.failures }, func(c *node) {
			c.emit(change{pod: edit(pod, func(pod *corev1.Pod) { pod.Status = corev1.PodStatus{Phase: corev1.PodFailed} })})
		})
	}
}

// restart is a new process: its first list is as new as the store.
func (n *node) restart() {
	n.cache, n.queue = n.store.clone(), nil
	n.state, n.there, n.deleted = State{}, sets.New[types.UID](), sets.New[types.UID]()
}

// observe returns what the reconciler sees. It changes nothing.
func (e *explorer) observe(n *node) Observation {
	cached := n.cache.sorted()
	lookedUp := map[string]*corev1.Pod{}
	for _, name := range n.state.Observe(Seen{Set: n.cachedSet().Obj(), Pods: cached}, n.now, Defaults{}).Lookups {
		lookedUp[name] = n.store.pods[name]
	}
	before := n.state.pods.String()
	o := n.state.Observe(Seen{Set: n.cachedSet().Obj(), Pods: cached, LookedUp: lookedUp}, n.now, Defaults{})
	if after := n.state.pods.String(); before != after {
		e.t.Errorf("Observe changed the State from %q to %q", before, after)
	}
	for _, pod := range o.Pods {
		if n.deleted.Has(pod.UID) && o.IsActive(pod) {
			e.t.Errorf("P7: pod %s counts as active again in %s", pod.UID, n.key())
		}
	}
	return o
}

// writes are the API calls of a plan. Carrying them out stops before call number crash, and call number lost gets no answer. -1 means
// neither.
type writes struct {
	n           *node
	plan        Plan
	crash, lost int
	rejected    bool // the API server rejects the first create
	done        int
	outcome     Outcome
}

var errNoAnswer = errors.New("connection reset")

// call does one write. It reports whether there was an answer.
func (w *writes) call(write func()) (answered bool) {
	w.done++
	if w.crash >= 0 && w.done > w.crash {
		return false
	}
	write()
	return w.done-1 != w.lost
}

// act carries out the plan in the order of the reconciler: all deletions, then creates in batches of 1, 2, 4, ... until one
// fails.
func (e *explorer) act(w *writes, o Observation) {
	remove := func(pods []*corev1.Pod) (deleted []*corev1.Pod) {
		for _, pod := range pods {
			if w.call(func() { w.n.delete(pod) }) {
				deleted = append(deleted, pod)
			} else {
				w.outcome.DeleteError = errNoAnswer
			}
		}
		return deleted
	}
	w.outcome.Deleted, w.outcome.CleanedUp = remove(w.plan.Delete), remove(w.plan.Cleanup)
	rest := w.plan.Create
	for size := 1; len(rest) > 0 && w.outcome.Rejected == nil && w.outcome.CreateError == nil && w.outcome.Conflicting == nil; size *= 2 {
		batch := rest[:min(size, len(rest))]
		rest = rest[len(batch):]
		for _, pod := range batch {
			e.create(w, o, pod)
		}
	}
}

func (e *explorer) create(w *writes, o Observation, pod *corev1.Pod) {
	n := w.n
	if w.rejected {
		w.outcome.Rejected, w.rejected = errors.New("exceeded quota"), false
		return
	}
	var existing *corev1.Pod
	answered := w.call(func() {
		if existing = n.store.pods[pod.Name]; existing != nil || n.foreign == pod.Name {
			return
		}
		n.uids++
		existing = edit(pod, func(pod *corev1.Pod) {
			pod.UID = types.UID(fmt.Sprintf("%s#%d", pod.Name, n.uids))
			pod.Status.Phase = corev1.PodPending
		})
		if !metav1.IsControlledBy(existing, o.Set) {
			e.t.Errorf("P1: pod %s has another owner", existing.Name)
		}
		if predecessor := n.inSlotOf(pod); predecessor != nil && n.policy == appv1alpha1.TerminationComplete {
			e.t.Errorf("P10: pod %s gets the slot of %s, which is there still, in %s", pod.Name, predecessor.Name, n.key())
		}
		n.emit(change{pod: existing})
		if active := n.store.active(); active > n.most {
			e.t.Errorf("P2: %d pods, and no more than %d were asked for, in %s", active, n.most, n.key())
		}
	})
	switch {
	case !answered:
		w.outcome.CreateError = errNoAnswer
	case existing != nil && o.IsActive(existing):
		w.outcome.Created = append(w.outcome.Created, existing)
	default:
		w.outcome.Conflicting = cmp.Or(existing, testutil.MakePod(pod.Name).Obj())
	}
}

// inSlotOf returns a pod of the store in the slot of another one, or nil if there is none.
func (n *node) inSlotOf(other *corev1.Pod) *corev1.Pod {
	slot, _ := slotOf(other)
	for _, pod := range n.store.sorted() {
		if fills(pod, slot) {
			return pod
		}
	}
	return nil
}

// reconcile pushes the states that one reconcile can lead to: every write succeeds; the process crashes between two writes; one of them
// gets no answer; a create is rejected.
func (e *explorer) reconcile(n *node) {
	o := e.observe(n)
	plan := MakePlan(o)
	e.checkPlan(n, o, plan)
	e.push(e.reconciled(n, o, &writes{plan: plan, crash: -1, lost: -1}))
	for i := range len(plan.Delete) + len(plan.Cleanup) + len(plan.Create) {
		if i > 0 {
			e.spend(n, func(b *budget) *int { return &b.crashes }, func(c *node) {
				e.act(&writes{n: c, plan: plan, crash: i, lost: -1}, o)
				c.restart()
			})
		}
		if n.budget.losses > 0 {
			c := e.reconciled(n, o, &writes{plan: plan, crash: -1, lost: i})
			c.budget.losses--
			e.push(c)
		}
	}
	if len(plan.Create) > 0 && n.budget.rejections > 0 {
		c := e.reconciled(n, o, &writes{plan: plan, crash: -1, lost: -1, rejected: true})
		c.budget.rejections--
		e.push(c)
	}
}

// reconciled pushes the state after a reconcile that the process survives.
func (e *explorer) reconciled(n *node, o Observation, w *writes) *node {
	w.n = n.clone()
	e.act(w, o)
	w.outcome.Reported = true
	w.n.state.Record(o, w.plan, w.outcome, n.now)
	w.n.learn(o, w.outcome)
	return w.n
}

// learn notes what the process knows after a reconcile. A pod that it has deleted, that it has seen terminating, or that
// was there once and is not there now is deleted for good.
func (n *node) learn(o Observation, outcome Outcome) {
	there := sets.New[types.UID]()
	for _, pod := range slices.Concat(o.Pods, outcome.Created) {
		there.Insert(pod.UID)
		if pod.DeletionTimestamp != nil {
			n.deleted.Insert(pod.UID)
		}
	}
	for _, pod := range slices.Concat(outcome.Deleted, outcome.CleanedUp) {
		n.deleted.Insert(pod.UID)
	}
	n.deleted = n.deleted.Union(n.there.Difference(there))
	n.there = there
	// The cache cannot show the others anymore, and a key without them makes more states equal.
	shown := sets.New[types.UID]()
	for _, pod := range n.cache.pods {
		shown.Insert(pod.UID)
	}
	for _, c := range n.queue {
		if c.pod != nil {
			shown.Insert(c.pod.UID)
		}
	}
	n.deleted, n.there = n.deleted.Intersection(shown), n.there.Intersection(shown)
}

// checkPlan checks P4 to P8, P6 by what the reconciler has observed.
func (e *explorer) checkPlan(n *node, o Observation, plan Plan) {
	if n.cache.deleting && !plan.IsEmpty() {
		e.t.Errorf("P5: a set that is being deleted gets writes in %s", n.key())
	}
	deleted := sets.New[types.UID]()
	for _, pod := range slices.Concat(plan.Delete, plan.Cleanup) {
		deleted.Insert(pod.UID)
		if pod.UID == "" || !metav1.IsControlledBy(pod, o.Set) {
			e.t.Errorf("P4: pod %s is not the set's or has no UID", pod.Name)
		}
	}
	for _, pod := range plan.Cleanup {
		if !pods.IsFinished(pod) {
			e.t.Errorf("P8: pod %s is cleaned up and has not finished", pod.Name)
		}
	}
	active := slices.DeleteFunc(slices.Clone(o.Pods), func(pod *corev1.Pod) bool { return !o.IsActive(pod) })
	if deleted.Intersection(o.Uncached).Len() > 0 {
		e.t.Errorf("P4: a pod is deleted that neither the cache nor a lookup has shown since its create, in %s", n.key())
	}
	waits := len(plan.Delete) == 0 && slices.ContainsFunc(active, func(pod *corev1.Pod) bool { return o.Uncached.Has(pod.UID) })
	surplus := max(len(active)-o.desired(), 0)
	if !n.cache.deleting && !waits && n.cache.edits == 0 && len(plan.Delete) != surplus {
		e.t.Errorf("P6: %d deletions for a surplus of %d in %s", len(plan.Delete), surplus, n.key())
	}
	available := func(pod *corev1.Pod) bool {
		return pods.IsReady(pod) && !n.now.Before(pods.ReadySince(pod).Add(time.Duration(n.minReady)*time.Second))
	}
	stay := count(active, func(pod *corev1.Pod) bool { return available(pod) && !deleted.Has(pod.UID) })
	if gone := count(plan.Delete, available); surplus == 0 && gone > 0 && stay < o.desired()-1 {
		e.t.Errorf("P9: %d available pods are deleted and %d stay of %d, in %s", gone, stay, o.desired(), n.key())
	}
	spared := count(active, func(pod *corev1.Pod) bool { return !deleted.Has(pod.UID) && !pods.IsReady(pod) })
	if n.cache.edits == 0 && spared > 0 && slices.ContainsFunc(plan.Delete, pods.IsReady) {
		e.t.Errorf("P6: a ready pod is deleted while %d others live that are not ready, in %s", spared, n.key())
	}
}

// settle checks P3.
func (e *explorer) settle(n *node) {
	c := n.clone()
	for range 20 {
		for _, pod := range c.store.sorted() {
			if pod.DeletionTimestamp != nil {
				c.emit(change{pod: pod, gone: true})
			}
		}
		for len(c.queue) > 0 {
			c.deliver()
		}
		o := e.observe(c)
		plan := MakePlan(o)
		if plan.IsEmpty() && plan.RequeueAt.IsZero() && o.next.pods.CheckAt().IsZero() {
			if !c.store.deleting && (c.store.active() != int(c.store.replicas) || len(c.store.pods) != c.store.active()) {
				e.t.Errorf("P3: %d pods for %d replicas, and nothing is planned, in %s", len(c.store.pods), c.store.replicas, n.key())
			}
			e.converged(n)
			return
		}
		c = e.reconciled(c, o, &writes{plan: plan, crash: -1, lost: -1})
		c.now = c.now.Add(10 * time.Second)
	}
	e.t.Errorf("P3: it never ends, from %s", n.key())
}

// converged ends the period of P2 when the set has what it asks for and the operator knows it.
func (e *explorer) converged(n *node) {
	if len(n.queue) > 0 || n.store.active() != int(n.store.replicas) || n.most == int(n.store.replicas) {
		return
	}
	c := n.clone()
	c.most = int(c.store.replicas)
	e.push(c)
}
