// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/testutil"
)

const pod0, pod1 = "a-pod", "a-pod-1"

var (
	due   = testutil.AtDue
	a     = func() *testutil.AtBuilder { return testutil.MakeAt("a") }
	runs0 = func() *testutil.AtBuilder { return a().Recorded(1, pod0, pod0+"-uid") }
	runs1 = func() *testutil.AtBuilder { return a().BackoffLimit(1).Recorded(2, pod1, pod1+"-uid") }
	own   = func() *testutil.AtPodBuilder { return testutil.MakeAtPod(a().Obj(), pod0) }
	gated = func() *testutil.AtPodBuilder { return own().Gated(1) }
	live  = func() *testutil.AtPodBuilder { return own().OnNode().Phase(corev1.PodRunning).Runs("busybox") }
	ended = func(code int32) *testutil.AtPodBuilder {
		phase, reason := corev1.PodSucceeded, "Completed"
		if code != 0 {
			phase, reason = corev1.PodFailed, "Error"
		}
		return own().OnNode().Phase(phase).Exited("busybox", code, reason, "", due.Add(5*time.Second))
	}
	stopped = func(p *corev1.Pod) *corev1.Pod {
		p.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
		return p
	}
	// exited is a run whose exit code the status has recorded.
	exited = func(code int32) *testutil.AtBuilder {
		s := runs0().Obj().Status
		s.ExitCode = &code
		return a().Status(s)
	}
	finished = cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultSucceeded, Reason: cnatv1alpha1.ReasonCompleted,
		CompletionTime: ptr.To(metav1.NewTime(due)), PodName: pod0, PodUID: pod0 + "-uid", Attempts: 1,
	}
	exists = apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, pod0)
	quota  = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod0, errors.New("exceeded quota"))
	// terminating is the answer to a create in a namespace that is being deleted.
	terminating = &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
)

// world is what the API server has, as far as a test needs it.
type world struct {
	at    *testutil.AtBuilder
	pods  []*corev1.Pod // in the cache and in the API server
	only  []*corev1.Pod // only in the API server
	stale []*corev1.Pod // only in the cache
	older []*corev1.Pod
	last  *corev1.Pod
	now   time.Duration // from testutil.AtDue
	// memory is what the process knows already, or the zero value.
	memory at.Memory
	// answer is the answer to dry runs.
	answer at.Answer
}

// decided is a step and its report, in short.
type decided struct {
	Create, Open, Stop, Delete string
	Budget                     string
	DeleteAt                   bool
	// Phase and Reason are those of the status that the step records, and Attempts its attempts. Scheduled and Ready
	// are the reasons of the conditions.
	Phase            cnatv1alpha1.Phase
	Reason           string
	Scheduled, Ready string
	Attempts         int32
	// Requeue is when to decide again, counted from testutil.AtDue, or nil if that is not needed.
	Requeue *time.Duration
}

// next makes one pass and answers its questions.
func (w *world) next(t *testing.T) (decided, at.View, at.Step, at.Report) {
	t.Helper()
	seen := at.Seen{At: w.at.Obj(), Pods: append(w.stale, w.pods...), OfPredecessor: w.older}
	if w.last != nil {
		seen.LastStates = []*corev1.Pod{w.last}
	}
	answers := at.Answers{Pods: map[string]*corev1.Pod{}}
	for range 5 {
		v := w.memory.View(seen, answers, due.Add(w.now), at.Defaults{Image: "busybox", FixedUser: true})
		step := at.Next(&v)
		if !step.Asks() {
			report := at.MakeReport(&v, step)
			return w.summary(&v, step, report), v, step, report
		}
		switch question := step.Ask; {
		case question.At:
			answers.At = w.at.Obj()
		case question.DryRun != nil:
			answers.DryRun = &w.answer
		default:
			answers.Pods[question.Pod], answers.Labeled = nil, answers.Labeled || question.Labeled
			for _, pod := range slices.Concat(w.only, w.pods, w.older) {
				if pod.Name == question.Pod || question.Labeled && pod.Labels[cnatv1alpha1.LabelUID] == string(seen.At.UID) {
					answers.Pods[pod.Name] = pod
				}
			}
		}
	}
	t.Fatal("the rules ask without end")
	return decided{}, at.View{}, at.Step{}, at.Report{}
}

func (w *world) summary(v *at.View, step at.Step, report at.Report) decided {
	name := func(pod *corev1.Pod) string {
		if pod == nil {
			return ""
		}
		return pod.Name
	}
	budget := func(budget *policyv1.PodDisruptionBudget) string {
		if budget == nil {
			return ""
		}
		return budget.Name
	}
	s := report.Status
	d := decided{
		Create: name(step.Create), Open: name(step.Open), Stop: name(step.Stop), Delete: name(step.Delete), DeleteAt: step.DeleteAt,
		Budget: budget(step.Budget), Phase: s.Phase, Reason: s.Reason, Attempts: s.Attempts,
	}
	if c := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionScheduled); c != nil {
		d.Scheduled = c.Reason
	}
	if c := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionReady); c != nil && c.Reason != d.Scheduled && c.Reason != d.Reason {
		d.Ready = c.Reason
	}
	memory, written := w.memory, v.At.DeepCopy()
	written.Status = s
	memory.Recorded(v, step, written)
	if when, _ := memory.RequeueAt(v, step); !when.IsZero() {
		d.Requeue = ptr.To(when.Sub(due))
	}
	return d
}

