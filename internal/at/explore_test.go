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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

var states = flag.Int("states", 10_000, "how many states the explorer visits of each At")

// The explorer visits every interleaving of the steps of one At with one retry, breadth first, with the real Memory and
// the real rules:
//
//   - time passes
//   - a user edits the command, cancels the At, deletes any pod at any time, creates a gated pod under the name of the first one, or removes
//     the gate of a pod
//   - a scheduler binds a pod that has no gate, and a command ends well or badly
//   - the caches of Ats and of pods lag behind by any number of events
//   - a request is rejected, or is carried out and its answer is lost; between a decision and its request anything else can happen
//   - a process crashes, or is frozen with a request on its way, which arrives later or never; another process goes on with consistent caches
//
// These invariants hold in every state:
//
//	A1   no attempt runs twice, and only the pod that the status names is opened
//	A2   no command runs before its time
//	A3   left alone, the At gets done, and no gated pod is left
//	A4   the phase moves forward
//	A11  an end is true: an At that says that the command did not run never ran it, and Completed and a failure are those of the command
//	A16  no attempt is recorded after a cancel
//	A17  an attempt follows the failure of the one before it, or the proof that it did not run
//	A18  the words that run are those of the spec that the record fixed
//
// Each of the options breaks them: see TestExplore_defects.
type options struct {
	// noCompareAndSwap lets the record of an attempt overwrite an edit. byName opens the pod that has the name.
	// endFirst records the end of a canceled At before its gated pod is gone. adopt records a gated pod that another
	// client created. openFirst opens before the record.
	noCompareAndSwap, byName, endFirst, adopt, openFirst bool
	// blind does not see pods of the At that somebody else opened, and that the status does not name. again does not
	// see them once they have ended, and replaces them.
	blind, again bool
}

// times are the instants of the exploration, counted from the creation of the At, which is due after an hour.
var times = []time.Duration{0, time.Hour - time.Second, time.Hour, time.Hour + 20*time.Second, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour}

const dueIndex = 2

var explored = map[string]func() *testutil.AtBuilder{
	"without deadlines":        func() *testutil.AtBuilder { return testutil.MakeAt("a") },
	"with a starting deadline": func() *testutil.AtBuilder { return testutil.MakeAt("a").StartingDeadline(10) },
	"with an active deadline":  func() *testutil.AtBuilder { return testutil.MakeAt("a").ActiveDeadline(3600) },
}

// budget is what may still happen.
type budget struct{ crashes, losses, deletions, plants, ends, rejections, edits, hands int }

// flight is a request on its way: a status, or what a step requests. then is the step whose request follows the status.
type flight struct {
	view    View
	step    Step
	status  *cnatv1alpha1.AtStatus
	version string
}

// ran is a pod that was bound to a node.
type ran struct {
	attempt, code int // code is -1 until the command has ended.
	byHand        bool
}

// node is one state of the environment and the operator. Objects are shared and never modified.
type node struct {
	// ats and pods are what the caches show, followed by what they will show; the last is what the store has.
	ats        []*cnatv1alpha1.At
	pods       [][]*corev1.Pod
	lastStates []*corev1.Pod
	memory     Memory
	sent       *flight  // of the process
	late       []flight // of processes that are gone
	instant    int
	later      time.Duration // after the instant, in settle
	uids       int
	runs       []ran
	words      [2]string
	budget     budget
}

func (n *node) clone() *node {
	c := *n
	c.ats, c.pods, c.late, c.runs = slices.Clone(n.ats), slices.Clone(n.pods), slices.Clone(n.late), slices.Clone(n.runs)
	return &c
}

func (n *node) at() *cnatv1alpha1.At   { return n.ats[len(n.ats)-1] }
func (n *node) stored() []*corev1.Pod  { return n.pods[len(n.pods)-1] }
func (n *node) set(pods []*corev1.Pod) { n.pods = append(n.pods, pods) }
func (n *node) now() time.Time         { return testutil.AtCreated.Add(times[n.instant] + n.later) }
func (n *node) find(uid types.UID) int {
	return slices.IndexFunc(n.stored(), func(p *corev1.Pod) bool { return p.UID == uid })
}
func (n *node) write(at *cnatv1alpha1.At) {
	at.ResourceVersion = n.version()
	n.ats = append(n.ats, at)
}

func (n *node) version() string {
	n.uids++
	return strconv.Itoa(n.uids)
}

