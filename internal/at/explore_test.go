// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

var states = flag.Int("states", 40_000, "how many states the explorer visits of each At")

// The explorer visits every interleaving of the events of an At with one retry, breadth first, with the real State and the real
// rules:
//
//   - time passes, in hours
//   - a user edits the command, or cancels the At
//   - the pods end well or badly, or are deleted
//   - the caches of Ats and of pods lag behind by any number of events
//   - an API server that rejects a pod, or does what it was asked to and its response is lost
//   - an operator that crashes before or after any of its requests, and starts with consistent caches, which lag from then on; a request
//     that was on its way arrives later, or never
//
// These invariants hold in every state:
//
//	A1   at most one pod is created for each attempt, unless a process crashed and the pod was deleted before the next one had seen its UID
//	A2   no pod is created before its time
//	A3   left alone, the At gets done
//	A4   the phase moves forward, DONE has a reason, and the conditions Ready and Stalled agree with it
//	A11  the status is true: MissedDeadline means that the deadline has passed and that no pod was ever created,
//	     DeadlineExceeded that the deadline has passed, PodLost that the pod whose end was not seen was deleted, any other reason that the pod ended so
//	A16  no attempt begins after a cancel
//	A17  an attempt begins after the one before it has failed
//	A18  the words of a pod are those of the spec with which its attempt began
const dueHour = 1

// crashes is how often the operator crashes.
const crashes = 2

// explored are the Ats that are explored: all have one retry.
var explored = map[string]func() *testutil.AtBuilder{
	"without deadlines":        func() *testutil.AtBuilder { return testutil.MakeAt("a") },
	"with a starting deadline": func() *testutil.AtBuilder { return testutil.MakeAt("a").StartingDeadline(0) },
	"with an active deadline":  func() *testutil.AtBuilder { return testutil.MakeAt("a").ActiveDeadline(2 * 3600) },
}

// budget is what may still happen.
type budget struct{ crashes, losses, kills, ends, rejections, edits int }

// node is one state of the environment and the operator.
type node struct {
	// ats and pods are what the caches show, followed by what they will show; the last is what the store has. The objects
	// are shared and never modified.
	ats  []*cnatv1alpha1.At
	pods [][]*corev1.Pod
	// late are the requests of a crashed process that are still on their way.
	late []request

	hour    int // hours since the creation of the At
	created int // pods that were ever created
	names   int // the attempts that they were created for, as bits
	phase   int // the highest phase that was written
	killed  int // pods that were deleted, as bits by attempt
	// ended are the pods that ended, by phase, as bits by attempt.
	ended  map[corev1.PodPhase]int
	words  [2]string
	budget budget

	state State // of the operator's process; copied by assignment
}

// request is a write of a status or, if pod is not nil, the create of a pod.
type request struct {
	version string
	status  cnatv1alpha1.AtStatus
	pod     *corev1.Pod
}

var phaseOrder = []cnatv1alpha1.Phase{"", cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone}

func (n *node) clone() *node {
	c := *n
	c.ats, c.pods, c.late, c.ended = slices.Clone(n.ats), slices.Clone(n.pods), slices.Clone(n.late), maps.Clone(n.ended)
	return &c
}

func (n *node) stored() *cnatv1alpha1.At   { return n.ats[len(n.ats)-1] }
func (n *node) storedPods() []*corev1.Pod  { return n.pods[len(n.pods)-1] }
func (n *node) setPods(pods []*corev1.Pod) { n.pods = append(n.pods, pods) }
func (n *node) now() time.Time             { return testutil.AtCreated.Add(time.Duration(n.hour) * time.Hour) }
func (n *node) age(at *cnatv1alpha1.At) int64 {
	return version(n.stored().ResourceVersion) - version(at.ResourceVersion)
}

func version(text string) int64 {
	v, _ := strconv.ParseInt(text, 10, 64)
	return v
}

