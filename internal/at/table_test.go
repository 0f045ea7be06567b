// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// decided is what one reconcile decides and says, in short.
type decided struct {
	Create, Delete, Lookup string
	DeleteAt               bool
	// Phase, Reason and Scheduled are of the status after the pass; Scheduled is the reason of the condition.
	Phase     cnatv1alpha1.Phase
	Reason    string
	Scheduled string
	// Requeue is when to look again, counted from testutil.AtDue; nil: not needed.
	Requeue *time.Duration
}

// decide carries a plan out on an API server that takes everything, unless outcome says what it does instead. What is
// reported about a pod that was made is what the next reconcile reports.
func decide(o at.Observation, outcome *at.Outcome) (decided, at.Report) {
	o = at.Decided(o)
	plan := at.MakePlan(o)
	d := decided{Lookup: at.Lookup(o), DeleteAt: plan.DeleteAt}
	var done at.Outcome
	if plan.Create != nil {
		d.Create = plan.Create.Name
	}
	switch {
	case outcome != nil:
		done = *outcome
	case plan.Create != nil:
		pod := plan.Create.DeepCopy()
		pod.UID = types.UID(plan.Create.Name + "-uid")
		pod.CreationTimestamp = metav1.NewTime(o.Now)
		pod.Status.Phase = corev1.PodPending
		o.Pods = append(slices.Clone(o.Pods), pod)
		o = at.Decided(o)
	}
	if plan.Delete != nil {
		d.Delete = plan.Delete.Name
	}
	report := at.MakeReport(o, done)
	d.Phase, d.Reason = report.Status.Phase, report.Status.Reason
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
	running  = func() *testutil.AtPodBuilder { return ownPod().Phase(corev1.PodRunning).Runs("busybox") }
	finished = cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultSucceeded, Reason: cnatv1alpha1.ReasonCompleted,
		CompletionTime: ptr.To(metav1.NewTime(due)), PodName: pod0, PodUID: pod0 + "-uid", Attempts: 1,
	}
	deadlineExceeded = cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultFailed, Reason: cnatv1alpha1.ReasonDeadlineExceeded,
		CompletionTime: ptr.To(metav1.NewTime(due)), PodName: pod0, PodUID: pod0 + "-uid", Attempts: 1,
	}
)

func in(d time.Duration) *time.Duration { return &d }