func (n *node) named(name string) *corev1.Pod {
	for _, pod := range n.stored() {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

func (n *node) change(i int, edit func(*corev1.Pod)) *corev1.Pod {
	pods := slices.Clone(n.stored())
	pods[i] = pods[i].DeepCopy()
	pods[i].ResourceVersion = n.version()
	edit(pods[i])
	n.set(pods)
	return pods[i]
}

// key identifies a state: two states with the same key have the same future. Versions are replaced by their order.
func (n *node) key() string {
	numbers := map[int]int{}
	n.text(func(version string) string {
		i, _ := strconv.Atoi(strings.TrimPrefix(version, "u"))
		numbers[i] = 0
		return version
	})
	for rank, number := range slices.Sorted(maps.Keys(numbers)) {
		numbers[number] = rank
	}
	return n.text(func(version string) string {
		i, _ := strconv.Atoi(strings.TrimPrefix(version, "u"))
		return strconv.Itoa(numbers[i])
	})
}

// text describes a state. order returns what is written for a version or a UID.
func (n *node) text(order func(version string) string) string {
	var k strings.Builder
	pod := func(p *corev1.Pod) {
		if p != nil {
			fmt.Fprintf(&k, "%s%s%s%s%t%s%s,", p.Name, order(string(p.UID)), p.Spec.NodeName, p.Status.Phase, proof.IsGated(p), p.Annotations[cnatv1alpha1.AnnotationGeneration], order(p.ResourceVersion))
		}
		k.WriteString(";")
	}
	at := func(a *cnatv1alpha1.At) {
		s := &a.Status
		fmt.Fprintf(&k, "%s %d%t%s%s%s%d%t%v;", order(a.ResourceVersion), a.Generation, a.Spec.Cancel != nil, s.Phase, s.Reason, order(string(s.PodUID)), s.Attempts, s.RetryTime != nil, s.ExitCode)
	}
	for _, a := range n.ats {
		at(a)
	}
	for _, pods := range n.pods {
		for _, p := range pods {
			pod(p)
		}
		k.WriteString("|")
	}
	for _, r := range append(n.late, ptr.Deref(n.sent, flight{})) {
		fmt.Fprintf(&k, "%s%t", order(r.version), r.status != nil)
		for _, p := range []*corev1.Pod{r.step.Create, r.step.Open, r.step.Stop, r.step.Delete, r.step.record} {
			pod(p)
		}
	}
	m := &n.memory
	if m.last != nil && expectations.IsLater(m.last, n.ats[0].ResourceVersion) {
		at(m.last)
	}
	for _, p := range n.lastStates {
		pod(p)
	}
	for _, p := range []podState{m.run, m.prepared} {
		pod(p.pod)
		fmt.Fprintf(&k, "%d%s%t%t%t%v%v", p.generation, p.modified, p.shown, p.isLast, p.pod != nil && p.pod.DeletionTimestamp != nil, p.goneSince, p.answered)
	}
	fmt.Fprintf(&k, "%t%s%v%v%v%v|%d %v %v %v", m.stale, m.failure, m.stopSince,
		m.rejections[toCreate].Of(n.at().Generation) != nil, m.rejections[toOpen].Of(n.at().Generation) != nil, m.dryRun, n.instant, n.runs, n.words, n.budget)
	return k.String()
}

type explorer struct {
	options
	fail  func(format string, args ...any)
	seen  map[string]bool
	queue []*node
}

func (e *explorer) push(n *node) {
	if key := n.key(); !e.seen[key] {
		e.seen[key] = true
		e.queue = append(e.queue, n)
	}
}

// explore visits states until there are no more, the limit is reached, or an invariant is broken. It returns the number
// of visited states.
func (e *explorer) explore(at *cnatv1alpha1.At, b budget, limit int, broken func() bool) int {
	at.ResourceVersion = "0"
	e.seen = map[string]bool{}
	e.push(&node{
		ats: []*cnatv1alpha1.At{at}, pods: [][]*corev1.Pod{nil},
		budget: b,
	})
	for len(e.queue) > 0 && len(e.seen) < limit && !broken() {
		n := e.queue[0]
		e.queue = e.queue[1:]
		if e.next(n); len(e.seen)%16 == 0 {
			e.settle(n)
		}
	}
	return len(e.seen)
}

// budgets are what may happen together. All of it at once has too many states.
var budgets = map[string]budget{
	"a frozen process and a deletion":        {crashes: 1, deletions: 1},
	"a frozen process and an edit":           {crashes: 1, edits: 1},
	"a pod of another client":                {crashes: 1, plants: 1, edits: 1},
	"a rejection, a lost answer, a deletion": {losses: 1, rejections: 1, deletions: 1},
	"a gate that a user removes":             {crashes: 1, losses: 1, hands: 1, edits: 1},
	"a gate that a user removes, a retry":    {hands: 1, ends: 1, rejections: 1},
	"a failure and a retry":                  {crashes: 1, losses: 1, ends: 2, edits: 1},
}

func TestExplore(t *testing.T) {
	for name, spec := range explored {
		for what, b := range budgets {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				e := &explorer{fail: t.Errorf}
				t.Logf("%d states", e.explore(spec().Schedule("now + 1 hour").Command("run 1").BackoffLimit(1).Obj(), b, *states, t.Failed))
			})
		}
	}
}

