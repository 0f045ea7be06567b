// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

var states = flag.Int("states", 40_000, "how many states the explorer visits of each At")

// The explorer visits every interleaving of the events of an At with one retry, breadth first, with the real State and the real
// rules:
//
//   - time passes, in hours
//   - the pods end well or badly, or are deleted
//   - the caches of Ats and of pods lag behind by any number of events
//   - an API server that rejects a create, or does what it was asked to and its response is lost
//   - an operator that crashes before or after any of its writes, and starts with consistent caches, which lag from then on
//
// These invariants hold in every state:
//
//	A1   at most one pod is created for each attempt, after all earlier ones have failed
//	A2   no pod is created before the time
//	A3   left alone, the At gets done
//	A4   the phase moves forward, DONE has a reason, and the conditions Ready and Stalled agree with it
//	A11  what the status says is true: MissedDeadline means that the deadline has passed and that no pod was ever created,
//	     DeadlineExceeded that the deadline has passed, PodLost that the pod whose end was not seen was deleted, any other reason that the pod ended so
const dueHour = 1

// explored are the Ats that are explored: all have one retry.
var explored = map[string]func() *testutil.AtBuilder{
	"without deadlines":        func() *testutil.AtBuilder { return testutil.MakeAt("a") },
	"with a starting deadline": func() *testutil.AtBuilder { return testutil.MakeAt("a").StartingDeadline(0) },
	"with an active deadline":  func() *testutil.AtBuilder { return testutil.MakeAt("a").ActiveDeadline(2 * 3600) },
}

// budget is what may still happen.
type budget struct{ crashes, losses, kills, ends, rejections int }

// node is one state of the environment and of the operator.
type node struct {
	spec *cnatv1alpha1.AtSpec
	// ats and pods are what the caches show, followed by what they will show; the last is what the store has. The objects
	// are shared and never modified.
	ats  []*cnatv1alpha1.At
	pods [][]*corev1.Pod

	hour    int // hours since the creation of the At
	created int // pods that were ever created
	names   int // the attempts that they were created for, as bits
	phase   int // the highest phase that was written
	killed  int // pods that were deleted, as bits by attempt
	budget  budget

	state State // of the operator's process; copied by assignment
}

var phaseOrder = []cnatv1alpha1.Phase{"", cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone}

func (n *node) clone() *node {
	c := *n
	c.ats, c.pods = slices.Clone(n.ats), slices.Clone(n.pods)
	return &c
}

func (n *node) stored() *cnatv1alpha1.At      { return n.ats[len(n.ats)-1] }
func (n *node) storedPods() []*corev1.Pod     { return n.pods[len(n.pods)-1] }
func (n *node) setPods(pods []*corev1.Pod)    { n.pods = append(n.pods, pods) }
func (n *node) now() time.Time                { return testutil.AtCreated.Add(time.Duration(n.hour) * time.Hour) }
func (n *node) age(at *cnatv1alpha1.At) int64 { return version(n.stored()) - version(at) }

func version(at *cnatv1alpha1.At) int64 {
	v, _ := strconv.ParseInt(at.ResourceVersion, 10, 64)
	return v
}

