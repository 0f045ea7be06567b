// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/testutil"
)

var states = flag.Int("states", 40_000, "how many states the explorer visits")

// The explorer walks through every interleaving of the life of an At with one retry: time passes, its pods end well or
// badly or are deleted, the caches of Ats and pods lag behind by any number of events, the operator crashes before or
// after each of its writes or gets no answer to it, and starts again with lists of any age that the store still had. A1,
// A2 and A4 hold in every state, and from every state A3 is reached.

// fact is the At's status and its pods, as the store has them or as the caches show them.
type fact struct {
	status *cnatv1alpha1.AtStatus // shared, never changed, as are the pods
	pods   []*corev1.Pod
}

// node is one state of the small world.
type node struct {
	store       fact
	statuses    []*cnatv1alpha1.AtStatus // what the cache of Ats shows, and what it will
	pods        [][]*corev1.Pod          // what the cache of pods shows, and what it will
	written     *cnatv1alpha1.AtStatus   // what the operator wrote and the cache has not shown
	created     []*corev1.Pod            // what the operator made and the cache has not shown
	run         *corev1.Pod              // what the operator made and the status does not say
	unverified  [2]int                   // events of both caches before the first write of a process
	hour        int                      // how many hours after the creation of the At it is
	made        int                      // pods ever
	phase       int                      // the highest that was written
	crashes     int
	losses      int
	kills, ends int
}

const dueHour = 1

var phaseOrder = []cnatv1alpha1.Phase{"", cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone}

func (n *node) clone() *node {
	c := *n
	c.store.pods = slices.Clone(n.store.pods)
	c.statuses, c.pods, c.created = slices.Clone(n.statuses), slices.Clone(n.pods), slices.Clone(n.created)
	return &c
}

func (n *node) key() string {
	var k strings.Builder
	status := func(s *cnatv1alpha1.AtStatus) {
		if s != nil {
			fmt.Fprintf(&k, "%s%s%s%d;", s.Phase, s.Reason, s.PodUID, s.Attempts)
		}
	}
	pods := func(pods []*corev1.Pod) {
		for _, pod := range pods {
			fmt.Fprintf(&k, "%s%s,", pod.UID, pod.Status.Phase)
		}
		k.WriteString(";")
	}
	status(n.store.status)
	pods(n.store.pods)
	for _, s := range n.statuses {
		status(s)
	}
	for _, p := range n.pods {
		pods(p)
	}
	k.WriteString("|")
	status(n.written)
	pods(n.created)
	if n.run != nil {
		k.WriteString(string(n.run.UID))
	}
	fmt.Fprintf(&k, "|%v %d %d %d %d %d %d %d", n.unverified, n.hour, n.made, n.phase, n.crashes, n.losses, n.kills, n.ends)
	return k.String()
}

func (n *node) now() time.Time { return testutil.AtCreated.Add(time.Duration(n.hour) * time.Hour) }

// setPods changes the pods of the store, which the cache will hear of.
func (n *node) setPods(pods []*corev1.Pod) {
	n.store.pods = pods
	n.pods = append(n.pods, pods)
}

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

func TestExplore(t *testing.T) {
	e := &explorer{t: t, seen: map[string]bool{}}
	status := &cnatv1alpha1.AtStatus{}
	e.push(&node{
		store: fact{status: status}, statuses: []*cnatv1alpha1.AtStatus{status}, pods: [][]*corev1.Pod{nil},
		crashes: 3, losses: 2, kills: 1, ends: 2,
	})
	for len(e.queue) > 0 && len(e.seen) < *states && !t.Failed() {
		n := e.queue[0]
		e.queue = e.queue[1:]
		e.next(n)
	}
	rest := "everything"
	if len(e.queue) > 0 {
		rest = fmt.Sprintf("%d states are left", len(e.queue))
	}
	t.Logf("%d states, %d transitions, %s", len(e.seen), e.edges, rest)
}