// The numbers are those of the table in doc.go.
func TestTheStateTable(t *testing.T) {
	const (
		pending, runs, done = cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone
		waiting, started    = cnatv1alpha1.ReasonWaiting, cnatv1alpha1.ReasonStarted
	)
	type obs = at.Observation
	olderPod := testutil.MakeAtPod(a().Obj(), pod0).Obj()
	olderPod.OwnerReferences[0].UID = "older"
	otherKind := olderPod.DeepCopy()
	otherKind.OwnerReferences[0].APIVersion = "batch/v1"
	otherAt := olderPod.DeepCopy()
	otherAt.OwnerReferences[0].Name = "b"
	foreign := testutil.MakeAtPod(a().Obj(), pod0).Unowned().Obj()
	foreign1 := testutil.MakeAtPod(a().Obj(), pod1).Unowned().Obj()
	rejection := func(until time.Duration) *expectations.Rejection {
		return &expectations.Rejection{Message: "exceeded quota", Until: due.Add(until)}
	}

	for name, test := range map[string]struct {
		at      *testutil.AtBuilder
		pods    []*corev1.Pod
		now     time.Duration // from the time of the At
		seen    obs
		outcome *at.Outcome
		want    decided
	}{
		"1 an At that is being deleted is left alone": {
			at: a().Deleting(), now: time.Second, want: decided{},
		},
		"1 nothing is deleted for an At that is being deleted": {
			at: a().Deleting().Status(deadlineExceeded), pods: []*corev1.Pod{running().Obj()}, now: time.Hour, want: decided{Phase: done, Reason: "DeadlineExceeded"},
		},
		"2 a finished At is left alone": {
			at: a().Status(finished), now: time.Hour, want: decided{Phase: done, Reason: "Completed"},
		},
		"2 a finished At whose pod was deleted later is left alone": {
			at: a().Status(finished), pods: nil, now: time.Hour, want: decided{Phase: done, Reason: "Completed"},
		},
		"2 a finished At waits for its ttl": {
			at: a().Status(finished).TTL(60), now: 59 * time.Second, want: decided{Phase: done, Reason: "Completed", Requeue: in(time.Minute)},
		},
		"2 a finished At whose phase was set back by hand stays finished": {
			at: a().Status(with(finished, func(s *cnatv1alpha1.AtStatus) { s.Phase = pending })), now: time.Hour,
			want: decided{Phase: done, Reason: "Completed"},
		},
		"2 the pod of an At that ended for another reason is left alone": {
			at: a().Status(finished), pods: []*corev1.Pod{running().Obj()}, now: time.Hour, want: decided{Phase: done, Reason: "Completed"},
		},
		"3 an At whose ttl is over is deleted": {
			at: a().Status(finished).TTL(60), now: time.Minute, want: decided{DeleteAt: true, Phase: done, Reason: "Completed"},
		},
		"3 a ttl of 0 deletes the At in the pass after the one that finishes it": {
			at: a().TTL(0), pods: []*corev1.Pod{succeeded().Obj()}, now: 9 * time.Second,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started, Requeue: in(9 * time.Second)},
		},
		"4 a pod whose time is over and that is still there is deleted after the end too": {
			at: a().Status(deadlineExceeded), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Delete: pod0, Phase: done, Reason: "DeadlineExceeded"},
		},
		"4 but not twice": {
			at: a().Status(deadlineExceeded), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			seen: obs{Deleted: sets.New(types.UID(pod0 + "-uid"))}, want: decided{Phase: done, Reason: "DeadlineExceeded"},
		},
		"4 nor before the cache shows it": {
			at: a().Status(deadlineExceeded), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			seen: obs{Unseen: sets.New(types.UID(pod0 + "-uid"))}, want: decided{Phase: done, Reason: "DeadlineExceeded"},
		},
		"4 nor when it is terminating": {
			at: a().Status(deadlineExceeded), pods: []*corev1.Pod{running().Terminating().Obj()}, now: time.Hour,
			want: decided{Phase: done, Reason: "DeadlineExceeded"},
		},
		"4 nor when it has ended": {
			at: a().Status(deadlineExceeded), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour,
			want: decided{Phase: done, Reason: "DeadlineExceeded"},
		},
		"3 and 4 both the At and its pod are deleted": {
			at: a().Status(deadlineExceeded).TTL(60), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Delete: pod0, DeleteAt: true, Phase: done, Reason: "DeadlineExceeded"},
		},
		"5 before a run counts as lost the API server is asked": {
			at: a().Recorded(1, pod0, pod0+"-uid"), now: time.Second, want: decided{Lookup: pod0, Phase: runs},
		},
		"5 a lost retry too": {
			at: a().Recorded(2, pod1, pod1+"-uid").BackoffLimit(3), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute,
			want: decided{Lookup: pod1, Phase: runs},
		},
		"5 a forged podUID without attempts": {
			at: a().Recorded(0, "", "forged"), now: time.Second, want: decided{Lookup: pod0, Phase: runs},
		},
		"6 a run whose pod is gone is not repeated": {
			at: a().Recorded(1, pod0, pod0+"-uid").BackoffLimit(3), now: time.Second, seen: lookedUp(pod0),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"6 a retry whose pod is gone is not repeated": {
			at: a().Recorded(2, pod1, pod1+"-uid").BackoffLimit(3), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour,
			seen: lookedUp(pod1), want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"6 forged attempts without a pod are a record": {
			at: a().Recorded(1, "", ""), now: time.Second, seen: lookedUp(pod0),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"6 a forged retryTime without attempts repeats nothing": {
			at:  a().Status(cnatv1alpha1.AtStatus{PodUID: "forged", RetryTime: ptr.To(metav1.NewTime(due))}),
			now: time.Second, seen: lookedUp(pod0), want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"9 a run without a deadline takes its time": {
			at: a(), pods: []*corev1.Pod{running().Obj()}, now: time.Hour, want: decided{Phase: runs, Scheduled: started},
		},
		"9 a pod counts more than a forged podUID": {
			at: a().Recorded(1, "x", "forged"), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"9 a pod counts more than forged attempts": {
			at: a().Recorded(7, pod0, pod0+"-uid"), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"9 a pod counts more than a forged startTime": {
			at:   a().ActiveDeadline(60).Status(cnatv1alpha1.AtStatus{StartTime: ptr.To(metav1.NewTime(due.Add(-time.Hour)))}),
			pods: []*corev1.Pod{ownPod().Obj()}, now: 59 * time.Second, want: decided{Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"9 a pod counts more than a phase that was set back": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: pending}), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"9 a pod counts more than a phase that was set forward": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: done}), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"9 a pod that somebody deletes is live until it is gone": {
			at: a(), pods: []*corev1.Pod{running().Terminating().Obj()}, now: time.Hour, want: decided{Phase: runs, Scheduled: started},
		},
		"9 suspend is ignored once started": {
			at: a().Suspend(), pods: []*corev1.Pod{running().Obj()}, now: time.Hour, want: decided{Phase: runs, Scheduled: started},
		},
		"9 a pod that never ran has until the deadline": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Obj()}, now: 59 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"9 a pod that runs has its grace period and 10 s more, for the kubelet to stop it": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{running().Obj()}, now: 99 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(100 * time.Second)},
		},
		"9 the grace period is the template's": {
			at: a().ActiveDeadline(60).Template(func(t *corev1.PodTemplateSpec) {
				t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5)
			}, "busybox"), pods: []*corev1.Pod{running().Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(75 * time.Second)},
		},
		"9 a pod on a node that was lost is live": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Phase(corev1.PodUnknown).Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(100 * time.Second)},
		},
		"9 a deadline of 292 years and more does not overflow": {
			at: a().ActiveDeadline(1 << 62), pods: []*corev1.Pod{ownPod().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(9223372035 * time.Second)},
		},
		"9 a grace period of 292 years and more does not overflow": {
			at: a().ActiveDeadline(60).Template(func(t *corev1.PodTemplateSpec) {
				t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1 << 62)
			}, "busybox"), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(math.MaxInt64)},
		},
		"22 pods of other Ats and foreign pods are not own pods": {
			at: a(), pods: []*corev1.Pod{olderPod, foreign}, now: 0,
			want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"9 a pod that admission gave another name is the run": {
			at: a(), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "x7k2p").Phase(corev1.PodRunning).Runs("busybox").Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"9 a pod without a controller reference is the run that the status names, and is read again and again": {
			at: a().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{running().Unowned().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(time.Hour + 10*time.Second)},
		},
		"10 it is read before the At ends at its deadline": {
			at: a().ActiveDeadline(60).Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{ownPod().Unowned().Obj()}, now: time.Minute,
			want: decided{Lookup: pod0, Phase: runs},
		},
		"9 before the run is recorded, an annotation identifies such a pod": {
			at: a(), pods: []*corev1.Pod{running().Unowned().Annotation(cnatv1alpha1.AnnotationUID, "a-uid").Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(time.Hour + 10*time.Second)},
		},
		"13 the attempt of a failed pod with another name is that of the record": {
			at: a().BackoffLimit(2).Recorded(2, "x7k2p", "x7k2p-uid"), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "x7k2p").
				Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due).Obj()}, now: time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(20 * time.Second)},
		},
		"14 or else that of its annotation": {
			at: a().BackoffLimit(2), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "x7k2p").Annotation(cnatv1alpha1.AnnotationAttempt, "1").
				Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due).Obj()}, now: time.Minute,
			want: decided{Create: "a-pod-2", Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"16 or else the number of older pods": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj(), testutil.MakeAtPod(a().Obj(), "x7k2p").Created(due.Add(time.Second)).
				Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due).Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"16 a pod that is newer than that of the record is of the next attempt, also if the latter is gone": {
			at: a().BackoffLimit(1).Recorded(1, "k2p7x", "k2p7x-uid"), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "x7k2p").
				Created(due.Add(20*time.Second)).Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due.Add(21*time.Second)).Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"7 a pod whose containers can be restarted is stopped, once that is recorded": {
			at: a().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{restarting(running().Obj())}, now: time.Second,
			want: decided{Phase: done, Reason: "PodModified", Scheduled: started, Requeue: in(time.Second)},
		},
		"4 a pod whose containers can be restarted is deleted": {
			at:   a().Status(with(deadlineExceeded, func(s *cnatv1alpha1.AtStatus) { s.Reason = cnatv1alpha1.ReasonPodModified })),
			pods: []*corev1.Pod{restarting(running().Obj())}, now: time.Hour, want: decided{Delete: pod0, Phase: done, Reason: "PodModified"},
		},
		"4 a pod whose command has ended is deleted if other containers still run": {
			at: a().Status(finished), pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due).Runs("proxy").Obj()},
			now: time.Hour, want: decided{Delete: pod0, Phase: done, Reason: "Completed"},
		},
		"9 other containers have 30 s to end after the command": {
			at: a(), pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due).Runs("proxy").Obj()},
			now: 29 * time.Second, want: decided{Phase: runs, Scheduled: started, Requeue: in(30 * time.Second)},
		},
		"11 then the result is the exit code, and the pod is deleted": {
			at: a(), pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due).Runs("proxy").Obj()},
			now: 30 * time.Second, want: decided{Phase: done, Reason: "Completed", Scheduled: started, Requeue: in(30 * time.Second)},
		},
		"13 a failed command is retried although other containers run, and its pod is deleted once the failure is recorded": {
			at:   a().BackoffLimit(1).RetryRecorded(1, pod0, 40*time.Second),
			pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).Exited("busybox", 1, "Error", "", due.Add(30*time.Second)).Runs("proxy").Obj()},
			now:  time.Minute, want: decided{Create: pod1, Delete: pod0, Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"8 a canceled run is stopped": {
			at: a().Cancel().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{running().Obj()}, now: time.Second,
			want: decided{Delete: pod0, Phase: runs, Scheduled: started},
		},
		"8 but not before it is recorded": {
			at: a().Cancel(), pods: []*corev1.Pod{running().Obj()}, now: time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(time.Second)},
		},
		"8 nor twice": {
			at: a().Cancel().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{running().Terminating().Obj()}, now: time.Second,
			want: decided{Phase: runs, Scheduled: started},
		},
		"12 a canceled run ends with its pod": {
			at: a().Cancel().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).Terminating().
				Exited("busybox", 143, "Error", "", due).Obj()}, now: time.Second,
			want: decided{Phase: done, Reason: "Canceled", Scheduled: started},
		},
		"11 a command that exited with 0 before the cancel succeeded": {
			at: a().Cancel().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).
				Exited("busybox", 0, "Completed", "", due).Runs("proxy").Obj()}, now: time.Second,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started, Requeue: in(time.Second)},
		},
		"12 a command that exits with 0 when it is told to stop was canceled": {
			at: a().Cancel().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).Terminating().
				Exited("busybox", 0, "Completed", "", due.Add(time.Second)).Obj()}, now: time.Second,
			want: decided{Phase: done, Reason: "Canceled", Scheduled: started},
		},
		"12 no retry is made of a canceled At, after the API server was asked for it": {
			at: a().Cancel().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute, seen: lookedUp(pod1),
			want: decided{Phase: done, Reason: "Canceled", Scheduled: started},
		},
		"12 nor in a back-off whose failed pod is gone": {
			at: a().Cancel().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: time.Second, seen: lookedUp(pod1),
			want: decided{Phase: done, Reason: "Canceled", Scheduled: started},
		},
		"16 a run that had failed before the cancel has failed": {
			at: a().Cancel(), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"6 a canceled run whose pod is gone was canceled": {
			at: a().Cancel().Recorded(1, pod0, pod0+"-uid"), now: time.Second, seen: lookedUp(pod0),
			want: decided{Phase: done, Reason: "Canceled", Scheduled: started},
		},
		"6 the last state of a deleted pod says how it ended": {
			at: a().Recorded(1, pod0, pod0+"-uid"), now: time.Minute, seen: deleted(failed().Obj()),
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"6 a pod that was deleted before it had a node did not start the command": {
			at: a().Recorded(1, pod0, pod0+"-uid"), now: time.Minute, seen: deleted(ownPod().Unschedulable().Obj()),
			want: decided{Phase: done, Reason: "NotStarted", Scheduled: started},
		},
		"14 such a run is retried": {
			at: a().BackoffLimit(1).Recorded(1, pod0, pod0+"-uid"), now: time.Minute, seen: deleted(ownPod().Unschedulable().Obj()),
			want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"6 a pod that was deleted on a node may have run": {
			at: a().BackoffLimit(1).Recorded(1, pod0, pod0+"-uid"), now: time.Minute, seen: deleted(onNode(ownPod().Obj())),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"16 an exit code that is not in retryExitCodes is not retried": {
			at: a().BackoffLimit(1).RetryExitCodes(75), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"14 one that is in retryExitCodes is": {
			at: a().BackoffLimit(1).RetryExitCodes(75, 3), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute,
			want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"14 a pod that did not start the command is retried without an exit code": {
			at: a().BackoffLimit(1).RetryExitCodes(75), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("OutOfcpu", "").Obj()}, now: time.Minute,
			want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"14 one whose retry is recorded is, although its pod is gone": {
			at: a().BackoffLimit(1).RetryExitCodes(3).RetryRecorded(1, pod0, 15*time.Second), now: time.Minute,
			want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"17 an At that is canceled before its time never runs": {
			at: a().Cancel(), now: -time.Hour, seen: lookedUp(pod0), want: decided{Phase: done, Reason: "Canceled", Scheduled: "Canceled"},
		},
		"17 the API server is asked for its pod first": {
			at: a().Cancel(), now: time.Second, want: decided{Lookup: pod0},
		},
		"17 cancel takes precedence over suspend and over an unusable spec": {
			at: a().Cancel().Suspend().Command(" "), now: time.Second, seen: lookedUp(pod0), want: decided{Phase: done, Reason: "Canceled", Scheduled: "Canceled"},
		},
		"1 the end of a run is recorded while the At is being deleted": {
			at: a().Deleting().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour, seen: lookedUp(pod1),
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"21 an At in a namespace that is being deleted does not miss its deadline": {
			at: a().StartingDeadline(10), now: time.Hour, seen: obs{Rejection: &expectations.Rejection{NamespaceTerminating: true, Message: "gone", Until: due.Add(2 * time.Hour)}},
			want: decided{Phase: pending, Scheduled: "NamespaceTerminating", Requeue: in(2 * time.Hour)},
		},
		"10 a pod that never ran is deleted at the deadline, once that is recorded": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Waiting("busybox", "ImagePullBackOff").Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Requeue: in(time.Minute)},
		},
		"10 a pod that the kubelet did not stop is deleted, once that is recorded": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{running().Obj()}, now: 100 * time.Second,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Requeue: in(100 * time.Second)},
		},
		"10 a pod that is terminating at the deadline need not be deleted": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Terminating().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started},
		},
		"10 the deadline counts from the first pod": {
			at: a().ActiveDeadline(60).BackoffLimit(3), pods: []*corev1.Pod{secondPod().Obj(), failed().Obj()}, now: time.Minute,
			seen: lookedUp("a-pod-2"), want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Requeue: in(time.Minute)},
		},
		"10 the status remembers a first pod that was deleted": {
			at: a().ActiveDeadline(60).Recorded(2, pod1, pod1+"-uid"), pods: []*corev1.Pod{secondPod().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Requeue: in(time.Minute)},
		},
		"10 before the deadline ends the At the API server is asked for the retry": {
			at: a().ActiveDeadline(60).BackoffLimit(1), pods: []*corev1.Pod{ownPod().Obj()}, now: time.Minute, want: decided{Lookup: pod1},
		},
		"11 a pod that succeeded": {
			at: a(), pods: []*corev1.Pod{succeeded().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started},
		},
		"11 a pod that succeeded after the deadline": {
			at: a().ActiveDeadline(3), pods: []*corev1.Pod{succeeded().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started},
		},
		"13 a retry waits 10 s from the end of the pod": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: 14 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(15 * time.Second)},
		},
		"13 the second waits 20 s": {
			at: a().BackoffLimit(2), pods: []*corev1.Pod{failed().Obj(), secondPod().Phase(corev1.PodFailed).
				Exited("busybox", 1, "Error", "", due.Add(time.Minute)).Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(80 * time.Second)},
		},
		"13 the second of two failed pods was deleted: its own time counts": {
			at: a().BackoffLimit(2).RetryRecorded(2, pod1, 80*time.Second), pods: []*corev1.Pod{failed().Obj()}, now: 79 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(80 * time.Second)},
		},
		"13 the tenth waits 6 minutes": {
			at: a().BackoffLimit(10), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "a-pod-9").Phase(corev1.PodFailed).
				Exited("busybox", 1, "Error", "", due).Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(6 * time.Minute)},
		},
		"13 a retry counts from the creation when no container's end is known": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("Evicted", "").Obj()}, now: 0,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(10 * time.Second)},
		},
		"13 a retry does not wait for the clock of a node that is ahead": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due.Add(time.Hour)).Obj()},
			now: time.Second, want: decided{Phase: runs, Scheduled: started, Requeue: in(10 * time.Second)},
		},
		"13 the deadline comes before the retry": {
			at: a().BackoffLimit(1).ActiveDeadline(12), pods: []*corev1.Pod{failed().Obj()}, now: 6 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(12 * time.Second)},
		},
		"14 a retry has its own name": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: 15 * time.Second,
			want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(75 * time.Second)},
		},
		"14 a command that was killed with its pod is retried": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).Terminating().
				Exited("busybox", 143, "Error", "", due).Obj()}, now: 15 * time.Second,
			want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(75 * time.Second)},
		},
		"14 the template's own activeDeadlineSeconds are a failure like others": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Obj()},
			now: time.Minute, want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"14 no retry is made of a template that became unusable": {
			at: a().BackoffLimit(1).Template(nil), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: "InvalidTemplate"},
		},
		"14 a pod that its node rejected is retried": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("OutOfcpu", "").Obj()}, now: time.Minute,
			want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"14 a command that did not run because an init container failed is retried": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj()},
			now: time.Minute, want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(2 * time.Minute)},
		},
		"16 a command that may still run on a lost node is not retried": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{running().Phase(corev1.PodFailed).Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"16 nor one whose pod failed with the reason of a lost node": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{running().Phase(corev1.PodFailed).Because("NodeLost", "").Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"16 nor one of whose containers nothing is known": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"16 nor one whose init containers ended well": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).InitExited("fetch", 0).Waiting("busybox", "PodInitializing").Obj()},
			now: time.Minute, want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"16 nor one that may still run although a sidecar has failed": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{running().Phase(corev1.PodFailed).InitExited("proxy", 1).Obj()},
			now: time.Minute, want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"16 a last pod that failed by itself did not exceed the deadline, however late that is seen": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"16 nor one whose end the kubelet does not know": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Exited("busybox", 137, "ContainerStatusUnknown", "", due).Obj()},
			now: time.Minute, want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"11 a command that ended with exit code 0 before its pod was evicted": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("Evicted", "").Exited("busybox", 0, "Completed", "", due).Obj()},
			now: time.Minute, want: decided{Phase: done, Reason: "Completed", Scheduled: started},
		},
		"15 no retry after the deadline": {
			at: a().BackoffLimit(1).ActiveDeadline(12), pods: []*corev1.Pod{failed().Obj()}, now: 12 * time.Second, seen: lookedUp(pod1),
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started},
		},
		"15 before the deadline ends the At the API server is asked for the retry whose create may have got no response": {
			at: a().BackoffLimit(1).ActiveDeadline(12), pods: []*corev1.Pod{failed().Obj()}, now: 12 * time.Second,
			want: decided{Lookup: pod1},
		},
		"14 a pod that ended by the template's own deadline, before that of the At, is retried": {
			at: a().BackoffLimit(1).ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Obj()},
			now: 30 * time.Second, want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"16 the end of the last pod by the template's own deadline is not that of the At": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Obj()},
			now: 30 * time.Second, want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"15 the kubelet enforced the deadline": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Obj()},
			now: 61 * time.Second, want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started},
		},
		"13 a failed pod that is deleted during the back-off is retried, since its failure was recorded": {
			at: a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: 14 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(15 * time.Second)},
		},
		"14 a failed pod that was deleted during the back-off": {
			at: a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: 15 * time.Second,
			want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(75 * time.Second)},
		},
		"14 the second of two failed pods was deleted during the back-off": {
			at: a().BackoffLimit(2).RetryRecorded(2, pod1, 80*time.Second), pods: []*corev1.Pod{failed().Obj()}, now: 80 * time.Second,
			want: decided{Create: "a-pod-2", Phase: runs, Scheduled: started, Requeue: in(140 * time.Second)},
		},
		"15 the deadline ends an At whose failed pod was deleted during the back-off": {
			at: a().BackoffLimit(1).ActiveDeadline(12).RetryRecorded(1, pod0, 15*time.Second), now: 12 * time.Second, seen: lookedUp(pod1),
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started},
		},
		"16 retries were taken away during the back-off, and the next pod may exist": {
			at: a().RetryRecorded(1, pod0, 15*time.Second), pods: []*corev1.Pod{failed().Obj()}, now: 12 * time.Second,
			want: decided{Lookup: pod1, Phase: runs},
		},
		"9 only the pod of the last possible attempt is left": {
			at: a().BackoffLimit(10).ActiveDeadline(60), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "a-pod-10").Obj()}, now: time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(60 * time.Second)},
		},
		"16 retries were taken away while the failed pod was deleted": {
			at: a().RetryRecorded(1, pod0, 15*time.Second), now: 12 * time.Second, seen: lookedUp(pod1),
			want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"16 without backoffLimit a failure is the end": {
			at: a(), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"16 the last retry failed": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{secondPod().Phase(corev1.PodFailed).Because("Evicted", "").Obj(), failed().Obj()},
			now: time.Hour, want: decided{Phase: done, Reason: "Evicted", Scheduled: started},
		},
		"16 a limit over 10 is taken for 10": {
			at: a().BackoffLimit(99), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "a-pod-10").Phase(corev1.PodFailed).
				Exited("busybox", 1, "Error", "", due).Obj()}, now: time.Hour,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"18 a schedule that is no time waits for an edit": {
			at: a().Schedule("tomorrow"), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidSchedule"},
		},
		"18 so does a command that cannot be split": {
			at: a().Command("echo '"), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidCommand"},
		},
		"18 a template without containers": {
			at: a().Template(nil), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidTemplate"},
		},
		"18 a template that restarts": {
			at: a().Template(func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyAlways }, "c"), now: time.Hour,
			want: decided{Phase: pending, Scheduled: "InvalidTemplate"},
		},
		"18 a template with a command of its own": {
			at: a().Template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Args = []string{"x"} }, "c"), now: time.Hour,
			want: decided{Phase: pending, Scheduled: "InvalidTemplate"},
		},
		"18 unusable takes precedence over suspended and over the time": {
			at: a().Command(" ").Suspend(), now: -time.Hour, want: decided{Phase: pending, Scheduled: "InvalidCommand"},
		},
		"19 suspended": {
			at: a().Suspend(), now: time.Hour, want: decided{Phase: pending, Scheduled: "Suspended"},
		},
		"19 suspended past its starting deadline it can still be rescheduled": {
			at: a().Suspend().StartingDeadline(10), now: time.Hour, want: decided{Phase: pending, Scheduled: "Suspended"},
		},
		"20 before its time": {
			at: a(), now: -time.Nanosecond, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"20 a fraction of a second before": {
			at: a().Schedule("2030-01-30T10:02:00.5Z"), now: 499 * time.Millisecond,
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(500 * time.Millisecond)},
		},
		"20 a phase that was set forward by hand starts nothing": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: runs}), now: -time.Second,
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"20 an end that was forged without a record ends nothing": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: done, Result: "Succeeded", Reason: "Completed"}), now: -time.Second,
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"20 nor does one whose result and reason differ": {
			at: a().Status(with(finished, func(s *cnatv1alpha1.AtStatus) {
				s.Result, s.PodUID, s.PodName, s.Attempts = cnatv1alpha1.ResultFailed, "", "", 0
			})), now: -time.Second, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"20 nor does one whose reason is unknown": {
			at: a().Status(with(finished, func(s *cnatv1alpha1.AtStatus) {
				s.Result, s.Reason, s.PodUID, s.PodName, s.Attempts = cnatv1alpha1.ResultFailed, "Other", "", "", 0
			})), now: -time.Second, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"21 later than its starting deadline": {
			at: a().StartingDeadline(10), now: 11 * time.Second, seen: lookedUp(pod0),
			want: decided{Phase: done, Reason: "MissedDeadline", Scheduled: "MissedDeadline"},
		},
		"21 released after its starting deadline": {
			at: a().StartingDeadline(10), now: time.Hour, seen: lookedUp(pod0),
			want: decided{Phase: done, Reason: "MissedDeadline", Scheduled: "MissedDeadline"},
		},
		"21 its ttl counts from when that was seen": {
			at: a().StartingDeadline(10).TTL(60), now: 11 * time.Second, seen: lookedUp(pod0),
			want: decided{Phase: done, Reason: "MissedDeadline", Scheduled: "MissedDeadline", Requeue: in(71 * time.Second)},
		},
		"21 before an At counts as not run the API server is asked for its pod, whose create may have got no response": {
			at: a().StartingDeadline(10), now: 11 * time.Second, want: decided{Lookup: pod0},
		},
		"9 the pod that the API server has is a run, however late": {
			at: a().StartingDeadline(10), pods: []*corev1.Pod{ownPod().Obj()}, now: 11 * time.Second, want: decided{Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"22 at its time": {
			at: a(), now: 0, want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"22 years late": {
			at: a(), now: 10 * 365 * 24 * time.Hour, want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(10*365*24*time.Hour + time.Minute)},
		},
		"22 now": {
			at: a().Schedule("now"), now: -2 * time.Minute, want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(-time.Minute)},
		},
		"22 within its starting deadline": {
			at: a().StartingDeadline(10), now: 10*time.Second + 999*time.Millisecond,
			want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(70*time.Second + 999*time.Millisecond)},
		},
		"22 a starting deadline of 0 leaves the second of the time": {
			at: a().StartingDeadline(0), now: 5 * time.Millisecond, want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(time.Minute + 5*time.Millisecond)},
		},
		"22 with a deadline it is requeued at the deadline": {
			at: a().ActiveDeadline(60), now: time.Second, want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(61 * time.Second)},
		},
		"22 a create without an answer is repeated": {
			at: a(), now: time.Second, outcome: &at.Outcome{}, want: decided{Create: pod0, Phase: pending, Scheduled: waiting},
		},
		"23 a create that meets the pod of an older At of this name waits for the garbage collector": {
			at: a(), now: time.Second, outcome: &at.Outcome{Conflicting: olderPod},
			want: decided{Create: pod0, Phase: pending, Scheduled: "NameTaken", Requeue: in(11 * time.Second)},
		},
		"23 and within the starting deadline": {
			at: a().StartingDeadline(5), now: time.Second, outcome: &at.Outcome{Conflicting: olderPod},
			want: decided{Create: pod0, Phase: pending, Scheduled: "NameTaken", Requeue: in(6 * time.Second)},
		},
		"24 a create that meets a foreign pod leaves it alone": {
			at: a(), now: time.Second, outcome: &at.Outcome{Conflicting: foreign},
			want: decided{Create: pod0, Phase: done, Reason: "PodNameConflict", Scheduled: "PodNameConflict"},
		},
		"24 the pod of another At is foreign": {
			at: a(), now: time.Second, outcome: &at.Outcome{Conflicting: otherAt},
			want: decided{Create: pod0, Phase: done, Reason: "PodNameConflict", Scheduled: "PodNameConflict"},
		},
		"24 the pod of another kind with this name is foreign": {
			at: a(), now: time.Second, outcome: &at.Outcome{Conflicting: otherKind},
			want: decided{Create: pod0, Phase: done, Reason: "PodNameConflict", Scheduled: "PodNameConflict"},
		},
		"24 a retry that meets a foreign pod is the end": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour, outcome: &at.Outcome{Conflicting: foreign1},
			want: decided{Create: pod1, Phase: done, Reason: "PodNameConflict", Scheduled: started},
		},
		"25 a rejection is reported": {
			at: a(), now: time.Second, outcome: rejected("exceeded quota"),
			want: decided{Create: pod0, Phase: pending, Scheduled: "FailedCreate"},
		},
		"25 no create before the back-off is over": {
			at: a(), now: time.Second, seen: obs{Rejection: rejection(9 * time.Second)},
			want: decided{Phase: pending, Scheduled: "FailedCreate", Requeue: in(9 * time.Second)},
		},
		"25 nor after the starting deadline": {
			at: a().StartingDeadline(3), now: time.Second, seen: obs{Rejection: rejection(9 * time.Second)},
			want: decided{Phase: pending, Scheduled: "FailedCreate", Requeue: in(4 * time.Second)},
		},
		"25 then it is tried again": {
			at: a(), now: 9 * time.Second, seen: obs{Rejection: rejection(9 * time.Second)},
			want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(69 * time.Second)},
		},
		"25 the rejection is still reported while a create is not answered": {
			at: a(), now: 9 * time.Second, seen: obs{Rejection: rejection(9 * time.Second)}, outcome: &at.Outcome{},
			want: decided{Create: pod0, Phase: pending, Scheduled: "FailedCreate"},
		},
		"25 a pod that is invalid names the template": {
			at: a(), now: time.Second, outcome: &at.Outcome{Rejected: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, pod0, nil)},
			want: decided{Create: pod0, Phase: pending, Scheduled: "InvalidTemplate"},
		},
		"25 a rejected retry keeps running": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute, outcome: rejected("exceeded quota"),
			want: decided{Create: pod1, Phase: runs, Scheduled: "FailedCreate"},
		},
		"26 a create that fails is reported": {
			at: a(), now: time.Second, outcome: &at.Outcome{CreateError: errors.New("no endpoints")},
			want: decided{Create: pod0, Phase: pending, Scheduled: "FailedCreate"},
		},
		"26 a retry that fails keeps running": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute, outcome: &at.Outcome{CreateError: errors.New("no endpoints")},
			want: decided{Create: pod1, Phase: runs, Scheduled: "FailedCreate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.seen
			o.At, o.Pods, o.Now = test.at.Obj(), test.pods, due.Add(test.now)
			got, report := decide(o, test.outcome)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if s := &report.Status; at.IsDone(s) != (got.Phase == done) || got.Phase == done && s.RetryTime != nil {
				t.Errorf("phase %s, IsDone %t, retryTime %v", got.Phase, at.IsDone(s), s.RetryTime)
			}
		})
	}
}