// key names a state: two with the same key have the same future.
func (n *node) key() string {
	var k strings.Builder
	pods := func(pods []*corev1.Pod) {
		for _, pod := range pods {
			fmt.Fprintf(&k, "%s%.1s%d,", pod.UID, pod.Status.Phase, pod.CreationTimestamp.Hour())
		}
		k.WriteString(";")
	}
	status := func(at *cnatv1alpha1.At) {
		s := &at.Status
		fmt.Fprintf(&k, "%s%s%s%d%t;", s.Phase, s.Reason, s.PodUID, s.Attempts, s.RetryTime != nil)
	}
	for _, at := range n.ats {
		status(at)
	}
	for _, p := range n.pods {
		pods(p)
	}
	newest, _ := expectations.Newest(n.ats[0], n.state.status, statusOf)
	fmt.Fprintf(&k, "|%d %s %v", n.age(newest), n.state.pods, n.state.rejection.Of(1) != nil)
	if n.state.unrecorded != nil {
		k.WriteString(string(n.state.unrecorded.UID))
	}
	fmt.Fprintf(&k, "|%d %d %d %d %d %v", n.hour, n.created, n.names, n.phase, n.killed, n.budget)
	return k.String()
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
	for name, spec := range explored {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := spec().Schedule("now + 1 hour").BackoffLimit(1).Generation(1).Obj()
			at.ResourceVersion = "1"
			e := &explorer{t: t, seen: map[string]bool{}}
			e.push(&node{
				spec: &at.Spec, ats: []*cnatv1alpha1.At{at}, pods: [][]*corev1.Pod{nil},
				budget: budget{crashes: 2, losses: 2, kills: 1, ends: 2, rejections: 1},
			})
			for len(e.queue) > 0 && len(e.seen) < *states && !t.Failed() {
				n := e.queue[0]
				e.queue = e.queue[1:]
				e.next(n)
			}
			t.Logf("%d states, %d transitions, %d states are left", len(e.seen), e.edges, len(e.queue))
		})
	}
}

// next pushes all states that can follow.
func (e *explorer) next(n *node) {
	if n.hour < dueHour+3 {
		c := n.clone()
		c.hour++
		e.push(c)
	}
	for i, pod := range n.storedPods() {
		e.podChanges(n, i, pod)
	}
	for _, show := range []func(*node) bool{(*node).showAt, (*node).showPods} {
		if c := n.clone(); show(c) {
			e.push(c)
		}
	}
	if n.budget.crashes > 0 {
		e.crash(n)
	}
	e.reconcile(n)
	e.settle(n)
}

// podChanges pushes what can happen to a pod.
func (e *explorer) podChanges(n *node, i int, pod *corev1.Pod) {
	// A pod that is deleted before its UID is recorded, by an operator that crashes or gets no response, leaves nothing that
	// tells of its run: the one case in which a command runs twice. See the package documentation.
	if n.budget.kills > 0 && n.stored().Status.PodUID == pod.UID {
		c := n.clone()
		c.budget.kills--
		attempt := Observation{At: n.stored(), Pods: n.storedPods()}.attemptOf(pod)
		c.killed |= 1 << attempt
		c.setPods(slices.Delete(slices.Clone(n.storedPods()), i, i+1))
		e.push(c)
	}
	if n.budget.ends == 0 || pod.Status.Phase != corev1.PodPending {
		return
	}
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		c := n.clone()
		c.budget.ends--
		c.endPod(i, phase)
		e.push(c)
	}
}

func (n *node) endPod(i int, phase corev1.PodPhase) {
	pods := slices.Clone(n.storedPods())
	code := int32(0)
	if phase == corev1.PodFailed {
		code = 1
	}
	pods[i] = pods[i].DeepCopy()
	pods[i].Status.Phase = phase
	pods[i].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
	}}}
	n.setPods(pods)
}

func (n *node) showAt() bool {
	if len(n.ats) == 1 {
		return false
	}
	n.ats = n.ats[1:]
	return true
}

func (n *node) showPods() bool {
	if len(n.pods) == 1 {
		return false
	}
	n.pods = n.pods[1:]
	return true
}

// crash starts the operator again. The first list of a new process is consistent.
func (e *explorer) crash(n *node) {
	c := n.clone()
	c.budget.crashes--
	c.state = State{}
	c.ats, c.pods = c.ats[len(c.ats)-1:], c.pods[len(c.pods)-1:]
	e.push(c)
}

// observe is what the reconciler sees, after it has asked the API server for what it must.
func (n *node) observe() Observation {
	lookedUp := map[string]*corev1.Pod{}
	for {
		o := n.state.Observe(n.ats[0], n.pods[0], lookedUp, n.now(), Defaults{})
		if len(o.Lookups) == 0 {
			return o
		}
		for _, name := range o.Lookups {
			lookedUp[name] = n.find(name)
		}
	}
}