// TestExplore_defects shows that the explorer finds each fault of the protocol.
func TestExplore_defects(t *testing.T) {
	for name, defect := range map[string]struct {
		options
		budget
	}{
		"no compare-and-swap":        {options{noCompareAndSwap: true}, budget{edits: 1}},
		"open by name":               {options{byName: true}, budget{crashes: 1, deletions: 1}},
		"end before the pod is gone": {options{endFirst: true}, budget{crashes: 1, edits: 1}},
		"adoption":                   {options{adopt: true}, budget{plants: 1, edits: 1}},
		"open before the record":     {options{openFirst: true}, budget{}},
		"blind end":                  {options{blind: true}, budget{crashes: 1, hands: 1, edits: 1}},
		"made again":                 {options{again: true}, budget{hands: 1, ends: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := ""
			e := &explorer{options: defect.options, fail: func(format string, args ...any) { found = fmt.Sprintf(format, args...) }}
			n := e.explore(testutil.MakeAt("a").Schedule("now + 1 hour").Command("run 1").Obj(), defect.budget, 10**states, func() bool { return found != "" })
			if found == "" {
				t.Errorf("the explorer does not find it in %d states", n)
			}
			t.Logf("%d states", n)
		})
	}
}

func (e *explorer) next(n *node) {
	fork := func(budget *int, do func(*node)) {
		if *budget > 0 {
			*budget--
			c := n.clone()
			*budget++
			do(c)
			e.push(c)
		}
	}
	unlimited := 1
	if n.instant < len(times)-1 {
		fork(&unlimited, func(c *node) { c.instant++ })
	}
	for i, pod := range n.stored() {
		if proof.IsGated(pod) && pod.Annotations[cnatv1alpha1.AnnotationGeneration] != "0" && !n.isEnding() {
			fork(&n.budget.hands, func(c *node) {
				c.change(i, func(p *corev1.Pod) { p.Spec.SchedulingGates, p.Annotations = nil, map[string]string{byHand: "true"} })
			})
		}
		fork(&n.budget.deletions, func(c *node) { c.set(slices.Delete(slices.Clone(n.stored()), i, i+1)) })
		switch {
		case pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0:
			fork(&unlimited, func(c *node) { e.bind(c, i) })
		case pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending:
			fork(&n.budget.ends, func(c *node) { c.end(i, 0) })
			fork(&n.budget.ends, func(c *node) { c.end(i, 1) })
		}
	}
	if len(n.ats) > 1 {
		fork(&unlimited, func(c *node) { c.ats = c.ats[1:] })
	}
	if len(n.pods) > 1 {
		fork(&unlimited, func(c *node) { c.showPods() })
	}
	if n.named("a-pod") == nil {
		fork(&n.budget.plants, func(c *node) { e.add(c, newPod(&View{At: n.at()}, 0), "0") })
	}
	if !proof.IsDone(&n.at().Status) {
		fork(&n.budget.edits, func(c *node) { c.edit(func(s *cnatv1alpha1.AtSpec) { s.Cancel = ptr.To(true) }) })
		if n.at().Status.Attempts == 0 { // The rules of the CRD reject it later.
			fork(&n.budget.edits, func(c *node) { c.edit(func(s *cnatv1alpha1.AtSpec) { s.Command = "run 2" }) })
		}
	}
	for i, r := range n.late {
		fork(&unlimited, func(c *node) { c.late = slices.Delete(c.late, i, i+1); e.carryOut(c, r) })
	}
	fork(&n.budget.crashes, func(c *node) { c.restart() })
	if n.sent != nil {
		e.arrives(n)
		return
	}
	c := n.clone()
	e.decide(c)
	e.push(c)
}