// knows returns the Memory of a process that created a pod for this At.
func knows(t *testing.T, b *testutil.AtBuilder, pod *corev1.Pod, modified string) at.Memory {
	t.Helper()
	w := world{at: b}
	_, v, step, _ := w.next(t)
	if step.Create == nil && b.Obj().Status.Attempts == 0 {
		t.Fatalf("no pod is created: %+v", step)
	}
	step.Create = cmp.Or(pod, gated().Obj())
	w.memory.Heard(&v, step, at.Result{Pod: pod, Modified: modified}, due)
	return w.memory
}

// waited returns an At that has waited for the pod of an earlier one.
func waited(t *testing.T, memory at.Memory, olderPod *corev1.Pod) *testutil.AtBuilder {
	t.Helper()
	w := world{at: a(), older: []*corev1.Pod{olderPod}, memory: memory}
	_, _, _, report := w.next(t)
	return a().Status(report.Status)
}

// unwritten returns the Memory of a process whose last write of the status was not answered.
func (w world) unwritten(t *testing.T) at.Memory {
	t.Helper()
	w.next(t)
	return w.memory
}

// knowsBad returns the Memory of a process to which the API server has said that admission would change the pod.
func knowsBad(t *testing.T, b *testutil.AtBuilder) at.Memory {
	t.Helper()
	return world{at: b, now: -time.Minute, answer: at.Answer{Modified: "the name"}}.unwritten(t)
}

// openFailed returns the Memory of a process that could not remove the gate of the recorded pod.
func openFailed(t *testing.T, result at.Result) at.Memory {
	t.Helper()
	w := world{at: runs0(), pods: pods(gated())}
	_, v, step, _ := w.next(t)
	w.memory.Heard(&v, step, result, due)
	return w.memory
}

// stopFailed returns the Memory of a process whose stops of the recorded pod were not answered at these times.
func stopFailed(t *testing.T, times ...time.Duration) at.Memory {
	t.Helper()
	w := world{at: runs0().Cancel(), pods: pods(live())}
	for _, w.now = range times {
		w.memory = w.answered(t, at.Result{Failed: errors.New("reset")})
	}
	return w.memory
}

// contradicted returns a Memory after the API server did not have a pod in the state that was known.
func contradicted(m at.Memory) at.Memory {
	m.Contradicted()
	return m
}

// gone returns the Memory of a process that has deleted the recorded pod in this state.
func gone(t *testing.T, b *testutil.AtBuilder, pod *corev1.Pod) at.Memory {
	t.Helper()
	w := world{at: b, pods: []*corev1.Pod{pod}}
	_, v, _, _ := w.next(t)
	step := at.Step{Delete: pod}
	w.memory.Heard(&v, step, at.Result{}, due)
	return w.memory
}

// rejectedAt returns the Memory of a process whose request at a time was rejected.
func rejectedAt(t *testing.T, b *testutil.AtBuilder, now time.Duration) at.Memory {
	t.Helper()
	return world{at: b, now: now}.answered(t, at.Result{Rejected: quota})
}

// answered returns the Memory of a process that recorded the next step and was given an answer to its request.
func (w world) answered(t *testing.T, answer at.Result) at.Memory {
	t.Helper()
	_, v, step, _ := w.next(t)
	w.memory.Recorded(&v, step, nil)
	w.memory.Heard(&v, step, answer, due.Add(w.now))
	return w.memory
}