// key identifies a state: two states with the same key have the same future.
func (n *node) key() string {
	var k strings.Builder
	pods := func(pods []*corev1.Pod) {
		for _, pod := range pods {
			fmt.Fprintf(&k, "%s%.1s%d,", pod.UID, pod.Status.Phase, pod.CreationTimestamp.Hour())
		}
		k.WriteString(";")
	}
	status := func(s *cnatv1alpha1.AtStatus) {
		fmt.Fprintf(&k, "%s%s%s%d%t;", s.Phase, s.Reason, s.PodUID, s.Attempts, s.RetryTime != nil)
	}
	for _, at := range n.ats {
		fmt.Fprintf(&k, "%d%t", at.Generation, at.Spec.Cancel != nil)
		status(&at.Status)
	}
	for _, p := range n.pods {
		pods(p)
	}
	for _, r := range n.late {
		fmt.Fprintf(&k, "late %d", version(n.stored().ResourceVersion)-version(r.version))
		if r.pod != nil {
			k.WriteString(r.pod.Name)
		} else {
			status(&r.status)
		}
	}
	newest, _ := expectations.Newest(n.ats[0], n.state.status, statusOf)
	fmt.Fprintf(&k, "|%d %s %v %t %d %v", n.age(newest), n.state.pods, n.state.rejection.Of(newest.Generation) != nil,
		n.state.known.Begun, n.state.attempt, n.state.known.MissingSince)
	if known := n.state.known.Pod; known != nil {
		fmt.Fprintf(&k, "%s%s", known.UID, known.Status.Phase)
	}
	fmt.Fprintf(&k, "|%d %d %d %d %d %v %v %v", n.hour, n.created, n.names, n.phase, n.killed, n.ended, n.words, n.budget)
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
			at := spec().Schedule("now + 1 hour").Command("run 1").BackoffLimit(1).Generation(1).Obj()
			at.ResourceVersion = "1"
			e := &explorer{t: t, seen: map[string]bool{}}
			e.push(&node{
				ats: []*cnatv1alpha1.At{at}, pods: [][]*corev1.Pod{nil}, ended: map[corev1.PodPhase]int{},
				budget: budget{crashes: crashes, losses: 1, kills: 1, ends: 2, rejections: 1, edits: 1},
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
	for i, r := range n.late {
		c := n.clone()
		c.late = slices.Delete(c.late, i, i+1)
		e.push(c.clone()) // It never arrives.
		e.carryOut(c, r)
		e.push(c)
	}
	if n.budget.edits > 0 && !atrun.IsDone(&n.stored().Status) {
		e.edit(n)
	}
	if n.budget.crashes > 0 {
		e.crash(n, nil)
	}
	e.reconcile(n)
	e.settle(n)
}

// edit pushes what a user can do with the At. The rules of the CRD reject an edit after the start.
func (e *explorer) edit(n *node) {
	change := func(edit func(*cnatv1alpha1.AtSpec)) {
		c, at := n.clone(), n.stored().DeepCopy()
		edit(&at.Spec)
		at.Generation++
		at.ResourceVersion = strconv.FormatInt(version(at.ResourceVersion)+1, 10)
		c.budget.edits--
		c.ats = append(c.ats, at)
		e.push(c)
	}
	if n.stored().Status.Attempts == 0 {
		change(func(s *cnatv1alpha1.AtSpec) { s.Command = "run 2" })
	}
	change(func(s *cnatv1alpha1.AtSpec) { s.Cancel = ptr.To(true) })
}

// attemptOf returns the number of the attempt of a pod.
func attemptOf(pod string) int { return strings.Count(pod, "-pod-") }

// podChanges pushes what can happen to a pod.
func (e *explorer) podChanges(n *node, i int, pod *corev1.Pod) {
	// A user who deletes a pod before its UID is recorded, while the operator crashes, leaves no trace of its run: an exception in
	// docs/at-most-once.md.
	if n.budget.kills > 0 && n.stored().Status.PodUID == pod.UID {
		c := n.clone()
		c.budget.kills--
		c.killed |= 1 << attemptOf(pod.Name)
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
	n.ended[phase] |= 1 << attemptOf(pods[i].Name)
	code, reason := int32(0), "Completed"
	if phase == corev1.PodFailed {
		code, reason = 1, "Error"
	}
	pods[i] = pods[i].DeepCopy()
	pods[i].Status.Phase = phase
	pods[i].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, ContainerID: "containerd://1"},
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

// crash starts the operator again. The first list of a new process is consistent. sent is a request that is on its way, or nil.
func (e *explorer) crash(n *node, sent *request) {
	c := n.clone()
	c.budget.crashes--
	c.state = State{}
	c.ats, c.pods = c.ats[len(c.ats)-1:], c.pods[len(c.pods)-1:]
	if sent != nil {
		c.late = append(c.late, *sent)
	}
	e.push(c)
}

// observe returns what the reconciler sees after it has looked up pods.
func (n *node) observe() (Observation, Plan) {
	seen := Seen{At: n.ats[0], Pods: n.pods[0], LookedUp: map[string]*corev1.Pod{}}
	for {
		o := n.state.Observe(seen, n.now(), Defaults{})
		plan := MakePlan(o)
		if len(plan.LookUp) == 0 {
			return o, plan
		}
		for _, name := range plan.LookUp {
			seen.LookedUp[name] = n.find(name)
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
	n = n.clone()
	o, plan := n.observe()
	outcome := Outcome{}
	if plan.Check != nil {
		outcome.Answer = &Answer{}
	}
	if pod := plan.Delete; pod != nil {
		n.killed |= 1 << attemptOf(pod.Name)
		n.setPods(slices.DeleteFunc(slices.Clone(n.storedPods()), func(p *corev1.Pod) bool { return p.UID == pod.UID }))
		outcome.Deleted = append(outcome.Deleted, pod)
	}
	rejects := n.budget.rejections > 0 && (plan.Start || plan.Create != nil && n.find(plan.Create.Name) == nil)
	if rejects {
		c := n.clone()
		c.budget.rejections--
		e.report(c, o, plan, Outcome{Rejected: errors.New("quota"), Deleted: outcome.Deleted})
	}
	switch {
	case plan.Start:
		e.write(n, o, plan, outcome, StartedStatus(o, plan).Status, func(begun *node) { e.reconcileBegun(begun) })
	case plan.Create != nil:
		e.create(n, o, plan, outcome)
	default:
		e.report(n, o, plan, outcome)
	}
}

func (e *explorer) reconcileBegun(n *node) {
	o, plan := n.observe()
	if plan.Create == nil {
		e.report(n, o, plan, Outcome{})
		return
	}
	e.create(n, o, plan, Outcome{})
}

// create sends the create of the pod of a plan.
func (e *explorer) create(n *node, o Observation, plan Plan, outcome Outcome) {
	sent := &request{pod: plan.Create}
	if n.budget.crashes > 0 {
		e.crash(n, sent)
	}
	created := n.clone()
	outcome.Created = e.carryOut(created, *sent)
	if n.budget.losses > 0 {
		lost := created.clone()
		lost.budget.losses--
		lost.state.Record(o, plan, Outcome{CreateError: errors.New("timeout"), Deleted: outcome.Deleted}, n.now())
		e.push(lost)
	}
	if created.budget.crashes > 0 {
		e.crash(created, nil)
	}
	created.state.Record(o, plan, outcome, n.now())
	e.push(created) // The UID is recorded by another reconcile: see ReportNow.
}

// carryOut does what the API server does with a request. It returns the pod if the request creates one.
func (e *explorer) carryOut(n *node, r request) *corev1.Pod {
	if r.pod == nil {
		if r.version == n.stored().ResourceVersion {
			e.commit(n, r.status)
		}
		return nil
	}
	if existing := n.find(r.pod.Name); existing != nil {
		return existing
	}
	if n.hour < dueHour {
		e.t.Errorf("A2: a pod before the time, in %s", n.key())
	}
	attempt := attemptOf(r.pod.Name)
	bit := 1 << attempt
	if n.created++; n.names&bit != 0 && (n.killed&bit == 0 || n.budget.crashes == crashes) {
		e.t.Errorf("A1: pod %s is created again, %d pods, in %s", r.pod.Name, n.created, n.key())
	}
	n.names |= bit
	if got := strings.Join(r.pod.Spec.Containers[0].Command, " "); got != n.words[attempt] {
		e.t.Errorf("A18: pod %s runs %q, but attempt %d began with %q, in %s", r.pod.Name, got, attempt, n.words[attempt], n.key())
	}
	if n.stored().Status.Reason == cnatv1alpha1.ReasonMissedDeadline {
		e.t.Errorf("A11: a pod is created for an At that missed its deadline, in %s", n.key())
	}
	pod := r.pod.DeepCopy()
	pod.UID = types.UID(fmt.Sprintf("%s#%d", pod.Name, n.created))
	pod.CreationTimestamp.Time = n.now()
	pod.Status.Phase = corev1.PodPending
	n.setPods(append(slices.Clone(n.storedPods()), pod))
	return pod
}

// report pushes the states that can follow the write of the status of a report.
func (e *explorer) report(n *node, o Observation, plan Plan, outcome Outcome) {
	report := MakeReport(o, plan, outcome)
	if sameStatus(&o.At.Status, &report.Status) {
		n = n.clone()
		n.state.Record(o, plan, outcome, n.now())
		e.push(n)
		return
	}
	e.write(n, o, plan, outcome, report.Status, func(written *node) { e.push(written) })
}

// write pushes the states that can follow the write of a status: it arrives, a crash comes before or after it, or its response is lost.
// then continues after the response.
func (e *explorer) write(n *node, o Observation, plan Plan, outcome Outcome, status cnatv1alpha1.AtStatus, then func(*node)) {
	sent := request{version: o.At.ResourceVersion, status: status}
	if n.budget.crashes > 0 {
		e.crash(n, &sent)
	}
	n = n.clone()
	if o.At.ResourceVersion != n.stored().ResourceVersion {
		n.state.Record(o, plan, outcome, n.now())
		e.push(n) // The status of an older object is rejected as a conflict.
		return
	}
	e.carryOut(n, sent)
	if n.budget.losses > 0 {
		lost := n.clone()
		lost.budget.losses--
		lost.state.Record(o, plan, outcome, n.now())
		e.push(lost)
	}
	if n.budget.crashes > 0 {
		e.crash(n, nil)
	}
	outcome.Written = n.stored()
	n.state.Record(o, plan, outcome, n.now())
	then(n)
}

func (e *explorer) commit(n *node, status cnatv1alpha1.AtStatus) {
	before := n.stored()
	written := before.DeepCopy()
	written.Status = status
	written.ResourceVersion = strconv.FormatInt(version(before.ResourceVersion)+1, 10)
	if attempt := int(status.Attempts) - 1; status.Attempts > before.Status.Attempts {
		n.words[attempt] = before.Spec.Command
		if before.Spec.Cancel != nil {
			e.t.Errorf("A16: attempt %d begins after a cancel, in %s", attempt, n.key())
		}
		if attempt > 0 && n.ended[corev1.PodFailed]&(1<<(attempt-1)) == 0 {
			e.t.Errorf("A17: attempt %d begins before the one before it has failed, in %s", attempt, n.key())
		}
	}
	e.checkStatus(n, &written.Status)
	n.phase = slices.Index(phaseOrder, written.Status.Phase)
	n.ats = append(n.ats, written)
}

func sameStatus(a, b *cnatv1alpha1.AtStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.PodUID == b.PodUID && a.Attempts == b.Attempts && (a.RetryTime != nil) == (b.RetryTime != nil)
}

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
	if s.Phase == cnatv1alpha1.PhaseDone {
		e.checkEnd(n, s)
	}
}

// checkEnd checks that the reason of an end is true: A11.
func (e *explorer) checkEnd(n *node, s *cnatv1alpha1.AtStatus) {
	spec, attempt := &n.stored().Spec, int(s.Attempts)-1
	deadline := spec.ActiveDeadlineSeconds
	var holds bool
	switch s.Reason {
	case cnatv1alpha1.ReasonMissedDeadline:
		holds = n.created == 0 && spec.StartingDeadlineSeconds != nil && n.hour > dueHour
	case cnatv1alpha1.ReasonDeadlineExceeded:
		holds = deadline != nil && !n.now().Before(s.StartTime.Add(atspec.Seconds(*deadline)))
	case cnatv1alpha1.ReasonCanceled:
		holds = spec.Cancel != nil
	case cnatv1alpha1.ReasonPodLost:
		holds = n.killed&(1<<attempt) != 0 && s.RetryTime == nil || s.PodUID == "" && n.hour > dueHour
	case cnatv1alpha1.ReasonCompleted:
		holds = n.ended[corev1.PodSucceeded]&(1<<attempt) != 0
	default:
		holds = n.ended[corev1.PodFailed]&(1<<attempt) != 0
	}
	if !holds {
		e.t.Errorf("A11: %s of attempt %d after %d pods in hour %d, in %s", s.Reason, attempt, n.created, n.hour, n.key())
	}
}

// settle checks A3: left alone from here, with time passing and pods ending, the At gets done.
func (e *explorer) settle(n *node) {
	c := n.clone()
	c.budget, c.late = budget{}, nil
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
			e.t.Fatalf("A3: %d ways to continue without events, from %s", len(alone.queue), n.key())
		}
		c = alone.queue[0].clone()
	}
	e.t.Errorf("A3: never done, from %s", n.key())
}
