// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// decided is the decision of one reconcile and its report, in short.
type decided struct {
	Create, Delete, LookUp, Check string
	Start, DeleteAt               bool
	// Phase and Reason are those of the status after the reconcile. Scheduled and Ready are the reasons of the conditions.
	Phase     cnatv1alpha1.Phase
	Reason    string
	Scheduled string
	Attempts  int32
	// Requeue is when to decide again, counted from testutil.AtDue, or nil if that is not needed.
	Requeue *time.Duration
}

func decide(o at.Observation, outcome at.Outcome) (decided, at.Report) {
	name := func(pod *corev1.Pod) string {
		if pod == nil {
			return ""
		}
		return pod.Name
	}
	plan := at.MakePlan(o)
	d := decided{Create: name(plan.Create), Delete: name(plan.Delete), Check: name(plan.Check), Start: plan.Start, DeleteAt: plan.DeleteAt}
	if len(plan.LookUp) > 0 {
		d.LookUp = plan.LookUp[0]
	}
	report := at.MakeReport(o, plan, outcome)
	if plan.Start && !outcome.Answer.Holds() && outcome.Rejected == nil {
		report = at.StartedStatus(o, plan)
	}
	d.Phase, d.Reason, d.Attempts = report.Status.Phase, report.Status.Reason, report.Status.Attempts
	if c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled); c != nil {
		d.Scheduled = c.Reason
	}
	if !report.RequeueAt.IsZero() {
		d.Requeue = ptr.To(report.RequeueAt.Sub(testutil.AtDue))
	}
	return d, report
}

const pod0, pod1 = "a-pod", "a-pod-1"

var (
	due       = testutil.AtDue
	a         = func() *testutil.AtBuilder { return testutil.MakeAt("a") }
	runs0     = func() *testutil.AtBuilder { return a().Recorded(1, pod0, pod0+"-uid") }
	runs1     = func() *testutil.AtBuilder { return a().BackoffLimit(1).Recorded(2, pod1, pod1+"-uid") }
	ownPod    = func() *testutil.AtPodBuilder { return testutil.MakeAtPod(a().Obj(), pod0) }
	secondPod = func() *testutil.AtPodBuilder {
		return testutil.MakeAtPod(a().Obj(), pod1).Created(due.Add(time.Minute))
	}
	failed = func() *testutil.AtPodBuilder {
		return ownPod().Phase(corev1.PodFailed).Exited("busybox", 3, "Error", "", due.Add(5*time.Second))
	}
	succeeded = func() *testutil.AtPodBuilder {
		return ownPod().Phase(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "", due.Add(5*time.Second))
	}
	running  = func() *testutil.AtPodBuilder { return ownPod().OnNode().Phase(corev1.PodRunning).Runs("busybox") }
	finished = cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultSucceeded, Reason: cnatv1alpha1.ReasonCompleted,
		CompletionTime: ptr.To(metav1.NewTime(due)), PodName: pod0, PodUID: pod0 + "-uid", Attempts: 1, ExitCode: ptr.To[int32](0),
	}
	deadlineExceeded = cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultFailed, Reason: cnatv1alpha1.ReasonDeadlineExceeded,
		CompletionTime: ptr.To(metav1.NewTime(due)), PodName: pod0, PodUID: pod0 + "-uid", Attempts: 1,
	}
)

func in(d time.Duration) *time.Duration { return &d }