// webhookFailed returns the Memory of a process whose creates at testutil.AtDue a webhook has failed n times.
func webhookFailed(t *testing.T, n int) at.Memory {
	t.Helper()
	w := world{at: a()}
	_, v, step, _ := w.next(t)
	for range n {
		w.memory.Heard(&v, step, at.Result{Failed: apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com": timeout`))}, due)
	}
	return w.memory
}

func seconds(n int) *time.Duration { return ptr.To(time.Duration(n) * time.Second) }

func pods(all ...*testutil.AtPodBuilder) (objects []*corev1.Pod) {
	for _, b := range all {
		objects = append(objects, b.Obj())
	}
	return objects
}

// runs returns what is decided about an attempt that has started and not ended. The defaults are the first attempt, and
// a pod that runs.
func runs(d decided) decided {
	d.Phase, d.Scheduled, d.Ready, d.Attempts = cnatv1alpha1.PhaseRunning, "Started", cmp.Or(d.Ready, "Running"), 1
	return d
}

// isDone returns what is decided about the At of the status finished.
func isDone(d decided) decided {
	d.Phase, d.Reason, d.Attempts = cnatv1alpha1.PhaseDone, "Completed", 1
	return d
}

// ends is the end of an At after its first attempt, and neverStarts that of an At without one.
func ends(reason string) decided {
	return decided{Phase: cnatv1alpha1.PhaseDone, Reason: reason, Scheduled: "Started", Attempts: 1}
}

func neverStarts(reason string) decided {
	return decided{Phase: cnatv1alpha1.PhaseDone, Reason: reason, Scheduled: reason}
}

// recordedAsRun is the end of an At whose pod others have opened.
func recordedAsRun() decided {
	d := neverStarts("PodModified")
	d.Attempts = 1
	return d
}

// TestNext has the rows of the table in doc.go, by their numbers.
func TestNext(t *testing.T) {
	const pending, running, done = cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone
	foreign := testutil.MakePod(pod0).Obj()
	olderPod := testutil.MakeAtPod(a().Obj(), pod0).Obj()
	olderPod.OwnerReferences[0].UID = "older"
	modified := finished
	modified.Result, modified.Reason = cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonPodModified
	limited := func(p *corev1.Pod, seconds int64) *corev1.Pod {
		p.Spec.ActiveDeadlineSeconds, p.Status.StartTime = &seconds, ptr.To(metav1.NewTime(due))
		return p
	}
	version := func(p *corev1.Pod, version string) *corev1.Pod {
		p.ResourceVersion = version
		return p
	}
	proxied := own().OnNode().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due.Add(7*time.Second)).Obj()
	next1 := func() *testutil.AtPodBuilder { return testutil.MakeAtPod(a().Obj(), pod1) }
	modified1, running1 := next1().Obj(), next1().OnNode().Phase(corev1.PodRunning).Obj()
	slow := func(p *corev1.Pod) *corev1.Pod {
		p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](90)
		return p
	}
	retry := func() *testutil.AtBuilder { return a().BackoffLimit(1).RetryRecorded(1, pod0, time.Minute) }
	for name, test := range map[string]struct {
		world
		want decided
	}{
		"1 deleted before the start":                 {world{at: a().Deleting()}, decided{}},
		"1 deleted, recorded and gated":              {world{at: runs0().Deleting(), pods: pods(gated())}, decided{Phase: running, Attempts: 1}},
		"2 done, and a gated pod is left":            {world{at: a().Status(finished), pods: pods(gated().UID("late"))}, isDone(decided{Delete: pod0})},
		"2 done, and the gated pod is being deleted": {world{at: a().Status(finished), pods: pods(gated().UID("late").Terminating())}, isDone(decided{})},
		"3 done, and a proxy runs": {
			world{at: a().Status(finished), pods: pods(live())},
			isDone(decided{Stop: pod0, Requeue: seconds(40)}),
		},
		"3 done, and the node does not end the proxy": {
			world{at: a().Status(finished), pods: []*corev1.Pod{stopped(live().Obj())}, now: 0},
			isDone(decided{Requeue: seconds(40)}),
		},
		"4 the TTL is over":     {world{at: a().Status(finished).TTL(60), now: time.Minute}, isDone(decided{DeleteAt: true})},
		"4 the TTL is not over": {world{at: a().Status(finished).TTL(60)}, isDone(decided{Requeue: seconds(60)})},
		"3 done, and the node has 90 s to end the proxy": {
			world{at: a().Status(finished), pods: []*corev1.Pod{slow(live().Obj())}},
			isDone(decided{Stop: pod0, Requeue: seconds(100)}),
		},
		"2 done, and the cache does not show the prepared pod": {
			world{at: a().Status(finished), memory: knows(t, a(), gated().UID("late").Obj(), ""), only: pods(gated().UID("late")), now: 6 * time.Second},
			isDone(decided{Delete: pod0}),
		},
		"3 modified, it runs, and no cache shows it": {
			world{at: a().Status(modified), now: 6 * time.Second, memory: world{
				at: a(), memory: knows(t, a(), own().Unowned().Obj(), "the controller reference of pod a-pod"), only: pods(live().Unowned()),
			}.unwritten(t), only: pods(live().Unowned())},
			decided{Phase: done, Reason: "PodModified", Attempts: 1, Stop: pod0, Requeue: seconds(11)},
		},
		"4 no TTL": {world{at: a().Status(finished), pods: pods(ended(0))}, isDone(decided{})},
		"3 modified, and it runs": {
			world{at: a().Status(modified), memory: world{
				at: a(), memory: knows(t, a(), own().Unowned().Obj(), "the controller reference of pod a-pod"), only: pods(live().Unowned()),
			}.unwritten(t)},
			decided{Phase: done, Reason: "PodModified", Attempts: 1, Stop: pod0, Requeue: seconds(5)},
		},
		"3 modified, and it is not what the process knows": {
			world{at: a().Status(modified), memory: contradicted(world{
				at: a(), memory: knows(t, a(), own().Unowned().Obj(), "the controller reference of pod a-pod"), only: pods(live().Unowned()),
			}.unwritten(t))},
			decided{Phase: done, Reason: "PodModified", Attempts: 1},
		},
		"12 modified and gated": {
			world{at: a(), memory: knows(t, a(), gated().Unowned().Obj(), "the controller reference of pod a-pod"), only: pods(gated().Unowned())},
			decided{Delete: pod0},
		},
		"12 modified and gone": {
			world{at: a(), memory: knows(t, a(), gated().Unowned().Obj(), "the controller reference of pod a-pod")},
			decided{Requeue: seconds(5)},
		},
		"12 modified, and gone for a while": {
			world{at: a(), memory: world{at: a(), memory: knows(t, a(), gated().Unowned().Obj(), "the controller reference of pod a-pod")}.unwritten(t), now: 5 * time.Second},
			neverStarts("PodModified"),
		},
		"12 modified, and a user deletes it": {
			world{at: a(), memory: knows(t, a(), own().Unowned().Obj(), "the controller reference of pod a-pod"), only: pods(own().Unowned().Terminating())},
			neverStarts("PodModified"),
		},
		"12 modified and deleted, and another create was not answered": {
			world{
				at: a(), memory: knows(t, a(), own().Unowned().Obj(), "the name of pod a-pod to b"),
				only: pods(own().Unowned().Terminating(), testutil.MakeAtPod(a().Obj(), "renamed").OnNode().Phase(corev1.PodRunning)),
			},
			recordedAsRun(),
		},
		"12 modified and deleted, and another create was not answered: its pod has its gate": {
			world{
				at: a(), memory: knows(t, a(), own().Unowned().Obj(), "the name of pod a-pod to b"),
				only: pods(own().Unowned().Terminating(), testutil.MakeAtPod(a().Obj(), "renamed").Gated(1)),
			},
			decided{Delete: "renamed"},
		},
		"12 modified, and it runs": {
			world{at: a(), memory: knows(t, a(), own().Obj(), "pod a-pod so that it lacks the gate"), only: pods(live())},
			decided{Phase: done, Reason: "PodModified", Scheduled: "PodModified", Attempts: 1, Requeue: seconds(5)},
		},
		"12 the next attempt is modified, and it runs": {
			world{at: retry(), memory: knows(t, retry(), modified1, "pod a-pod-1 so that it lacks the gate"), only: []*corev1.Pod{running1}},
			decided{Phase: done, Reason: "PodModified", Scheduled: "Started", Attempts: 2, Requeue: seconds(5)},
		},
		"12 another pod has the changed name": {world{at: a(), memory: knows(t, a(), nil, "the name of pod a-pod to b")}, neverStarts("PodModified")},
		"10 a user has changed its image": {
			world{at: runs0(), pods: pods(gated().Image("evil")), memory: world{at: runs0(), pods: pods(gated())}.unwritten(t)}, runs(decided{Delete: pod0}),
		},
		"17 a user had changed its image, and it is deleted": {
			world{at: runs0(), last: gated().Image("evil").Obj(), memory: world{at: runs0(), pods: pods(gated())}.unwritten(t)}, runs(decided{Create: pod0}),
		},
		"13 a user has changed the image of the prepared pod": {
			world{at: a(), pods: pods(gated().Image("evil")), memory: knows(t, a(), gated().Obj(), "")}, decided{Delete: pod0},
		},
		"14 canceled between attempts":             {world{at: retry().Cancel()}, ends("Canceled")},
		"14 the deadline is over between attempts": {world{at: retry().ActiveDeadline(5), now: 5 * time.Second}, ends("DeadlineExceeded")},
		"3 a proxy of the last attempt runs":       {world{at: retry(), pods: pods(live())}, runs(decided{Stop: pod0, Ready: "BackOff", Requeue: seconds(40)})},
		"15 the next attempt is far away":          {world{at: retry(), pods: pods(ended(3))}, runs(decided{Ready: "BackOff", Requeue: seconds(58)})},
		"15 a pod of the attempt before the last": {
			world{at: a().BackoffLimit(2).RetryRecorded(2, pod1, time.Minute), pods: pods(ended(3))},
			decided{Phase: running, Scheduled: "Started", Ready: "BackOff", Attempts: 2, Requeue: seconds(58)},
		},
		"15 the next attempt is prepared": {world{at: retry(), pods: pods(ended(3)), now: 58 * time.Second}, runs(decided{Ready: "BackOff", Create: pod1})},
		"17 the gated pod is gone":        {world{at: runs0(), last: gated().Obj()}, runs(decided{Create: pod0})},
		"17 it is gone, and another client has the name": {
			world{at: runs0(), last: gated().Obj(), only: []*corev1.Pod{foreign}, pods: pods(gated().UID("planted"))},
			decided{Delete: pod0, Phase: running, Attempts: 1},
		},
		"17 the gated pod is being deleted": {
			world{at: runs0(), pods: pods(gated().Terminating())},
			runs(decided{Create: pod0}),
		},
		"17 the cache still shows a pod that is gone": {world{at: a(), stale: pods(gated().Terminating())}, decided{Create: pod0}},
		"14 deleted while gated, canceled":            {world{at: runs0().Cancel(), memory: gone(t, runs0(), gated().Obj())}, ends("Canceled")},
		"14 deleted while gated, too late": {
			world{at: runs0().StartingDeadline(0), now: time.Second, memory: gone(t, runs0(), gated().Obj())},
			ends("MissedDeadline"),
		},
		"14 deleted while gated, past the deadline": {
			world{at: runs0().ActiveDeadline(1), now: time.Second, memory: gone(t, runs0(), gated().Obj())},
			ends("DeadlineExceeded"),
		},
		"7 canceled while gated, and another client deleted the pod first": {
			world{at: runs0().Cancel(), memory: world{at: runs0(), pods: pods(gated())}.unwritten(t)}, decided{Phase: running, Attempts: 1, Requeue: seconds(5)},
		},
		"14 deleted before a node had it": {world{at: runs0(), last: own().Unschedulable().Obj()}, ends("NotStarted")},
		"14 the same, with a retry": {
			world{at: runs0().BackoffLimit(1), last: own().Obj()},
			runs(decided{Ready: "BackOff", Requeue: seconds(8)}),
		},
		"7 the last state proves the end":   {world{at: runs0(), last: ended(0).Obj()}, ends("Completed")},
		"7 the last state of another pod":   {world{at: runs0(), last: ended(0).UID("other").Obj()}, ends("PodLost")},
		"7 the owner reference was removed": {world{at: runs0(), only: pods(live().Unowned())}, ends("PodLost")},
		"7 the status has the exit code":    {world{at: exited(3)}, ends("NonZeroExitCode")},
		"7 lost":                            {world{at: runs0()}, ends("PodLost")},
		"7 lost, canceled":                  {world{at: runs0().Cancel()}, ends("Canceled")},
		"7 lost, past the deadline":         {world{at: runs0().ActiveDeadline(1), now: time.Second}, ends("DeadlineExceeded")},
		"5 only the API server shows it":    {world{at: runs0(), only: pods(live())}, runs(decided{Requeue: seconds(5)})},
		"9 canceled while gated":            {world{at: runs0().Cancel(), pods: pods(gated())}, runs(decided{Delete: pod0})},
		"9 canceled before a node has it":   {world{at: runs0().Cancel(), pods: pods(own())}, runs(decided{Delete: pod0})},
		"9 no node within the deadline":     {world{at: runs0().StartingDeadline(9), pods: pods(own().Unschedulable()), now: 10 * time.Second}, runs(decided{Delete: pod0, Ready: "PodWaiting"})},
		"10 recorded":                       {world{at: runs0(), pods: pods(gated())}, runs(decided{Open: pod0})},
		"10 recorded, suspended since":      {world{at: runs0().Suspend(), pods: pods(gated())}, runs(decided{Open: pod0})},
		"9 canceled, and the stop was rejected": {
			world{at: runs0().Cancel(), pods: pods(live()), memory: rejected(t, runs0().Cancel(), pods(live()), quota)},
			runs(decided{Ready: "FailedStop", Requeue: seconds(1)}),
		},
		"9 canceled, and the stop was rejected a while ago": {
			world{at: runs0().Cancel(), pods: pods(live()), memory: rejected(t, runs0().Cancel(), pods(live()), quota), now: time.Second},
			runs(decided{Stop: pod0, Ready: "FailedStop", Requeue: seconds(41)}),
		},
		"9 canceled, and a node got it after its deletion was rejected": {
			world{at: runs0().Cancel(), pods: pods(live()), memory: world{at: runs0().Cancel(), pods: pods(own())}.answered(t, at.Result{Rejected: quota}), now: time.Minute},
			runs(decided{Stop: pod0, Requeue: seconds(100)}),
		},
		"9 canceled":                          {world{at: runs0().Cancel(), pods: pods(live())}, runs(decided{Stop: pod0, Requeue: seconds(40)})},
		"9 canceled, and it is being deleted": {world{at: runs0().Cancel(), pods: pods(live().Terminating())}, runs(decided{})},
		"9 the node starts it again": {
			world{at: runs0(), pods: pods(own().OnNode().Phase(corev1.PodRunning).Runs("busybox").Restarted(firstRun))},
			runs(decided{Stop: pod0, Requeue: seconds(40)}),
		},
		"9 the kubelet ends it": {world{at: runs0().Cancel(), pods: []*corev1.Pod{stopped(live().Obj())}}, runs(decided{Requeue: seconds(40)})},
		"9 the answers to the stops were lost": {
			world{at: runs0().Cancel(), pods: []*corev1.Pod{stopped(live().Obj())}, now: time.Minute, memory: stopFailed(t, 0, 50*time.Second)},
			runs(decided{Delete: pod0}),
		},
		"9 an image until the deadline": {world{at: runs0().StartingDeadline(9), pods: pods(own().OnNode().Waiting("busybox", "ImagePullBackOff")), now: 10 * time.Second}, runs(decided{Stop: pod0, Ready: "PodWaiting", Requeue: seconds(50)})},
		"9 it ended after the deadline, and a proxy runs": {
			world{at: runs0().ActiveDeadline(5), pods: []*corev1.Pod{limited(proxied, 5)}, now: 8 * time.Second},
			runs(decided{Stop: pod0, Requeue: seconds(37)}),
		},
		"9 the deadline is over, and the clock of the node is a minute behind": {
			world{at: runs0().ActiveDeadline(65), pods: []*corev1.Pod{limited(live().Obj(), 5)}, now: 65 * time.Second},
			runs(decided{Stop: pod0, Requeue: seconds(105)}),
		},
		"9 the pod has a longer deadline than the At": {
			world{at: runs0().ActiveDeadline(5), pods: []*corev1.Pod{limited(live().Obj(), 60)}, now: 6 * time.Second},
			runs(decided{Stop: pod0, Requeue: seconds(46)}),
		},
		"11 it started within the deadline": {world{at: runs0().StartingDeadline(9), pods: pods(live()), now: 10 * time.Second}, runs(decided{})},
		"11 a proxy still runs":             {world{at: runs0(), pods: []*corev1.Pod{proxied}, now: 7 * time.Second}, runs(decided{Requeue: seconds(12)})},
		"11 it waits for an image":          {world{at: runs0(), pods: pods(own().OnNode().Waiting("busybox", "ImagePullBackOff"))}, runs(decided{Ready: "PodWaiting"})},
		"11 it is being deleted":            {world{at: runs0(), pods: pods(live().Terminating()), now: time.Minute}, runs(decided{Ready: "PodTerminating"})},
		"11 the At is being deleted":        {world{at: runs0().Cancel().Deleting(), pods: pods(live())}, runs(decided{})},
		"8 the clock of the node is ahead, and a proxy runs": {
			world{at: runs0(), pods: pods(own().OnNode().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due.Add(time.Hour))), now: 30 * time.Second},
			ends("Completed"),
		},
		"8 succeeded": {world{at: runs0(), pods: pods(ended(0))}, ends("Completed")},
		"8 canceled, and stopped": {
			world{at: runs0().Cancel(), pods: []*corev1.Pod{stopped(ended(143).Because("DeadlineExceeded", "").Obj())}},
			ends("Canceled"),
		},
		"8 failed, and the At is being deleted": {world{at: runs0().BackoffLimit(1).Deleting(), pods: pods(ended(3))}, ends("NonZeroExitCode")},
		"8 canceled, but it had failed":         {world{at: runs0().Cancel(), pods: pods(ended(3))}, ends("NonZeroExitCode")},
		"8 past the deadline": {
			world{at: runs0().ActiveDeadline(5), pods: pods(ended(143).Because("DeadlineExceeded", "")), now: 6 * time.Second},
			ends("DeadlineExceeded"),
		},
		"8 a retry is left":               {world{at: runs0().BackoffLimit(1), pods: pods(ended(3))}, runs(decided{Ready: "BackOff", Requeue: seconds(8)})},
		"8 no retry after an unknown end": {world{at: runs0().BackoffLimit(1), pods: pods(ended(255))}, ends("PodFailed")},
		"8 no retry for this exit code":   {world{at: runs0().BackoffLimit(1).RetryExitCodes(4), pods: pods(ended(3))}, ends("NonZeroExitCode")},
		"8 the last attempt failed":       {world{at: runs1(), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), pod1).OnNode().Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due).Obj()}}, decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: "Started", Attempts: 2}},
		"14 canceled before the start":    {world{at: a().Cancel(), now: -time.Hour}, neverStarts("Canceled")},
		"13 a pod of another process":     {world{at: a(), pods: pods(gated())}, decided{Delete: pod0}},
		"13 a pod of an older spec":       {world{at: a().Generation(2), pods: pods(gated()), memory: knows(t, a(), gated().Obj(), "")}, decided{Delete: pod0}},
		"13 another pod has got the name of the prepared one": {
			world{
				at: a(), memory: knows(t, a(), version(gated().Obj(), "5"), ""), pods: []*corev1.Pod{version(gated().UID("later").Obj(), "9")},
			},
			decided{Delete: pod0},
		},
		"13 a pod of a suspended At": {world{at: a().Suspend(), pods: pods(gated())}, decided{Delete: pod0}},
		"13 a pod that is too early": {world{at: a(), pods: pods(gated()), memory: knows(t, a(), gated().Obj(), ""), now: -time.Minute}, decided{Delete: pod0}},
		"15 no time":                 {world{at: a().Schedule("tomorrow")}, decided{Phase: pending, Scheduled: "InvalidSchedule"}},
		"15 no command":              {world{at: a().Command("'")}, decided{Phase: pending, Scheduled: "InvalidCommand"}},
		"15 no container":            {world{at: a().Command("").Template(nil)}, decided{Phase: pending, Scheduled: "InvalidTemplate"}},
		"15 suspended":               {world{at: a().Suspend()}, decided{Phase: pending, Scheduled: "Suspended"}},
		"14 too late":                {world{at: a().StartingDeadline(9), now: 10 * time.Second}, neverStarts("MissedDeadline")},
		"15 before its time":         {world{at: a(), now: -time.Minute}, decided{Phase: pending, Scheduled: "Waiting", Requeue: seconds(-2)}},
		"15 right before its time, without a dry run": {
			world{at: a(), now: -3 * time.Second, answer: at.Answer{Modified: "the name"}}, decided{Phase: pending, Scheduled: "Waiting", Requeue: seconds(-2)},
		},
		"16 a pod of a deleted At": {
			world{at: a(), older: []*corev1.Pod{olderPod}}, decided{Phase: pending, Scheduled: "NameTaken", Requeue: seconds(10)},
		},
		"19 prepare": {world{at: a(), now: -time.Second}, decided{Create: pod0, Phase: pending, Scheduled: "Waiting"}},
		"19 prepare, although the dry run was rejected": {
			world{at: a(), now: -time.Second, memory: knowsBad(t, a())}, decided{Create: pod0, Phase: pending, Scheduled: "Waiting", Ready: "WouldBeRejected"},
		},
		"19 prepare, after another pod had the name": {
			world{at: waited(t, knowsBad(t, a()), olderPod), now: -time.Second, memory: knowsBad(t, a())}, decided{Create: pod0, Phase: pending, Scheduled: "NameTaken"},
		},
		"19 prepared":                          {world{at: a(), now: -time.Second, memory: knows(t, a(), gated().Obj(), ""), pods: pods(gated())}, decided{Phase: pending, Scheduled: "Waiting", Requeue: seconds(0)}},
		"19 prepared, and the cache is behind": {world{at: a(), now: 6 * time.Second, memory: knows(t, a(), gated().Obj(), ""), only: pods(gated())}, runs(decided{Open: pod0, Requeue: seconds(11)})},
		"17 now, by whatever clock":            {world{at: a().Schedule("now"), now: -time.Hour}, decided{Create: pod0}},
		"17 the create of a retry was rejected": {
			world{at: retry(), memory: rejectedAt(t, retry(), time.Minute), now: time.Minute},
			decided{Phase: running, Scheduled: "FailedCreate", Attempts: 1, Requeue: seconds(61)},
		},
		"17 in the second of its starting deadline": {
			world{at: a().StartingDeadline(9), now: 9*time.Second + 900*time.Millisecond}, decided{Create: pod0, Requeue: seconds(10)},
		},
		"17 too late, but its namespace is being deleted": {
			world{at: a().StartingDeadline(9), memory: rejected(t, a(), nil, terminating), now: 10 * time.Second},
			decided{Create: pod0, Phase: pending, Scheduled: "NamespaceTerminating"},
		},
		"17 the last create failed a moment ago": {
			world{at: a(), memory: world{at: a()}.answered(t, at.Result{Failed: errors.New("reset")})}, decided{Create: pod0},
		},
		"19 due when it is created": {world{at: a()}, decided{Create: pod0}},
		"19 prepared and due":       {world{at: a(), memory: knows(t, a(), gated().Obj(), "")}, runs(decided{Open: pod0, Requeue: seconds(5)})},
		"19 prepared, and deleted":  {world{at: a(), memory: knows(t, a(), gated().Obj(), ""), last: gated().Obj()}, decided{Create: pod0}},
		"19 prepared without annotations": {
			world{at: a(), memory: knows(t, a(), own().Gated(0).Obj(), ""), pods: pods(own().Gated(0))},
			runs(decided{Open: pod0}),
		},
		"17 a webhook fails the create at its time": {
			world{at: a(), now: 4 * time.Second, memory: webhookFailed(t, 10)},
			decided{Phase: pending, Scheduled: "RequestFailed", Requeue: seconds(5)},
		},
		"17 a webhook fails the create, 5 s ago": {
			world{at: a(), now: 5 * time.Second, memory: webhookFailed(t, 10)}, decided{Create: pod0, Phase: pending, Scheduled: "RequestFailed"},
		},
		"11 opened a moment ago, and the cache is behind": {
			world{at: runs0(), memory: world{at: runs0(), pods: pods(gated()), now: 4 * time.Second}.answered(t, at.Result{Pod: own().Obj()}), now: 6 * time.Second},
			runs(decided{Requeue: seconds(9)}),
		},
		"11 opened, and the answer was lost": {
			world{at: runs0(), now: time.Minute, memory: openFailed(t, at.Result{Failed: errors.New("reset")}), pods: pods(live())},
			runs(decided{}),
		},
		"11 opened, and opened again": {
			world{at: runs0(), now: time.Minute, memory: openFailed(t, at.Result{Rejected: quota}), pods: pods(live())},
			runs(decided{}),
		},
		"17 deleted behind its gate, and the clock is behind the record": {
			world{at: runs0(), now: -time.Hour, last: gated().Obj()},
			decided{Create: pod0, Phase: running, Scheduled: "Started", Ready: "Running", Attempts: 1},
		},
		"17 the opening was rejected, and then the pod was deleted": {
			world{at: runs0(), memory: openFailed(t, at.Result{Rejected: quota}), last: gated().Obj()},
			decided{Create: pod0, Phase: running, Scheduled: "Started", Ready: "Running", Attempts: 1},
		},
		"19 prepared, and taken from the At": {
			world{at: a(), now: 6 * time.Second, memory: knows(t, a(), gated().Obj(), ""), only: pods(gated().Unowned())},
			decided{Create: pod0},
		},
		"12 too late, and a user has opened it": {
			world{at: a().StartingDeadline(0), pods: pods(live()), now: time.Minute}, recordedAsRun(),
		},
		"19 prepared from an older spec, and gone": {
			world{at: a().Generation(2), memory: knows(t, a(), gated().Obj(), "")},
			decided{Create: pod0},
		},
		"12 a user has opened it": {world{at: a(), pods: pods(live())}, recordedAsRun()},
		"12 a user has opened it, it ended, and it is gone": {
			world{at: a(), memory: knows(t, a(), gated().Obj(), ""), last: ended(0).Obj()}, recordedAsRun(),
		},
		"7 deleted behind its gate and prepared again by another process, and a user has opened that pod": {
			world{at: runs0(), pods: pods(live().UID("again"))}, ends("PodModified"),
		},
		"7 deleted behind its gate and prepared again by another process": {
			world{at: runs0(), pods: pods(gated().UID("again"))}, ends("PodLost"),
		},
		"12 admission has opened it, and the answer to the create was lost": {world{at: a().Cancel(), only: pods(live())}, recordedAsRun()},
		"12 admission has opened and renamed it, and the answer to the create was lost": {
			world{at: a().Cancel(), only: pods(testutil.MakeAtPod(a().Obj(), "renamed").OnNode().Phase(corev1.PodRunning))}, recordedAsRun(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, _, _ := test.next(t)
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMemory_View compares the step of a process whose cache is behind with what it has read, written, or deleted.
func TestMemory_View(t *testing.T) {
	version := func(at *testutil.AtBuilder, version string) *cnatv1alpha1.At {
		o := at.Obj()
		o.ResourceVersion = version
		return o
	}
	var m at.Memory
	m.Conflicted()
	pass := func(answers at.Answers, pods ...*corev1.Pod) (at.View, at.Step) {
		v := m.View(at.Seen{At: version(a(), "1"), Pods: pods}, answers, due, at.Defaults{Image: "busybox"})
		return v, at.Next(&v)
	}

	v, step := pass(at.Answers{At: version(a().Generation(2), "2")})
	m.Recorded(&v, step, nil)
	if v, _ := pass(at.Answers{}); v.At.Generation != 2 {
		t.Errorf("the At that was read does not count: %+v", v.At)
	}
	m.Recorded(&v, step, version(a().Generation(2).Cancel(), "3"))
	if v, step := pass(at.Answers{}); v.At.ResourceVersion != "3" || v.At.Spec.Cancel == nil || step.Create != nil {
		t.Errorf("the At that was written does not count: %+v", v.At)
	}

	m = at.Memory{}
	stray := gated().Obj()
	if _, step := pass(at.Answers{}, stray); !step.Ask.At {
		t.Errorf("the pod of another process is thrown away before the API server has shown that the At does not name it: %+v", step)
	}
	v, step = pass(at.Answers{At: version(a(), "1")}, stray)
	if step.Delete == nil {
		t.Fatalf("the pod of another process is not deleted: %+v", step)
	}
	m.Heard(&v, step, at.Result{}, due)

	prepared := gated().Obj()
	m = knows(t, a(), prepared, "")
	suspended := world{at: a().Suspend(), pods: []*corev1.Pod{prepared}, memory: m}
	_, v, step, _ = suspended.next(t)
	if step.Delete == nil {
		t.Fatalf("the prepared pod of a suspended At is not deleted: %+v", step)
	}
	suspended.memory.Heard(&v, step, at.Result{}, due)
	if _, _, step, _ := suspended.next(t); step.Delete != nil {
		t.Errorf("a pod that was deleted is deleted again, because the cache is behind: %+v", step)
	}
}

// The back-off after the rejected stops of one attempt does not delay the stop of the next one.
func TestMemory_Recorded(t *testing.T) {
	limited, next := a().BackoffLimit(1).ActiveDeadline(61), testutil.MakeAtPod(a().Obj(), pod1)
	w := world{at: limited.RetryRecorded(1, pod0, time.Minute), pods: pods(live())}
	for _, w.now = range []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second} { // The last one until 63 s.
		w.memory = w.answered(t, at.Result{Rejected: quota})
	}
	w.now, w.pods = time.Minute, pods(ended(3))
	w.memory = w.answered(t, at.Result{Pod: next.Gated(2).Obj()})
	w.memory = w.answered(t, at.Result{Pod: next.Obj()})
	w.at, w.now = limited.Recorded(2, pod1, pod1+"-uid"), 61*time.Second
	w.pods = pods(testutil.MakeAtPod(a().Obj(), pod1).OnNode().Phase(corev1.PodRunning))
	if got, _, _, _ := w.next(t); got.Stop != pod1 {
		t.Errorf("the second attempt is not stopped at its deadline: %+v", got)
	}
}

// A pod whose record was not answered is known, although it is gone when the API server shows the record.
func TestMemory_View_recordNotAnswered(t *testing.T) {
	m, others := knows(t, a(), gated().Obj(), ""), gated().UID("other").Obj()
	answers := at.Answers{Pods: map[string]*corev1.Pod{pod0: others}}
	m.View(at.Seen{At: a().Obj()}, answers, due, at.Defaults{})
	answers.At = runs0().Obj()
	answers.At.ResourceVersion = "2"
	v := m.View(at.Seen{At: a().Obj()}, answers, due, at.Defaults{})
	if step := at.Next(&v); at.MakeReport(&v, step).Status.Phase == cnatv1alpha1.PhaseDone {
		t.Errorf("the At ends before the watch could deliver the last state of its pod: %+v", step)
	}
}

// A prepared pod that a user opened is stopped also if the user then removes its owner, so that the cache does not show
// it anymore.
func TestMemory_Recorded_opened(t *testing.T) {
	w := world{at: a(), memory: knows(t, a(), gated().Obj(), ""), pods: pods(own())}
	w.memory = w.answered(t, at.Result{})
	opened := finished
	opened.Result, opened.Reason = cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonPodModified
	w.at, w.now, w.pods, w.only = a().Status(opened), time.Minute, nil, pods(live().Unowned())
	if got, _, _, _ := w.next(t); got.Stop != pod0 {
		t.Errorf("the pod runs on: %+v", got)
	}
	w.now, w.only = w.now+10*time.Second, pods(live())
	w.only[0].OwnerReferences[0].UID = "another"
	if got, _, _, _ := w.next(t); got.Stop != "" || got.Delete != "" {
		t.Errorf("the pod of another controller is stopped: %+v", got)
	}

	planted := live().Obj()
	planted.Labels = nil
	w = world{at: a(), pods: []*corev1.Pod{planted}}
	w.memory = w.answered(t, at.Result{})
	released := planted.DeepCopy()
	released.OwnerReferences = nil
	w.at, w.pods, w.only = a().Status(opened), nil, []*corev1.Pod{released}
	for _, w.now = range []time.Duration{0, time.Minute} {
		if got, _, _, _ := w.next(t); got.Stop != "" || got.Delete != "" {
			t.Errorf("a pod that the operator has not created, and whose user has removed the owner, is stopped: %+v", got)
		}
	}
}

// A stop that an edit withdraws begins again when the pod must be stopped for another reason.
func TestMemory_Recorded_stopWithdrawn(t *testing.T) {
	late := func(deadline int64) *testutil.AtBuilder { return runs0().StartingDeadline(deadline) }
	w := world{at: late(9), now: 10 * time.Second, pods: pods(own().OnNode())}
	w.memory = w.answered(t, at.Result{Rejected: quota})
	w.at, w.now, w.pods = late(3600), 11*time.Second, pods(live())
	w.memory = w.answered(t, at.Result{})
	proxied := own().OnNode().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due.Add(time.Minute))
	w.now, w.pods = 2*time.Minute, pods(proxied)
	w.memory = w.answered(t, at.Result{})
	w.at = a().Status(finished)
	if got, _, _, _ := w.next(t); got.Stop != pod0 || got.Delete != "" {
		t.Errorf("the pod is deleted with its log, and not stopped: %+v", got)
	}
}