func (n *node) showPods() {
	for _, pod := range n.pods[0] {
		if !slices.ContainsFunc(n.pods[1], func(p *corev1.Pod) bool { return p.UID == pod.UID }) {
			n.lastStates = append(slices.Clone(n.lastStates), pod)
		}
	}
	n.pods = n.pods[1:]
}

// byHand marks a pod whose gate a user has removed.
const byHand = "by-hand"

// isEnding reports whether the At has ended, or its end is on its way. Whoever removes a gate after that starts the
// command.
func (n *node) isEnding() bool {
	ends := func(r flight) bool { return r.status != nil && r.status.Phase == cnatv1alpha1.PhaseDone }
	return proof.IsDone(&n.at().Status) || n.sent != nil && ends(*n.sent) || slices.ContainsFunc(n.late, ends)
}

func (n *node) edit(edit func(*cnatv1alpha1.AtSpec)) {
	at := n.at().DeepCopy()
	edit(&at.Spec)
	at.Generation++
	n.write(at)
}

// restart starts another process. Its first lists are consistent. A request of the old one is still on its way.
func (n *node) restart() {
	if n.sent != nil {
		n.late = append(n.late, *n.sent)
	}
	n.sent, n.memory, n.lastStates = nil, Memory{}, nil
	n.ats, n.pods = n.ats[len(n.ats)-1:], n.pods[len(n.pods)-1:]
}

func (e *explorer) bind(n *node, i int) {
	pod := n.change(i, func(p *corev1.Pod) { p.Spec.NodeName = "node" })
	attempt, s := strings.Count(pod.Name, "-pod-"), &n.at().Status
	if slices.ContainsFunc(n.runs, func(r ran) bool { return r.attempt == attempt }) {
		e.fail("A1: attempt %d runs twice, in %s", attempt, n.key())
	}
	hand := pod.Annotations[byHand] != ""
	if n.instant < dueIndex && !hand {
		e.fail("A2: attempt %d runs before its time, in %s", attempt, n.key())
	}
	if attempt > 0 && !slices.ContainsFunc(n.runs, func(r ran) bool { return r.attempt == attempt-1 && r.code > 0 }) {
		if slices.ContainsFunc(n.runs, func(r ran) bool { return r.attempt == attempt-1 }) {
			e.fail("A17: attempt %d runs before the one before it has failed, in %s", attempt, n.key())
		}
	}
	if got := strings.Join(pod.Spec.Containers[0].Command, " "); got != n.words[attempt] && !hand {
		e.fail("A18: pod %s runs %q, recorded is %q, in %s", pod.Name, got, n.words[attempt], n.key())
	}
	if (int(s.Attempts) == attempt+1 || int(s.Attempts) == attempt) && saysNotRun(s) { // A user may have opened the pod of the next attempt.
		e.fail("A11: an At that says %s runs, in %s", s.Conditions[len(s.Conditions)-1].Message, n.key())
	}
	n.runs = append(n.runs, ran{attempt, -1, hand})
}

func saysNotRun(s *cnatv1alpha1.AtStatus) bool {
	return s.Phase == cnatv1alpha1.PhaseDone && slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool {
		return strings.Contains(c.Message, "did not run") || strings.Contains(c.Message, "was not run")
	})
}

func (n *node) end(i, code int) {
	attempt := strings.Count(n.stored()[i].Name, "-pod-")
	for r := range n.runs {
		if n.runs[r].attempt == attempt {
			n.runs[r].code = code
		}
	}
	phase, reason := corev1.PodSucceeded, "Completed"
	if code > 0 {
		phase, reason = corev1.PodFailed, "Error"
	}
	n.change(i, func(p *corev1.Pod) {
		p.Status.Phase = phase
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: reason, ContainerID: "containerd://1"}, //nolint:gosec // 0 or 1
		}}}
	})
}

func (e *explorer) add(n *node, pod *corev1.Pod, generation string) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.ResourceVersion = n.version()
	pod.UID, pod.CreationTimestamp.Time, pod.Status.Phase = types.UID("u"+pod.ResourceVersion), n.now(), corev1.PodPending
	if generation != "" {
		pod.Annotations[cnatv1alpha1.AnnotationGeneration] = generation
	}
	n.set(append(slices.Clone(n.stored()), pod))
	return pod
}