// next pushes all states that can follow.
func (e *explorer) next(n *node) {
	if n.hour < dueHour+2 {
		c := n.clone()
		c.hour++
		e.push(c)
	}
	for i, pod := range n.store.pods {
		// A pod that is deleted before its UID is recorded, by an operator that crashes or hears no answer, leaves no trace
		// of its run: the one case in which a command runs twice. See the package documentation.
		if n.kills > 0 && n.store.status.PodUID == pod.UID {
			c := n.clone()
			c.kills--
			c.setPods(slices.Delete(slices.Clone(n.store.pods), i, i+1))
			e.push(c)
		}
		if n.ends == 0 || pod.Status.Phase != corev1.PodPending {
			continue
		}
		for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
			c := n.clone()
			c.ends--
			pods := slices.Clone(n.store.pods)
			pods[i] = ended(pod, phase, n.now())
			c.setPods(pods)
			e.push(c)
		}
	}
	for _, shows := range []func(*node) bool{(*node).showStatus, (*node).showPods} {
		if c := n.clone(); shows(c) {
			e.push(c)
		}
	}
	if n.crashes > 0 {
		e.crash(n)
	}
	e.reconcile(n)
	e.settle(n)
}

func ended(pod *corev1.Pod, phase corev1.PodPhase, at time.Time) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Status.Phase = phase
	code := int32(0)
	if phase == corev1.PodFailed {
		code = 1
	}
	builder := testutil.MakeAtPod(testutil.MakeAt("a").Obj(), pod.Name).Exited("busybox", code, "", "", at).Obj()
	pod.Status.ContainerStatuses = builder.Status.ContainerStatuses
	return pod
}

func (n *node) showStatus() bool {
	if len(n.statuses) == 1 {
		return false
	}
	n.statuses = n.statuses[1:]
	n.unverified[0] = max(n.unverified[0]-1, 0)
	if n.written == n.statuses[0] || len(n.statuses) == 1 {
		n.written = nil
	}
	return true
}

func (n *node) showPods() bool {
	if len(n.pods) == 1 {
		return false
	}
	n.pods = n.pods[1:]
	n.unverified[1] = max(n.unverified[1]-1, 0)
	n.created = slices.DeleteFunc(n.created, func(pod *corev1.Pod) bool { return uidIn(n.pods[0], pod.UID) })
	if len(n.pods) == 1 {
		n.created = nil // Looked up: the API server is asked for what the cache does not show for long.
	}
	return true
}

func uidIn(pods []*corev1.Pod, uid types.UID) bool {
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == uid })
}

// crash starts the operator again, with each list new or as old as the cache was.
func (e *explorer) crash(n *node) {
	for _, old := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
		c := n.clone()
		c.crashes--
		c.written, c.created, c.run = nil, nil, nil
		if !old[0] {
			c.statuses = c.statuses[len(c.statuses)-1:]
		}
		if !old[1] {
			c.pods = c.pods[len(c.pods)-1:]
		}
		c.unverified = [2]int{len(c.statuses) - 1, len(c.pods) - 1}
		e.push(c)
	}
}

// observe is what the reconciler sees, after it has asked the API server where the plan wants that.
func (n *node) observe() (at.Observation, at.Plan) {
	obj := testutil.MakeAt("a").Schedule("now + 1 hour").BackoffLimit(1).Obj()
	obj.Status = *n.statuses[0]
	if n.written != nil {
		obj.Status = *n.written
	}
	o := at.Observation{At: obj, Now: n.now(), Pods: slices.Concat(n.pods[0], n.created)}
	if n.run != nil && n.run.UID != obj.Status.PodUID && !uidIn(o.Pods, n.run.UID) {
		o.Pods = append(o.Pods, n.run)
	}
	plan := at.MakePlan(o)
	for plan.Lookup != "" {
		o.Absent = sets.New(plan.Lookup)
		for _, pod := range n.store.pods {
			if pod.Name == plan.Lookup {
				o.Pods = append(o.Pods, pod)
				o.Absent.Delete(plan.Lookup)
			}
		}
		plan = at.MakePlan(o)
	}
	return o, plan
}

// reconcile pushes what a pass can lead to.
func (e *explorer) reconcile(n *node) {
	o, plan := n.observe()
	if !plan.IsEmpty() && n.unverified != [2]int{} {
		return
	}
	if plan.Create != nil {
		if n.losses > 0 {
			lost := n.clone()
			lost.losses--
			e.create(lost, plan.Create, false)
			e.push(lost)
			if n.crashes > 0 {
				e.crash(lost)
			}
		}
		n = n.clone()
		e.create(n, plan.Create, true)
		e.push(n) // The run is recorded by a pass of its own.
		return
	}
	e.report(n, o, at.MakeReport(o, at.Outcome{}))
}