// The numbers are those in doc.go.
func TestMakePlan(t *testing.T) {
	const (
		pending, runs, done = cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone
		waiting, started    = cnatv1alpha1.ReasonWaiting, cnatv1alpha1.ReasonStarted
	)
	type obs = at.Observation
	olderPod := testutil.MakeAtPod(a().Obj(), pod0).Obj()
	olderPod.OwnerReferences[0].UID = "older"
	foreign := testutil.MakeAtPod(a().Obj(), pod0).Unowned().Obj()
	rejection := func(until time.Duration) *expectations.Rejection {
		return &expectations.Rejection{Message: "exceeded quota", Until: due.Add(until)}
	}
	begun := at.Known{Begun: true}
	passed := at.Passed(1, due.Add(-time.Minute))
	pods := func(all ...*corev1.Pod) []*corev1.Pod { return all }
	lingers := func(code int32) *testutil.AtPodBuilder {
		return ownPod().OnNode().Phase(corev1.PodRunning).Exited("busybox", code, "Error", "", due).Runs("proxy")
	}

	for name, test := range map[string]struct {
		at      *testutil.AtBuilder
		pods    []*corev1.Pod
		now     time.Duration // since the time of the At
		seen    obs
		outcome at.Outcome
		want    decided
	}{
		"1 an At that is being deleted is left alone": {at: a().Deleting(), now: time.Second, want: decided{}},
		"1 nothing is deleted for it": {
			at: a().Deleting().Status(deadlineExceeded), pods: pods(running().Obj()), want: decided{Phase: done, Reason: "DeadlineExceeded", Attempts: 1},
		},
		"1 no pod is created for it": {at: a().Deleting().Begun(1), now: time.Second, want: decided{Phase: pending, Attempts: 1}},
		"1 no retry is made for it": {
			at: a().Deleting().BackoffLimit(1).RetryRecorded(1, pod0, 0), now: time.Hour, want: decided{Phase: runs, Attempts: 1},
		},
		"20 the end of its pod is recorded": {
			at: runs0().Deleting().BackoffLimit(1), pods: pods(failed().Obj()), now: time.Hour,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started, Attempts: 1},
		},

		"2 a finished At is left alone": {at: a().Status(finished), now: time.Hour, want: decided{Phase: done, Reason: "Completed", Attempts: 1}},
		"2 it waits for its ttl": {
			at: a().Status(finished).TTL(60), now: 59 * time.Second, want: decided{Phase: done, Reason: "Completed", Attempts: 1, Requeue: in(time.Minute)},
		},
		"2 a phase that was set back by hand is corrected": {
			at: a().Status(with(finished, func(s *cnatv1alpha1.AtStatus) { s.Phase = pending })), now: time.Hour,
			want: decided{Phase: done, Reason: "Completed", Attempts: 1},
		},
		"2 a live pod is deleted": {
			at: a().Status(deadlineExceeded), pods: pods(running().Obj()), want: decided{Delete: pod0, Phase: done, Reason: "DeadlineExceeded", Attempts: 1},
		},
		"2 but not twice": {
			at: a().Status(deadlineExceeded), pods: pods(running().Obj()), seen: obs{Deleted: sets.New(types.UID(pod0 + "-uid"))},
			want: decided{Phase: done, Reason: "DeadlineExceeded", Attempts: 1},
		},
		"2 nor before the cache shows it": {
			at: a().Status(deadlineExceeded), pods: pods(running().Obj()), seen: obs{Unseen: sets.New(types.UID(pod0 + "-uid"))},
			want: decided{Phase: done, Reason: "DeadlineExceeded", Attempts: 1},
		},
		"2 nor if it is terminating": {
			at: a().Status(deadlineExceeded), pods: pods(running().Terminating().Obj()), want: decided{Phase: done, Reason: "DeadlineExceeded", Attempts: 1},
		},
		"2 nor if it has ended": {
			at: a().Status(deadlineExceeded), pods: pods(failed().Obj()), want: decided{Phase: done, Reason: "DeadlineExceeded", Attempts: 1},
		},
		"2 a pod whose exit code is recorded is not deleted while the cache shows that it runs": {
			at: a().Status(finished), pods: pods(running().Obj()), now: time.Hour, want: decided{Phase: done, Reason: "Completed", Attempts: 1},
		},
		"2 it is deleted if other containers run on": {
			at: a().Status(finished), pods: pods(lingers(0).Obj()), now: time.Hour, want: decided{Delete: pod0, Phase: done, Reason: "Completed", Attempts: 1},
		},
		"3 an At whose ttl is over is deleted, with its pod": {
			at: a().Status(deadlineExceeded).TTL(60), pods: pods(running().Obj()), now: time.Minute,
			want: decided{Delete: pod0, DeleteAt: true, Phase: done, Reason: "DeadlineExceeded", Attempts: 1},
		},
		"3 a ttl of 0 deletes the At after the reconcile that finishes it": {
			at: runs0().TTL(0), pods: pods(succeeded().Obj()), now: 9 * time.Second,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started, Attempts: 1, Requeue: in(9 * time.Second)},
		},

		"4 a pod whose containers can be restarted": {
			at: runs0(), pods: pods(restarting(running().Obj())), now: time.Second,
			want: decided{Phase: done, Reason: "PodModified", Scheduled: started, Attempts: 1, Requeue: in(time.Second)},
		},
		"4 a pod without the container of the command": {
			at: runs0(), pods: pods(renamed(running().Obj())), now: time.Second,
			want: decided{Phase: done, Reason: "PodModified", Scheduled: started, Attempts: 1, Requeue: in(time.Second)},
		},
		"4 a pod of the At with another name": {
			at: a().Begun(1), pods: pods(testutil.MakeAtPod(a().Obj(), "x7k2p").Obj()), now: time.Second,
			want: decided{Phase: done, Reason: "PodModified", Scheduled: "PodModified", Attempts: 1, Requeue: in(time.Second)},
		},
		"4 also if it has ended": {
			at: a().Begun(1), pods: pods(testutil.MakeAtPod(a().Obj(), "x7k2p").Phase(corev1.PodFailed).Obj()), now: time.Second,
			want: decided{Phase: done, Reason: "PodModified", Scheduled: "PodModified", Attempts: 1},
		},
		"4 a pod that admission changed in the response to its create": {
			at: a().Begun(1), now: time.Second, seen: obs{Known: at.Known{Pod: ownPod().Unowned().Obj(), Changed: "the controller reference of pod a-pod"}},
			want: decided{Phase: done, Reason: "PodModified", Scheduled: started, Attempts: 1, Requeue: in(time.Second)},
		},
		"2 it is deleted after that is recorded": {
			at:   a().Status(with(deadlineExceeded, func(s *cnatv1alpha1.AtStatus) { s.Reason = cnatv1alpha1.ReasonPodModified })),
			seen: obs{Known: at.Known{Pod: ownPod().Unowned().Obj(), Changed: "the controller reference of pod a-pod"}},
			want: decided{Delete: pod0, Phase: done, Reason: "PodModified", Attempts: 1},
		},
		"2 the At controlled the changed pod, and the cache does not show it: a user has taken it": {
			at:   a().Status(with(deadlineExceeded, func(s *cnatv1alpha1.AtStatus) { s.Reason = cnatv1alpha1.ReasonPodModified })),
			seen: obs{Known: at.Known{Pod: ownPod().Obj(), Changed: "pod a-pod so that its containers can be restarted"}},
			want: decided{Phase: done, Reason: "PodModified", Attempts: 1},
		},
		"24 before the start, a pod with another name means nothing": {
			at: a(), pods: pods(testutil.MakeAtPod(a().Obj(), "x7k2p").Obj()), now: -time.Second, seen: obs{Check: passed},
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},

		"5 a cancel in a back-off": {
			at: a().Cancel().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: time.Second,
			want: decided{Phase: done, Reason: "Canceled", Scheduled: started, Attempts: 1},
		},
		"6 the deadline in a back-off": {
			at: a().BackoffLimit(1).ActiveDeadline(12).RetryRecorded(1, pod0, 15*time.Second), now: 12 * time.Second,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Attempts: 1},
		},
		"7 the back-off, whatever becomes of the pod": {
			at: a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: 14 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(15 * time.Second)},
		},
		"7 other containers are stopped": {
			at: a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), pods: pods(lingers(3).Obj()), now: 14 * time.Second,
			want: decided{Delete: pod0, Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(15 * time.Second)},
		},
		"7 the deadline comes first": {
			at: a().BackoffLimit(1).ActiveDeadline(12).RetryRecorded(1, pod0, 15*time.Second), now: 6 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(12 * time.Second)},
		},
		"8 the next attempt starts after a check of its pod": {
			at: a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: 15 * time.Second, seen: obs{Check: passed},
			want: decided{Start: true, Check: pod1, Phase: runs, Scheduled: started, Attempts: 2},
		},
		"8 a rejected retry keeps its time": {
			at: a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: time.Minute,
			outcome: at.Outcome{Rejected: errors.New("exceeded quota"), Answer: &at.Answer{Rejection: rejection(0)}},
			want:    decided{Start: true, Check: pod1, Phase: runs, Scheduled: "FailedCreate", Attempts: 1},
		},
		"13 a retryTime without retries left repeats nothing": {
			at: a().RetryRecorded(1, pod0, 0), now: time.Hour, seen: lookedUp(pod0, nil),
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started, Attempts: 1},
		},
		"24 a retryTime without attempts repeats nothing": {
			at: a().Status(cnatv1alpha1.AtStatus{PodUID: "forged", RetryTime: ptr.To(metav1.NewTime(due))}), now: -time.Second, seen: obs{Check: passed},
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},

		"9 no create before the back-off is over": {
			at: a().Begun(1), now: time.Second, seen: obs{Rejection: rejection(9 * time.Second)},
			want: decided{Phase: pending, Scheduled: "FailedCreate", Attempts: 1, Requeue: in(9 * time.Second)},
		},
		"9 the starting deadline comes first": {
			at: a().Begun(1).StartingDeadline(3), now: time.Second, seen: obs{Rejection: rejection(9 * time.Second)},
			want: decided{Phase: pending, Scheduled: "FailedCreate", Attempts: 1, Requeue: in(4 * time.Second)},
		},
		"10 a cancel after the start is decided by the API server": {at: a().Cancel().Begun(1), now: time.Second, want: decided{LookUp: pod0, Phase: pending, Attempts: 1}},
		"10 a canceled attempt without a pod": {
			at: a().Cancel().Begun(1), now: time.Second, seen: lookedUp(pod0, nil), want: decided{Phase: done, Reason: "Canceled", Scheduled: "Canceled", Attempts: 1},
		},
		"14 a canceled attempt whose pod exists": {
			at: a().Cancel().Begun(1), pods: pods(running().Obj()), now: time.Second, want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(time.Second)},
		},
		"10 an attempt that began and has no pod at the starting deadline may have run": {
			at: a().StartingDeadline(10).Begun(1), now: 11 * time.Second, seen: lookedUp(pod0, nil),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: "PodLost", Attempts: 1},
		},
		"10 a retry that began and has no pod at the deadline may have run": {
			at: a().BackoffLimit(1).ActiveDeadline(60).Begun(2), now: time.Minute, seen: lookedUp(pod1, nil),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: "PodLost", Attempts: 2},
		},
		"11 an attempt that this process has just begun": {
			at: a().Begun(1), seen: obs{Known: begun}, want: decided{Create: pod0, Phase: pending, Scheduled: waiting, Attempts: 1},
		},
		"11 an attempt that another process has begun is looked up first": {at: a().Begun(1), want: decided{LookUp: pod0, Phase: pending, Attempts: 1}},
		"11 then its pod is created": {
			at: a().Begun(1), seen: lookedUp(pod0, nil), want: decided{Create: pod0, Phase: pending, Scheduled: waiting, Attempts: 1},
		},
		"11 suspend has no effect after the start": {
			at: a().Suspend().Begun(1), seen: obs{Known: begun}, want: decided{Create: pod0, Phase: pending, Scheduled: waiting, Attempts: 1},
		},
		"11 an unusable spec has no effect after the start": {
			at: a().Schedule("now").Begun(1), now: time.Hour, seen: obs{Known: begun}, want: decided{Create: pod0, Phase: pending, Scheduled: waiting, Attempts: 1},
		},

		"12 the API server is asked for a pod that is gone": {at: runs0(), now: time.Second, want: decided{LookUp: pod0, Phase: runs, Attempts: 1}},
		"12 the last state of a pod that was seen may still come": {
			at: runs0(), now: time.Second, seen: missing(ownPod().Obj(), time.Second), want: decided{Phase: runs, Attempts: 1, Requeue: in(6 * time.Second)},
		},
		"13 a run whose pod is gone is not repeated": {
			at: runs0().BackoffLimit(3), now: time.Second, seen: lookedUp(pod0, nil), want: decided{Phase: done, Reason: "PodLost", Scheduled: started, Attempts: 1},
		},
		"13 nor one whose last state never came": {
			at: runs0().BackoffLimit(3), now: 6 * time.Second, seen: missing(ownPod().Obj(), time.Second),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: started, Attempts: 1},
		},
		"13 nor one whose owner reference was removed": {
			at: runs0().BackoffLimit(3), now: time.Second, seen: lookedUp(pod0, ownPod().Unowned().Obj()),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: started, Attempts: 1},
		},
		"13 a canceled run whose pod is gone was canceled": {
			at: runs0().Cancel(), now: time.Second, seen: lookedUp(pod0, nil), want: decided{Phase: done, Reason: "Canceled", Scheduled: started, Attempts: 1},
		},
		"13 a run whose pod is gone at its deadline took too long": {
			at: runs0().ActiveDeadline(60), now: time.Minute, seen: lookedUp(pod0, nil), want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Attempts: 1},
		},
		"16 an exit code that was recorded stays": {
			at: runs0().Status(with(runs0().Obj().Status, func(s *cnatv1alpha1.AtStatus) { s.ExitCode = ptr.To[int32](0) })), now: time.Second, seen: lookedUp(pod0, nil),
			want: decided{Phase: done, Reason: "Completed", Scheduled: started, Attempts: 1},
		},
		"16 also if its pod is evicted afterward": {
			at: runs0().Status(with(runs0().Obj().Status, func(s *cnatv1alpha1.AtStatus) { s.ExitCode = ptr.To[int32](0) })), now: time.Second,
			pods: pods(ownPod().Phase(corev1.PodFailed).Because("Evicted", "").Exited("busybox", 137, "ContainerStatusUnknown", "", due).Obj()),
			want: decided{Phase: done, Reason: "Completed", Scheduled: started, Attempts: 1},
		},
		"20 the last state of a deleted pod says how it ended": {
			at: runs0(), now: time.Minute, seen: last(failed().Obj()), want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started, Attempts: 1},
		},
		"20 a pod that was deleted before it had a node did not run": {
			at: runs0(), now: time.Minute, seen: last(ownPod().Unschedulable().Obj()), want: decided{Phase: done, Reason: "NotStarted", Scheduled: started, Attempts: 1},
		},
		"19 it is retried": {
			at: runs0().BackoffLimit(1).RetryExitCodes(75), now: time.Minute, seen: last(ownPod().Unschedulable().Obj()),
			want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(70 * time.Second)},
		},
		"13 a pod that was deleted on a node may have run": {
			at: runs0().BackoffLimit(1), now: time.Minute, seen: last(ownPod().OnNode().Obj()), want: decided{Phase: done, Reason: "PodLost", Scheduled: started, Attempts: 1},
		},

		"14 a canceled run is stopped": {
			at: runs0().Cancel(), pods: pods(running().Obj()), now: time.Second, want: decided{Delete: pod0, Phase: runs, Scheduled: started, Attempts: 1},
		},
		"14 but not twice": {
			at: runs0().Cancel(), pods: pods(running().Terminating().Obj()), now: time.Second, want: decided{Phase: runs, Scheduled: started, Attempts: 1},
		},
		"14 a pod without a node is deleted at the deadline, and the At goes on until it has ended": {
			at: runs0().ActiveDeadline(60), pods: pods(ownPod().Obj()), now: time.Minute, want: decided{Delete: pod0, Phase: runs, Scheduled: started, Attempts: 1},
		},
		"14 a pod on a node that the kubelet has not stopped is deleted, whatever its phase is": {
			at: runs0().ActiveDeadline(60), pods: pods(ownPod().OnNode().Waiting("busybox", "ImagePullBackOff").Obj()), now: 100 * time.Second,
			want: decided{Delete: pod0, Phase: runs, Scheduled: started, Attempts: 1},
		},
		"14 a pod that terminates after the deadline ends the At later": {
			at: runs0().ActiveDeadline(60), pods: pods(running().Terminating().Obj()), now: time.Hour, want: decided{Phase: runs, Scheduled: started, Attempts: 1},
		},
		"14 the deadline counts from the first pod": {
			at: runs1().ActiveDeadline(60), pods: pods(secondPod().Obj(), failed().Obj()), now: time.Minute,
			want: decided{Delete: pod1, Phase: runs, Scheduled: started, Attempts: 2},
		},
		"15 a run without a deadline takes its time": {
			at: runs0(), pods: pods(running().Obj()), now: time.Hour, want: decided{Phase: runs, Scheduled: started, Attempts: 1},
		},
		"15 a pod that is found under its name is the run": {
			at: a().Begun(1), pods: pods(running().Obj()), now: time.Hour, want: decided{Phase: runs, Scheduled: started, Attempts: 1},
		},
		"15 a pod that a user deletes is live until it is gone": {
			at: runs0(), pods: pods(running().Terminating().Obj()), now: time.Hour, want: decided{Phase: runs, Scheduled: started, Attempts: 1},
		},
		"15 a pod without a node has until the deadline": {
			at: runs0().ActiveDeadline(60), pods: pods(ownPod().Obj()), now: 59 * time.Second, want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(time.Minute)},
		},
		"15 a pod on a node has its grace period and 10 s more, for the kubelet to stop it": {
			at: runs0().ActiveDeadline(60), pods: pods(running().Obj()), now: 99 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(100 * time.Second)},
		},
		"15 the grace period is that of the template": {
			at:   runs0().ActiveDeadline(60).Template(func(t *corev1.PodTemplateSpec) { t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5) }, "busybox"),
			pods: pods(running().Obj()), now: time.Minute, want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(75 * time.Second)},
		},
		"15 a deadline of 292 years and more does not overflow": {
			at: runs0().ActiveDeadline(1 << 62), pods: pods(ownPod().Obj()), now: time.Hour,
			want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(9223372035 * time.Second)},
		},
		"15 other containers have 30 s to end after the command": {
			at: runs0(), pods: pods(lingers(0).Obj()), now: 29 * time.Second, want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(30 * time.Second)},
		},

		"16 then the result is the exit code, and the pod is deleted": {
			at: runs0(), pods: pods(lingers(0).Obj()), now: 30 * time.Second,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started, Attempts: 1, Requeue: in(30 * time.Second)},
		},
		"16 a pod that succeeded, however late that is seen": {
			at: runs0().ActiveDeadline(3), pods: pods(succeeded().Obj()), now: time.Minute, want: decided{Phase: done, Reason: "Completed", Scheduled: started, Attempts: 1},
		},
		"16 a command that exited with 0 before the cancel succeeded": {
			at: runs0().Cancel(), pods: pods(lingers(0).Obj()), now: time.Second,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started, Attempts: 1, Requeue: in(time.Second)},
		},
		"17 a command that exits with 0 in the second in which it is stopped was canceled": {
			at: runs0().Cancel(), pods: pods(lingers(0).Terminating().Obj()), now: time.Second, want: decided{Phase: done, Reason: "Canceled", Scheduled: started, Attempts: 1},
		},
		"17 a canceled run ends with its pod": {
			at: runs0().Cancel(), pods: pods(running().Terminating().Phase(corev1.PodFailed).Obj()), now: time.Second,
			want: decided{Phase: done, Reason: "Canceled", Scheduled: started, Attempts: 1},
		},
		"17 a canceled At is not retried": {
			at: runs0().Cancel().BackoffLimit(1), pods: pods(failed().Obj()), now: time.Minute, want: decided{Phase: done, Reason: "Canceled", Scheduled: started, Attempts: 1},
		},
		"20 a run that had failed before the cancel has failed": {
			at: runs0().Cancel(), pods: pods(failed().Obj()), now: time.Minute, want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started, Attempts: 1},
		},
		"18 the kubelet enforced the deadline": {
			at: runs0().ActiveDeadline(60), pods: pods(failed().Because("DeadlineExceeded", "").Obj()), now: 61 * time.Second,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Attempts: 1},
		},
		"18 the operator enforced it, and the command exited with 0": {
			at: runs0().ActiveDeadline(60), pods: pods(lingers(0).Terminating().Obj()), now: 101 * time.Second,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Attempts: 1},
		},
		"18 no retry after the deadline": {
			at: runs0().BackoffLimit(1).ActiveDeadline(12), pods: pods(failed().Obj()), now: 12 * time.Second,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Attempts: 1},
		},
		"20 a failure before the deadline, however late that is seen": {
			at: runs0().ActiveDeadline(60), pods: pods(failed().Obj()), now: time.Hour, want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started, Attempts: 1},
		},
		"19 a retry is due 10 s after its failure is recorded, whatever the clock of the node says": {
			at: runs0().BackoffLimit(1), pods: pods(failed().Obj()), now: time.Hour,
			want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(time.Hour + 10*time.Second)},
		},
		"19 the second after 20 s": {
			at: runs1().BackoffLimit(2), pods: pods(failed().Obj(), secondPod().Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due).Obj()), now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Attempts: 2, Requeue: in(80 * time.Second)},
		},
		"19 an exit code of retryExitCodes": {
			at: runs0().BackoffLimit(1).RetryExitCodes(75, 3), pods: pods(failed().Obj()), now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(70 * time.Second)},
		},
		"20 an exit code that is not one of retryExitCodes": {
			at: runs0().BackoffLimit(1).RetryExitCodes(75), pods: pods(failed().Obj()), now: time.Minute,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started, Attempts: 1},
		},
		"19 a command that did not run because an init container failed": {
			at: runs0().BackoffLimit(1).RetryExitCodes(75), now: time.Minute,
			pods: pods(ownPod().OnNode().Phase(corev1.PodFailed).InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj()),
			want: decided{Phase: runs, Scheduled: started, Attempts: 1, Requeue: in(70 * time.Second)},
		},
		"20 what is not known is not retried": {
			at: runs0().BackoffLimit(1), pods: pods(ownPod().Phase(corev1.PodFailed).Because("Evicted", "").Waiting("busybox", "ContainerCreating").Obj()), now: time.Minute,
			want: decided{Phase: done, Reason: "Evicted", Scheduled: started, Attempts: 1},
		},
		"20 without backoffLimit a failure is the end": {
			at: runs0(), pods: pods(failed().Obj()), now: time.Hour, want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started, Attempts: 1},
		},
		"20 a limit over 10 is taken for 10": {
			at: a().BackoffLimit(99).Recorded(11, "a-pod-10", "a-pod-10-uid"), now: time.Hour,
			pods: pods(testutil.MakeAtPod(a().Obj(), "a-pod-10").Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due).Obj()),
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started, Attempts: 11},
		},

		"21 an At that is canceled before its start never runs": {at: a().Cancel(), now: -time.Hour, want: decided{Phase: done, Reason: "Canceled", Scheduled: "Canceled"}},
		"21 cancel takes precedence over suspend and over an unusable spec": {
			at: a().Cancel().Suspend().Command(" "), now: time.Second, want: decided{Phase: done, Reason: "Canceled", Scheduled: "Canceled"},
		},
		"22 an invalid schedule waits for an edit": {at: a().Schedule("tomorrow"), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidSchedule"}},
		"22 an invalid command":                    {at: a().Command("echo '"), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidCommand"}},
		"22 an invalid template":                   {at: a().Template(nil), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidTemplate"}},
		"22 unusable takes precedence over suspend and over the time": {
			at: a().Command(" ").Suspend(), now: -time.Hour, want: decided{Phase: pending, Scheduled: "InvalidCommand"},
		},
		"23 a suspended At is checked": {at: a().Suspend(), now: time.Hour, want: decided{Check: pod0, Phase: pending, Scheduled: "Suspended"}},
		"23 once":                      {at: a().Suspend(), now: 24 * time.Hour, seen: obs{Check: passed}, want: decided{Phase: pending, Scheduled: "Suspended"}},
		"23 an At that is suspended past its starting deadline can still be rescheduled": {
			at: a().Suspend().StartingDeadline(10), now: time.Hour, seen: obs{Check: passed}, want: decided{Phase: pending, Scheduled: "Suspended"},
		},
		"24 a new At is checked": {at: a(), now: -time.Nanosecond, want: decided{Check: pod0, Phase: pending, Scheduled: waiting, Requeue: in(0)}},
		"24 it is not checked again within an hour": {
			at: a(), now: -time.Nanosecond, seen: obs{Check: at.Passed(1, due.Add(-59*time.Minute))}, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"24 nor before its last half hour": {
			at: a(), now: -31 * time.Minute, seen: obs{Check: at.Passed(1, due.Add(-24*time.Hour))}, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"24 then it is checked again": {
			at: a(), now: -30 * time.Minute, seen: obs{Check: at.Passed(1, due.Add(-24*time.Hour))}, want: decided{Check: pod0, Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"24 a fraction of a second before": {
			at: a().Schedule("2030-01-30T10:02:00.5Z"), now: 499 * time.Millisecond, seen: obs{Check: passed},
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(500 * time.Millisecond)},
		},
		"24 a phase that was set forward by hand starts nothing": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: runs}), now: -time.Second, seen: obs{Check: passed},
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"24 an end that was forged without a record ends nothing": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: done, Result: "Succeeded", Reason: "Completed"}), now: -time.Second, seen: obs{Check: passed},
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"25 later than its starting deadline": {
			at: a().StartingDeadline(10).TTL(60), now: 11 * time.Second,
			want: decided{Phase: done, Reason: "MissedDeadline", Scheduled: "MissedDeadline", Requeue: in(71 * time.Second)},
		},
		"27 an At in a namespace that is being deleted does not miss its deadline": {
			at: a().StartingDeadline(10), now: time.Hour, seen: obs{Rejection: &expectations.Rejection{NamespaceTerminating: true, Message: "gone", Until: due.Add(2 * time.Hour)}},
			want: decided{Phase: pending, Scheduled: "NamespaceTerminating", Requeue: in(2 * time.Hour)},
		},
		"26 a pod of an older At of this name": {
			at: a(), now: time.Second, seen: obs{Older: olderPod}, want: decided{Phase: pending, Scheduled: "NameTaken", Requeue: in(11 * time.Second)},
		},
		"26 within the starting deadline": {
			at: a().StartingDeadline(5), now: time.Second, seen: obs{Older: olderPod}, want: decided{Phase: pending, Scheduled: "NameTaken", Requeue: in(6 * time.Second)},
		},
		"27 at its time": {at: a(), seen: obs{Check: passed}, want: decided{Start: true, Phase: pending, Scheduled: waiting, Attempts: 1}},
		"27 a check that is an hour old is repeated": {
			at: a(), seen: obs{Check: at.Passed(1, due.Add(-time.Hour))}, want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: waiting, Attempts: 1},
		},
		"27 now is checked first": {at: a().Schedule("now"), now: -2 * time.Minute, want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: waiting, Attempts: 1}},
		"27 years late":           {at: a(), now: 10 * 365 * 24 * time.Hour, want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: waiting, Attempts: 1}},
		"27 within its starting deadline": {
			at: a().StartingDeadline(10), now: 10*time.Second + 999*time.Millisecond, want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: waiting, Attempts: 1},
		},
		"27 a starting deadline of 0 leaves the second of the time": {
			at: a().StartingDeadline(0), now: 5 * time.Millisecond, want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: waiting, Attempts: 1},
		},
		"27 an API server that says nothing about the pod does not hold the start": {
			at: a(), outcome: at.Outcome{Answer: &at.Answer{Unknown: "no endpoints"}}, want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: waiting, Attempts: 1},
		},

		"28 admission would change the identity of the pod": {
			at: a(), outcome: at.Outcome{Answer: &at.Answer{Changed: "the name of pod a-pod to x"}},
			want: decided{Start: true, Check: pod0, Phase: done, Reason: "PodModified", Scheduled: "PodModified"},
		},
		"28 the name of the changed pod is taken": {
			at: a().Begun(1), seen: obs{Known: begun}, outcome: at.Outcome{Changed: "the name of pod a-pod to x"},
			want: decided{Create: pod0, Phase: done, Reason: "PodModified", Scheduled: "PodModified", Attempts: 1},
		},
		"29 a pod of an older At has the name": {
			at: a().Begun(1), now: time.Second, seen: obs{Known: begun}, outcome: at.Outcome{Conflicting: olderPod},
			want: decided{Create: pod0, Phase: pending, Scheduled: "NameTaken", Attempts: 1, Requeue: in(11 * time.Second)},
		},
		"30 a foreign pod has the name": {
			at: a().Begun(1), now: time.Second, seen: obs{Known: begun}, outcome: at.Outcome{Conflicting: foreign},
			want: decided{Create: pod0, Phase: done, Reason: "PodNameConflict", Scheduled: "PodNameConflict", Attempts: 1},
		},
		"31 a check that is rejected starts nothing": {
			at: a(), outcome: at.Outcome{Rejected: errors.New("exceeded quota"), Answer: &at.Answer{Rejection: rejection(0)}},
			want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: "FailedCreate"},
		},
		"31 no start before the back-off is over": {
			at: a(), now: time.Second, seen: obs{Rejection: rejection(9 * time.Second)}, want: decided{Phase: pending, Scheduled: "FailedCreate", Requeue: in(9 * time.Second)},
		},
		"31 a rejected create": {
			at: a().Begun(1), seen: obs{Known: begun}, outcome: at.Outcome{Rejected: errors.New("exceeded quota")},
			want: decided{Create: pod0, Phase: pending, Scheduled: "FailedCreate", Attempts: 1},
		},
		"31 an invalid pod without a template": {
			at: a(), outcome: at.Outcome{Rejected: invalidPod, Answer: &at.Answer{Rejection: expectations.NewRejection(invalidPod)}},
			want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: "FailedCreate"},
		},
		"31 an invalid pod of a template": {
			at: a().Template(nil, "c"), outcome: at.Outcome{Rejected: invalidPod, Answer: &at.Answer{Rejection: expectations.NewRejection(invalidPod)}},
			want: decided{Start: true, Check: pod0, Phase: pending, Scheduled: "InvalidTemplate"},
		},
		"32 a create that fails": {
			at: a().Begun(1), seen: obs{Known: begun}, outcome: at.Outcome{CreateError: errors.New("no endpoints")},
			want: decided{Create: pod0, Phase: pending, Scheduled: "FailedCreate", Attempts: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.seen
			o.At, o.Pods, o.Now = test.at.Obj(), test.pods, due.Add(test.now)
			got, report := decide(o, test.outcome)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if s := &report.Status; atrun.IsDone(s) != (got.Phase == done) || got.Phase == done && s.RetryTime != nil {
				t.Errorf("phase %s, IsDone %t, retryTime %v", got.Phase, atrun.IsDone(s), s.RetryTime)
			}
		})
	}
}

// invalidPod is an error of the validation of the API server.
var invalidPod = apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, pod0, field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")})

// lookedUp is an observation after the API server was asked for a pod.
func lookedUp(name string, pod *corev1.Pod) at.Observation {
	return at.Observation{LookedUp: map[string]*corev1.Pod{name: pod}}
}

// missing is an observation in which a pod that this process has seen is missing since a time, and the API server does not have it.
func missing(pod *corev1.Pod, since time.Duration) at.Observation {
	o := lookedUp(pod.Name, nil)
	o.Known = at.Known{Pod: pod, MissingSince: due.Add(since)}
	return o
}

// last is an observation after the watch delivered the last state of the first pod.
func last(pod *corev1.Pod) at.Observation {
	o := missing(pod, 0)
	o.Known.LastState = pod
	return o
}

func restarting(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	return pod
}

func renamed(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Containers = []corev1.Container{{Name: "renamed"}}
	return pod
}

func with(s cnatv1alpha1.AtStatus, edit func(*cnatv1alpha1.AtStatus)) cnatv1alpha1.AtStatus {
	edit(&s)
	return s
}