// decide makes the next request of the process.
func (e *explorer) decide(n *node) {
	seen, answers := Seen{At: n.ats[0], Pods: n.pods[0], LastStates: n.lastStates}, Answers{Pods: map[string]*corev1.Pod{}}
	if n.memory.IsStale() {
		answers.At = n.at()
	}
	seen.Pods = slices.DeleteFunc(slices.Clone(seen.Pods), func(p *corev1.Pod) bool { return e.hides(n, p) })
	r := &flight{}
	for {
		r.view = n.memory.View(seen, answers, n.now(), Defaults{})
		if r.step = Next(&r.view); !r.step.Asks() {
			break
		}
		switch question := r.step.Ask; {
		case question.At:
			answers.At = n.at()
		case question.DryRun != nil:
			answers.DryRun = &Answer{}
		default:
			if answers.Pods[question.Pod] = n.named(question.Pod); e.hides(n, answers.Pods[question.Pod]) {
				answers.Pods[question.Pod] = nil
			}
			answers.Labeled = answers.Labeled || question.Labeled
			for _, pod := range n.stored() {
				if question.Labeled && !e.hides(n, pod) {
					answers.Pods[pod.Name] = pod
				}
			}
		}
	}
	e.plant(n, r)
	status := MakeReport(&r.view, r.step).Status
	if sameStatus(&r.view.At.Status, &status) {
		n.memory.Recorded(&r.view, r.step, nil)
	} else {
		r.status, r.version = &status, r.view.At.ResourceVersion
	}
	if r.status != nil || r.step.acts() {
		n.sent = r
	}
}

// hides reports whether a defective process does not see a pod.
func (e *explorer) hides(n *node, pod *corev1.Pod) bool {
	opened := pod != nil && pod.Annotations[byHand] != "" && n.at().Status.PodUID != pod.UID
	return opened && (e.blind || e.again && pod.Status.Phase != corev1.PodPending)
}

// plant applies the defects that are decisions.
func (e *explorer) plant(n *node, r *flight) {
	v := &r.view
	switch {
	case e.adopt && r.step.Delete != nil && proof.IsGated(r.step.Delete) && v.At.Status.Attempts == 0 && n.instant >= dueIndex && !v.isCanceled():
		r.step = v.wait(started(""))
		r.step.record, r.step.Open = n.named("a-pod"), n.named("a-pod")
		if r.step.record == nil {
			r.step = unchanged
		}
	case e.endFirst && r.step.Delete != nil && v.isRecorded() && v.isCanceled() && !isBound(r.step.Delete):
		r.step = v.done(v.withOverride(proof.End{Proof: proof.NotRun}))
	}
}

func (s Step) acts() bool {
	return s.Create != nil || s.Open != nil || s.Stop != nil || s.Delete != nil
}

func sameStatus(a, b *cnatv1alpha1.AtStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.PodUID == b.PodUID && a.Attempts == b.Attempts && (a.RetryTime != nil) == (b.RetryTime != nil) &&
		(a.ExitCode != nil) == (b.ExitCode != nil)
}

// arrives pushes the states that can follow the request of the process.
func (e *explorer) arrives(n *node) {
	c := n.clone()
	r := *n.sent
	c.sent = nil
	if r.status == nil && n.budget.rejections > 0 && (r.step.Create != nil || r.step.Open != nil) {
		rejected := c.clone()
		rejected.budget.rejections--
		rejected.memory.Heard(&r.view, r.step, Result{Rejected: errors.New("quota")}, n.now())
		e.push(rejected)
	}
	if e.openFirst && r.status != nil && r.step.Open != nil {
		e.carryOut(c, flight{view: r.view, step: Step{Open: r.step.Open}})
	}
	result, done := e.carryOut(c, r)
	if n.budget.losses > 0 {
		lost := c.clone()
		lost.budget.losses--
		if r.status == nil {
			lost.memory.Heard(&r.view, r.step, Result{Failed: errors.New("timeout")}, n.now())
		}
		e.push(lost)
	}
	switch {
	case r.status == nil && done:
		c.memory.Heard(&r.view, r.step, result, n.now())
	case r.status == nil:
		c.memory.Contradicted()
	case !done:
		c.memory.Conflicted()
	default:
		c.memory.Recorded(&r.view, r.step, c.at())
		if r.status = nil; r.step.acts() {
			c.sent = &r
		}
	}
	e.push(c)
}