// rejected is a create that the API server has just rejected.
func rejected(message string) *at.Outcome { return &at.Outcome{Rejected: errors.New(message)} }

// lookedUp is an observation after the API server was asked for a pod and had none of this At.
func lookedUp(name string) at.Observation { return at.Observation{LookedUp: sets.New(name)} }

// deleted is an observation after the watch delivered the last state of the first pod.
func deleted(last *corev1.Pod) at.Observation {
	return at.Observation{LookedUp: sets.New(pod0), Final: []*corev1.Pod{last}}
}

// restarting returns the pod after admission changed its restartPolicy.
func restarting(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	return pod
}

// onNode returns the pod after it was bound.
func onNode(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.NodeName = "node"
	return pod
}

func with(s cnatv1alpha1.AtStatus, edit func(*cnatv1alpha1.AtStatus)) cnatv1alpha1.AtStatus {
	edit(&s)
	return s
}

// An edit that admission accepts after the pod was created and before the run is recorded changes nothing, and the status
// says so for good.
func TestAnEditThatCameTooLate(t *testing.T) {
	edited := a().Generation(4).Obj()
	pod := running().Obj()
	pod.Annotations = map[string]string{cnatv1alpha1.AnnotationGeneration: "3"}
	report := at.MakeReport(at.Decided(at.Observation{At: edited, Pods: []*corev1.Pod{pod}, Now: due}), at.Outcome{})
	check := func(when string) {
		t.Helper()
		c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled)
		want := metav1.Condition{
			Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonEditedTooLate, ObservedGeneration: edited.Generation,
			Message: "pod a-pod was created from generation 3 of the At: only a retry uses later changes of command or template",
		}
		if diff := cmp.Diff(&want, c, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
			t.Errorf("%s (-want +got): %s", when, diff)
		}
	}
	check("when the run is recorded")
	if e := report.Events[0]; !e.Warning || e.Reason != cnatv1alpha1.ReasonEditedTooLate {
		t.Errorf("no warning, but %v", report.Events)
	}

	edited.Status = report.Status
	edited.Generation++ // Such as an edit of the TTL, which counts.
	report = at.MakeReport(at.Decided(at.Observation{At: edited, Pods: []*corev1.Pod{pod}, Now: due}), at.Outcome{})
	check("after another edit")
	if len(report.Events) > 0 {
		t.Errorf("the warning is repeated: %v", report.Events)
	}
	edited.Status = report.Status
	report = at.MakeReport(at.Decided(at.Observation{At: edited, Pods: []*corev1.Pod{succeeded().Obj()}, Now: due}), at.Outcome{})
	check("after the end")
}

func TestAnEditAfterTheRunWasRecordedIsNoLateEdit(t *testing.T) {
	recorded := a().Recorded(1, pod0, pod0+"-uid").Generation(4).Obj()
	pod := running().Obj()
	pod.Annotations = map[string]string{cnatv1alpha1.AnnotationGeneration: "3"}
	report := at.MakeReport(at.Decided(at.Observation{At: recorded, Pods: []*corev1.Pod{pod}, Now: due}), at.Outcome{})
	c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if c.Reason != cnatv1alpha1.ReasonStarted || c.ObservedGeneration != 4 || report.Status.ObservedGeneration != 4 {
		t.Errorf("condition %+v, observed generation %d", c, report.Status.ObservedGeneration)
	}
}