// TestNext_uninterrupted has what the rows do about the budget of an At with spec.uninterrupted.
func TestNext_uninterrupted(t *testing.T) {
	late := runs0().Uninterrupted().StartingDeadline(9)
	run := func() *testutil.AtBuilder { return runs0().Uninterrupted() }
	for name, test := range map[string]struct {
		world
		want decided
	}{
		"4 the end is recorded": {world{at: a().Uninterrupted().Status(finished)}, isDone(decided{})},
		"8 succeeded": {
			world{at: run(), pods: pods(ended(0))},
			decided{Budget: pod0, Phase: cnatv1alpha1.PhaseDone, Reason: "Completed", Scheduled: "Started", Attempts: 1},
		},
		"9 not in time": {world{at: late, pods: pods(gated()), now: 10 * time.Second}, runs(decided{Delete: pod0, Requeue: seconds(3600)})},
		"10 recorded":   {world{at: run(), pods: pods(gated())}, runs(decided{Open: pod0, Budget: pod0, Requeue: seconds(3600)})},
		"10 the budget is rejected": {
			world{at: run(), pods: pods(gated()), memory: world{at: run(), pods: pods(gated())}.answered(t, at.Result{Rejected: quota})},
			runs(decided{Ready: "FailedStart", Requeue: seconds(1)}),
		},
		"14 canceled before the start": {world{at: a().Uninterrupted().Cancel()}, neverStarts("Canceled")},
		"19 prepared and due": {
			world{at: a().Uninterrupted(), memory: knows(t, a().Uninterrupted(), gated().Obj(), "")},
			runs(decided{Open: pod0, Budget: pod0, Requeue: seconds(5)}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, _, _ := test.next(t)
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