// carryOut does what the API server does with a request. done is false for a conflict.
func (e *explorer) carryOut(n *node, r flight) (result Result, done bool) {
	if r.status != nil {
		if n.at().ResourceVersion != r.version && (!e.noCompareAndSwap || r.step.record == nil || n.at().Status.Attempts != r.view.At.Status.Attempts) {
			return result, false
		}
		e.commit(n, r)
		return result, true
	}
	switch s := r.step; {
	case s.Create != nil && e.again && e.hides(n, n.named(s.Create.Name)):
		i := n.find(n.named(s.Create.Name).UID)
		n.set(slices.Delete(slices.Clone(n.stored()), i, i+1))
		return Result{Pod: e.add(n, s.Create, "")}, true
	case s.Create != nil && n.named(s.Create.Name) != nil:
		return result, false
	case s.Create != nil:
		return Result{Pod: e.add(n, s.Create, "")}, true
	case s.Open != nil:
		i := n.find(s.Open.UID)
		if pod := n.named(s.Open.Name); e.byName && pod != nil {
			i = n.find(pod.UID)
		}
		if i < 0 || !proof.IsGated(n.stored()[i]) {
			return result, false
		}
		pod := n.change(i, func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })
		if n.at().Status.PodUID != pod.UID {
			e.fail("A1: pod %s is opened, but the status names %q, in %s", pod.UID, n.at().Status.PodUID, n.key())
		}
		return Result{Pod: pod}, true
	case s.Delete != nil:
		i := n.find(s.Delete.UID)
		if i < 0 || !isBound(s.Delete) && n.stored()[i].ResourceVersion != s.Delete.ResourceVersion {
			return result, false
		}
		n.set(slices.Delete(slices.Clone(n.stored()), i, i+1))
	case s.Stop != nil:
		if i := n.find(s.Stop.UID); i >= 0 {
			return Result{Pod: n.change(i, func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) })}, true
		}
		return result, false
	}
	return result, true
}

func (e *explorer) commit(n *node, r flight) {
	before, at := n.at(), n.at().DeepCopy()
	at.Status = *r.status
	n.write(at)
	s := &at.Status
	if r.step.record != nil {
		n.words[r.step.attempt] = before.Spec.Command
		if before.Spec.Cancel != nil && s.Phase != cnatv1alpha1.PhaseDone {
			e.fail("A16: attempt %d is recorded after a cancel, in %s", r.step.attempt, n.key())
		}
	}
	if slices.Index(phases, s.Phase) < slices.Index(phases, before.Status.Phase) {
		e.fail("A4: from %s to %s, in %s", before.Status.Phase, s.Phase, n.key())
	}
	if s.Phase != cnatv1alpha1.PhaseDone {
		return
	}
	attempt := int(s.Attempts) - 1
	i := slices.IndexFunc(n.runs, func(r ran) bool { return r.attempt == attempt })
	next := slices.ContainsFunc(n.runs, func(r ran) bool { return r.attempt == attempt+1 })
	switch {
	case next && saysNotRun(s):
		e.fail("A11: %s %q, but attempt %d ran, in %s", s.Reason, s.Conditions[1].Message, attempt+1, n.key())
	case i >= 0 && saysNotRun(s):
		e.fail("A11: %s %q, but attempt %d ran, in %s", s.Reason, s.Conditions[1].Message, attempt, n.key())
	case s.Reason == cnatv1alpha1.ReasonCompleted && (i < 0 || n.runs[i].code != 0), s.Reason == cnatv1alpha1.ReasonNonZeroExitCode && (i < 0 || n.runs[i].code != 1):
		e.fail("A11: %s of attempt %d after %v, in %s", s.Reason, attempt, n.runs, n.key())
	}
}

// settle checks A3: left alone, with time passing and commands ending, the At gets done.
func (e *explorer) settle(n *node) {
	c := n.clone()
	c.budget = budget{}
	for range 60 {
		for len(c.ats) > 1 {
			c.ats = c.ats[1:]
		}
		for len(c.pods) > 1 {
			c.showPods()
		}
		gated := slices.ContainsFunc(c.stored(), proof.IsGated)
		if c.at().Status.Phase == cnatv1alpha1.PhaseDone && !gated {
			return
		}
		c.instant, c.later = max(c.instant, dueIndex), c.later+time.Hour
		for i, pod := range c.stored() {
			switch {
			case !proof.IsGated(pod) && pod.Spec.NodeName == "":
				e.bind(c, i)
			case pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending:
				c.end(i, 1)
			}
		}
		alone := &explorer{options: e.options, fail: e.fail, seen: map[string]bool{}}
		if c.sent == nil {
			alone.decide(c)
		}
		if c.sent != nil {
			alone.arrives(c)
			c = alone.queue[0].clone()
		}
	}
	e.fail("A3: never done, from %s", n.key())
}