func (n *node) find(name string) *corev1.Pod {
	for _, pod := range n.storedPods() {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// reconcile pushes the states that a reconcile can lead to.
func (e *explorer) reconcile(n *node) {
	o := n.observe()
	plan := MakePlan(o)
	n = n.clone()
	var outcome Outcome
	if pod := plan.Delete; pod != nil {
		n.setPods(slices.DeleteFunc(slices.Clone(n.storedPods()), func(p *corev1.Pod) bool { return p.UID == pod.UID }))
		outcome.Deleted = append(outcome.Deleted, pod)
	}
	if plan.Create == nil {
		e.report(n, o, outcome)
		return
	}
	if n.budget.rejections > 0 && n.find(plan.Create.Name) == nil {
		c := n.clone()
		c.budget.rejections--
		e.report(c, o, Outcome{Rejected: errors.New("quota")})
	}
	created := n.clone()
	pod := e.create(created, plan.Create)
	if n.budget.losses > 0 {
		lost := created.clone()
		lost.budget.losses--
		e.push(lost)
		if lost.budget.crashes > 0 {
			e.crash(lost)
		}
	}
	created.state.Record(o, Outcome{Created: pod}, n.now())
	e.push(created) // The run is recorded by another reconcile: see ReportNow.
}

// create creates a pod, or returns the one that exists.
func (e *explorer) create(n *node, planned *corev1.Pod) *corev1.Pod {
	if n.hour < dueHour {
		e.t.Errorf("A2: a pod before the time, in %s", n.key())
	}
	if existing := n.find(planned.Name); existing != nil {
		return existing
	}
	bit := 1 << strings.Count(planned.Name, "-pod-")
	if n.created++; n.names&bit != 0 || n.created > 2 {
		e.t.Errorf("A1: pod %s is created again, %d pods, in %s", planned.Name, n.created, n.key())
	}
	n.names |= bit
	if slices.ContainsFunc(n.storedPods(), func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodFailed }) {
		e.t.Errorf("A1: pod %s is created while the command of another pod may run or has succeeded, in %s", planned.Name, n.key())
	}
	if n.stored().Status.Reason == cnatv1alpha1.ReasonMissedDeadline {
		e.t.Errorf("A11: a pod of an At that was not run, in %s", n.key())
	}
	pod := planned.DeepCopy()
	pod.UID = types.UID(fmt.Sprintf("%s#%d", pod.Name, n.created))
	pod.CreationTimestamp.Time = n.now()
	pod.Status.Phase = corev1.PodPending
	n.setPods(append(slices.Clone(n.storedPods()), pod))
	return pod
}

// report pushes what the write of the status can lead to: it arrives, or a crash comes before or after it, or its response
// is lost.
func (e *explorer) report(n *node, o Observation, outcome Outcome) {
	report := MakeReport(o, outcome)
	n = n.clone()
	if sameStatus(&o.At.Status, &report.Status) {
		n.state.Record(o, outcome, n.now())
		e.push(n)
		return
	}
	if n.budget.crashes > 0 {
		e.crash(n)
	}
	outcome.Reported = &report.Status
	if o.At.ResourceVersion != n.stored().ResourceVersion {
		n.state.Record(o, outcome, n.now())
		e.push(n) // The status of an older object is rejected as a conflict.
		return
	}
	written := o.At.DeepCopy()
	written.Status = report.Status
	written.ResourceVersion = strconv.FormatInt(version(written)+1, 10)
	e.checkStatus(n, &written.Status)
	n.phase = slices.Index(phaseOrder, written.Status.Phase)
	n.ats = append(n.ats, written)
	if n.budget.losses > 0 {
		lost := n.clone()
		lost.budget.losses--
		lost.state.Record(o, outcome, n.now())
		e.push(lost)
	}
	outcome.Written = written
	n.state.Record(o, outcome, n.now())
	e.push(n)
}

func sameStatus(a, b *cnatv1alpha1.AtStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.PodUID == b.PodUID && a.Attempts == b.Attempts && (a.RetryTime != nil) == (b.RetryTime != nil)
}

// checkStatus checks a status that the operator writes.
func (e *explorer) checkStatus(n *node, s *cnatv1alpha1.AtStatus) {
	if slices.Index(phaseOrder, s.Phase) < n.phase {
		e.t.Errorf("A4: from %s to %s, in %s", phaseOrder[n.phase], s.Phase, n.key())
	}
	ready, stalled := meta.IsStatusConditionTrue(s.Conditions, cnatv1alpha1.ConditionReady), meta.IsStatusConditionTrue(s.Conditions, cnatv1alpha1.ConditionStalled)
	rejected := meta.IsStatusConditionFalse(s.Conditions, cnatv1alpha1.ConditionScheduled) && s.Phase != cnatv1alpha1.PhaseDone
	if wantStalled := rejected || s.Result == cnatv1alpha1.ResultFailed; stalled != wantStalled {
		e.t.Errorf("A4: Stalled is %t in phase %s with result %q, in %s", stalled, s.Phase, s.Result, n.key())
	}
	if wantReady := !rejected && (s.Phase == cnatv1alpha1.PhasePending || s.Result == cnatv1alpha1.ResultSucceeded); ready != wantReady {
		e.t.Errorf("A4: Ready is %t in phase %s with result %q, in %s", ready, s.Phase, s.Result, n.key())
	}
	if s.Phase != cnatv1alpha1.PhaseDone {
		return
	}
	deadline := n.spec.ActiveDeadlineSeconds
	attempt := int(s.Attempts) - 1
	switch s.Reason {
	case "":
		e.t.Errorf("A4: DONE without a reason, in %s", n.key())
	case cnatv1alpha1.ReasonMissedDeadline:
		if n.created > 0 || n.spec.StartingDeadlineSeconds == nil || n.hour <= dueHour {
			e.t.Errorf("A11: MissedDeadline in hour %d, and %d pods were created, in %s", n.hour, n.created, n.key())
		}
	case cnatv1alpha1.ReasonDeadlineExceeded:
		if deadline == nil || n.now().Before(s.StartTime.Add(seconds(*deadline))) || int(s.Attempts) != n.created {
			e.t.Errorf("A11: DeadlineExceeded of attempt %d after %d pods, in %s", attempt, n.created, n.key())
		}
	case cnatv1alpha1.ReasonPodLost:
		if n.killed&(1<<attempt) == 0 || n.stored().Status.RetryTime != nil {
			e.t.Errorf("A11: PodLost of attempt %d, in %s", attempt, n.key())
		}
	case cnatv1alpha1.ReasonCompleted:
		if !n.shows(s.PodUID, corev1.PodSucceeded) {
			e.t.Errorf("A11: Completed, but attempt %d did not, in %s", attempt, n.key())
		}
	default:
		if !n.shows(s.PodUID, corev1.PodFailed) {
			e.t.Errorf("A11: %s, but attempt %d did not fail, in %s", s.Reason, attempt, n.key())
		}
	}
}

// shows reports whether the store, or a state that the cache may show, has a pod in a phase.
func (n *node) shows(uid types.UID, phase corev1.PodPhase) bool {
	return slices.ContainsFunc(n.pods, func(pods []*corev1.Pod) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == uid && pod.Status.Phase == phase })
	})
}

// settle checks A3: left alone from here, with time passing and pods ending, the At gets done.
func (e *explorer) settle(n *node) {
	c := n.clone()
	c.budget = budget{}
	alone := &explorer{t: e.t}
	for range 60 {
		for c.showAt() || c.showPods() {
		}
		if c.stored().Status.Phase == cnatv1alpha1.PhaseDone {
			return
		}
		c.hour++
		for i, pod := range c.storedPods() {
			if pod.Status.Phase == corev1.PodPending && c.hour > dueHour {
				c.endPod(i, corev1.PodFailed)
			}
		}
		for c.showAt() || c.showPods() {
		}
		alone.queue, alone.seen = nil, map[string]bool{}
		alone.reconcile(c)
		if len(alone.queue) != 1 {
			e.t.Fatalf("A3: %d ways to go on alone, from %s", len(alone.queue), n.key())
		}
		c = alone.queue[0].clone()
	}
	e.t.Errorf("A3: never done, from %s", n.key())
}