// create makes a pod, or meets the one that is there; unanswered, the operator does not learn of it.
func (e *explorer) create(n *node, pod *corev1.Pod, answered bool) *corev1.Pod {
	if n.hour < dueHour {
		e.t.Errorf("A2: a pod before the time, in %s", n.key())
	}
	i := slices.IndexFunc(n.store.pods, func(there *corev1.Pod) bool { return there.Name == pod.Name })
	if i >= 0 {
		pod = n.store.pods[i]
	} else {
		n.made++
		if allowed := 1 + int(ptr.Deref(testutil.MakeAt("a").BackoffLimit(1).Obj().Spec.BackoffLimit, 0)); n.made > allowed {
			e.t.Errorf("A1: %d pods, in %s", n.made, n.key())
		}
		pod = pod.DeepCopy()
		pod.UID = types.UID(fmt.Sprintf("%s#%d", pod.Name, n.made))
		pod.CreationTimestamp.Time = n.now()
		pod.Status.Phase = corev1.PodPending
		n.setPods(append(slices.Clone(n.store.pods), pod))
	}
	if answered {
		n.created, n.run = append(n.created, pod), pod
	}
	return pod
}

// report writes the status: it arrives, or a crash comes before or after, or there is no answer.
func (e *explorer) report(n *node, o at.Observation, report at.Report) {
	stored := n.statuses[0]
	if n.written != nil {
		stored = n.written
	}
	if stored.Phase == report.Status.Phase && stored.Reason == report.Status.Reason && stored.PodUID == report.Status.PodUID && stored.Attempts == report.Status.Attempts {
		e.push(n)
		return
	}
	if n.crashes > 0 {
		e.crash(n)
	}
	for _, pod := range o.Pods {
		if pod.UID == report.Status.PodUID {
			n = n.clone()
			n.run = pod // See noteRun in controllers/memory.go.
		}
	}
	if stored != n.store.status {
		e.push(n) // A status of an older state meets a conflict.
		return
	}
	c := n.clone()
	status := report.Status
	phase := slices.Index(phaseOrder, status.Phase)
	if phase < c.phase {
		e.t.Errorf("A4: from %s to %s, in %s", phaseOrder[c.phase], status.Phase, n.key())
	}
	if status.Phase == cnatv1alpha1.PhaseDone && status.Reason == "" {
		e.t.Errorf("A4: DONE without a reason, in %s", n.key())
	}
	c.phase = phase
	c.store.status = &status
	c.statuses = append(c.statuses, &status)
	if n.losses > 0 {
		lost := c.clone()
		lost.losses--
		e.push(lost)
	}
	c.written = &status
	if c.run != nil && c.run.UID == status.PodUID {
		c.run = nil
	}
	e.push(c)
}

// settle judges A3: left alone from here, with time passing and pods ending, the At is done.
func (e *explorer) settle(n *node) {
	c := n.clone()
	c.crashes, c.losses, c.kills = 0, 0, 0
	alone := &explorer{t: e.t, seen: map[string]bool{}}
	for range 60 {
		for c.showStatus() || c.showPods() {
		}
		if c.store.status.Phase == cnatv1alpha1.PhaseDone {
			return
		}
		c.hour++
		for i, pod := range c.store.pods {
			if pod.Status.Phase == corev1.PodPending && c.hour > dueHour {
				pods := slices.Clone(c.store.pods)
				pods[i] = ended(pod, corev1.PodFailed, c.now())
				c.setPods(pods)
			}
		}
		for c.showStatus() || c.showPods() {
		}
		alone.queue = nil
		alone.seen = map[string]bool{}
		alone.reconcile(c)
		if len(alone.queue) != 1 {
			e.t.Fatalf("A3: %d ways to go on alone, from %s", len(alone.queue), n.key())
		}
		c = alone.queue[0].clone()
	}
	e.t.Errorf("A3: never done, from %s", n.key())
}
