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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	}
	for _, pod := range plan.Delete {
		d.Delete += pod.Name
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
		"1 a pod of an At that is being deleted too": {
			at: a().Deleting().ActiveDeadline(1), pods: []*corev1.Pod{ownPod().Obj()}, now: time.Hour, want: decided{},
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
		"2 a pause suspends the TTL": {
			at: a().Status(finished).TTL(60).Paused("true"), now: time.Hour, want: decided{Phase: done, Reason: "Completed"},
		},
		"2 the pod of an At that ended for another reason is left alone": {
			at: a().Status(finished), pods: []*corev1.Pod{running().Obj()}, now: time.Hour, want: decided{Phase: done, Reason: "Completed"},
		},
		"3 an At whose ttl is over is deleted": {
			at: a().Status(finished).TTL(60), now: time.Minute, want: decided{DeleteAt: true, Phase: done, Reason: "Completed"},
		},
		"3 a ttl of 0 deletes the At in the pass after the one that finishes it": {
			at: a().TTL(0), pods: []*corev1.Pod{succeeded().Obj()}, now: 9 * time.Second,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started, Requeue: in(5 * time.Second)},
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
		"4 a pause suspends the deletion": {
			at: a().Status(deadlineExceeded).Paused("true"), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
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
			at: a().Recorded(1, pod0, pod0+"-uid").BackoffLimit(3), now: time.Second, seen: absent(pod0),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"6 a retry whose pod is gone is not repeated": {
			at: a().Recorded(2, pod1, pod1+"-uid").BackoffLimit(3), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour,
			seen: absent(pod1), want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"6 forged attempts without a pod are a record": {
			at: a().Recorded(1, "", ""), now: time.Second, seen: absent(pod0),
			want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"6 a pod that lost its owner reference is gone": {
			at: a().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{running().Unowned().Obj()}, now: time.Second,
			seen: absent(pod0), want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"6 a forged retryTime without attempts repeats nothing": {
			at:  a().Status(cnatv1alpha1.AtStatus{PodUID: "forged", RetryTime: ptr.To(metav1.NewTime(due))}),
			now: time.Second, seen: absent(pod0), want: decided{Phase: done, Reason: "PodLost", Scheduled: started},
		},
		"7 a run without a deadline takes its time": {
			at: a(), pods: []*corev1.Pod{running().Obj()}, now: time.Hour, want: decided{Phase: runs, Scheduled: started},
		},
		"7 a pod counts more than a forged podUID": {
			at: a().Recorded(1, "x", "forged"), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"7 a pod counts more than forged attempts": {
			at: a().Recorded(7, pod0, pod0+"-uid"), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"7 a pod counts more than a forged startTime": {
			at:   a().ActiveDeadline(60).Status(cnatv1alpha1.AtStatus{StartTime: ptr.To(metav1.NewTime(due.Add(-time.Hour)))}),
			pods: []*corev1.Pod{ownPod().Obj()}, now: 59 * time.Second, want: decided{Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"7 a pod counts more than a phase that was set back": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: pending}), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"7 a pod counts more than a phase that was set forward": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: done}), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"7 a pod that somebody deletes is live until it is gone": {
			at: a(), pods: []*corev1.Pod{running().Terminating().Obj()}, now: time.Hour, want: decided{Phase: runs, Scheduled: started},
		},
		"7 suspend is ignored once started": {
			at: a().Suspend(), pods: []*corev1.Pod{running().Obj()}, now: time.Hour, want: decided{Phase: runs, Scheduled: started},
		},
		"7 a pod that never ran has until the deadline": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Obj()}, now: 59 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"7 a pod that runs has its grace period and 10 s more, for the kubelet to stop it": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{running().Obj()}, now: 99 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(100 * time.Second)},
		},
		"7 the grace period is the template's": {
			at: a().ActiveDeadline(60).Template(func(t *corev1.PodTemplateSpec) {
				t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5)
			}, "busybox"), pods: []*corev1.Pod{running().Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(75 * time.Second)},
		},
		"7 a pod on a node that was lost is live": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Phase(corev1.PodUnknown).Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(100 * time.Second)},
		},
		"7 a deadline of 292 years and more does not overflow": {
			at: a().ActiveDeadline(1 << 62), pods: []*corev1.Pod{ownPod().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(9223372035 * time.Second)},
		},
		"7 a grace period of 292 years and more does not overflow": {
			at: a().ActiveDeadline(60).Template(func(t *corev1.PodTemplateSpec) {
				t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1 << 62)
			}, "busybox"), pods: []*corev1.Pod{running().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(math.MaxInt64)},
		},
		"7 a pause suspends the deadline": {
			at: a().ActiveDeadline(60).Paused("true"), pods: []*corev1.Pod{ownPod().Obj()}, now: time.Hour,
			want: decided{Phase: runs, Scheduled: started},
		},
		"7 pods of other Ats and with other names are not own pods": {
			at: a(), pods: []*corev1.Pod{olderPod, foreign, testutil.MakeAtPod(a().Obj(), "a-pod-11").Obj()}, now: 0,
			want: decided{Create: pod0, Phase: runs, Scheduled: started},
		},
		"8 a pod that never ran is deleted at the deadline, once that is recorded": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Waiting("busybox", "ImagePullBackOff").Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Requeue: in(time.Minute)},
		},
		"8 a pod that the kubelet did not stop is deleted, once that is recorded": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{running().Obj()}, now: 100 * time.Second,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Requeue: in(100 * time.Second)},
		},
		"8 a pod that is terminating at the deadline need not be deleted": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Terminating().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started},
		},
		"8 the deadline counts from the first pod": {
			at: a().ActiveDeadline(60).BackoffLimit(3), pods: []*corev1.Pod{secondPod().Obj(), failed().Obj()}, now: time.Minute,
			seen: absent("a-pod-2"), want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Requeue: in(time.Minute)},
		},
		"8 the status remembers a first pod that was deleted": {
			at: a().ActiveDeadline(60).Recorded(2, pod1, pod1+"-uid"), pods: []*corev1.Pod{secondPod().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started, Requeue: in(time.Minute)},
		},
		"8 before the deadline ends the At the API server is asked for the retry": {
			at: a().ActiveDeadline(60).BackoffLimit(1), pods: []*corev1.Pod{ownPod().Obj()}, now: time.Minute, want: decided{Lookup: pod1},
		},
		"9 a pod that succeeded": {
			at: a(), pods: []*corev1.Pod{succeeded().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started},
		},
		"9 a pod that succeeded while the At is paused": {
			at: a().Paused("1"), pods: []*corev1.Pod{succeeded().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started},
		},
		"9 a pod that succeeded after the deadline": {
			at: a().ActiveDeadline(3), pods: []*corev1.Pod{succeeded().Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "Completed", Scheduled: started},
		},
		"10 a retry waits 10 s from the end of the pod": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: 14 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(15 * time.Second)},
		},
		"10 the second waits 20 s": {
			at: a().BackoffLimit(2), pods: []*corev1.Pod{failed().Obj(), secondPod().Phase(corev1.PodFailed).
				Exited("busybox", 1, "Error", "", due.Add(time.Minute)).Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(80 * time.Second)},
		},
		"10 the second of two failed pods was deleted: its own time counts": {
			at: a().BackoffLimit(2).RetryRecorded(2, pod1, 80*time.Second), pods: []*corev1.Pod{failed().Obj()}, now: 79 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(80 * time.Second)},
		},
		"10 the tenth waits 6 minutes": {
			at: a().BackoffLimit(10), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "a-pod-9").Phase(corev1.PodFailed).
				Exited("busybox", 1, "Error", "", due).Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(6 * time.Minute)},
		},
		"10 a retry counts from the creation when no container's end is known": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("Evicted", "").Obj()}, now: 0,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(10 * time.Second)},
		},
		"10 a retry does not wait for the clock of a node that is ahead": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Exited("busybox", 1, "Error", "", due.Add(time.Hour)).Obj()},
			now: time.Second, want: decided{Phase: runs, Scheduled: started, Requeue: in(10 * time.Second)},
		},
		"10 the deadline comes before the retry": {
			at: a().BackoffLimit(1).ActiveDeadline(12), pods: []*corev1.Pod{failed().Obj()}, now: 6 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(12 * time.Second)},
		},
		"10 a pause suspends the retry": {
			at: a().BackoffLimit(1).Paused("true"), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: started},
		},
		"11 a retry has its own name": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: 15 * time.Second,
			want: decided{Create: pod1, Phase: runs, Scheduled: started},
		},
		"11 a command that was killed with its pod is retried": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodRunning).Terminating().
				Exited("busybox", 143, "Error", "", due).Obj()}, now: 15 * time.Second,
			want: decided{Create: pod1, Phase: runs, Scheduled: started},
		},
		"11 the template's own activeDeadlineSeconds are a failure like others": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Obj()},
			now: time.Minute, want: decided{Create: pod1, Phase: runs, Scheduled: started},
		},
		"11 no retry is made of a template that became unusable": {
			at: a().BackoffLimit(1).Template(nil), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute,
			want: decided{Phase: runs, Scheduled: "InvalidTemplate"},
		},
		"11 a pod that its node rejected is retried": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("OutOfcpu", "").Obj()}, now: time.Minute,
			want: decided{Create: pod1, Phase: runs, Scheduled: started},
		},
		"11 a command that did not run because an init container failed is retried": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj()},
			now: time.Minute, want: decided{Create: pod1, Phase: runs, Scheduled: started},
		},
		"13 a command that may still run on a lost node is not retried": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{running().Phase(corev1.PodFailed).Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"13 nor one whose pod failed with the reason of a lost node": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{running().Phase(corev1.PodFailed).Because("NodeLost", "").Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"13 nor one of whose containers nothing is known": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Obj()}, now: time.Minute,
			want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"13 nor one whose init containers ended well": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).InitExited("fetch", 0).Waiting("busybox", "PodInitializing").Obj()},
			now: time.Minute, want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"13 nor one that may still run although a sidecar has failed": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{running().Phase(corev1.PodFailed).InitExited("proxy", 1).Obj()},
			now: time.Minute, want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"13 a last pod that failed by itself did not exceed the deadline, however late that is seen": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"13 nor one whose end the kubelet does not know": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Exited("busybox", 137, "ContainerStatusUnknown", "", due).Obj()},
			now: time.Minute, want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"13 nor one that ended with exit code 0 before its pod was evicted": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("Evicted", "").Exited("busybox", 0, "Completed", "", due).Obj()},
			now: time.Minute, want: decided{Phase: done, Reason: "Evicted", Scheduled: started},
		},
		"12 no retry after the deadline": {
			at: a().BackoffLimit(1).ActiveDeadline(12), pods: []*corev1.Pod{failed().Obj()}, now: 12 * time.Second, seen: absent(pod1),
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started},
		},
		"12 before the deadline ends the At the API server is asked for the retry whose create may have got no response": {
			at: a().BackoffLimit(1).ActiveDeadline(12), pods: []*corev1.Pod{failed().Obj()}, now: 12 * time.Second,
			want: decided{Lookup: pod1},
		},
		"11 a pod that ended by the template's own deadline, before that of the At, is retried": {
			at: a().BackoffLimit(1).ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Obj()},
			now: 30 * time.Second, want: decided{Create: pod1, Phase: runs, Scheduled: started, Requeue: in(time.Minute)},
		},
		"13 the end of the last pod by the template's own deadline is not that of the At": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Obj()},
			now: 30 * time.Second, want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"12 the kubelet enforced the deadline": {
			at: a().ActiveDeadline(60), pods: []*corev1.Pod{ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Obj()},
			now: 61 * time.Second, want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started},
		},
		"10 a failed pod that is deleted during the back-off is retried, since its failure was recorded": {
			at: a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: 14 * time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(15 * time.Second)},
		},
		"11 a failed pod that was deleted during the back-off": {
			at: a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second), now: 15 * time.Second,
			want: decided{Create: pod1, Phase: runs, Scheduled: started},
		},
		"11 the second of two failed pods was deleted during the back-off": {
			at: a().BackoffLimit(2).RetryRecorded(2, pod1, 80*time.Second), pods: []*corev1.Pod{failed().Obj()}, now: 80 * time.Second,
			want: decided{Create: "a-pod-2", Phase: runs, Scheduled: started},
		},
		"12 the deadline ends an At whose failed pod was deleted during the back-off": {
			at: a().BackoffLimit(1).ActiveDeadline(12).RetryRecorded(1, pod0, 15*time.Second), now: 12 * time.Second, seen: absent(pod1),
			want: decided{Phase: done, Reason: "DeadlineExceeded", Scheduled: started},
		},
		"13 retries were taken away during the back-off, and the next pod may exist": {
			at: a().RetryRecorded(1, pod0, 15*time.Second), pods: []*corev1.Pod{failed().Obj()}, now: 12 * time.Second,
			want: decided{Lookup: pod1, Phase: runs},
		},
		"7 only the pod of the last possible attempt is left": {
			at: a().BackoffLimit(10).ActiveDeadline(60), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "a-pod-10").Obj()}, now: time.Second,
			want: decided{Phase: runs, Scheduled: started, Requeue: in(60 * time.Second)},
		},
		"13 retries were taken away while the failed pod was deleted": {
			at: a().RetryRecorded(1, pod0, 15*time.Second), now: 12 * time.Second, seen: absent(pod1),
			want: decided{Phase: done, Reason: "PodFailed", Scheduled: started},
		},
		"13 without backoffLimit a failure is the end": {
			at: a(), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"13 the last retry failed": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{secondPod().Phase(corev1.PodFailed).Because("Evicted", "").Obj(), failed().Obj()},
			now: time.Hour, want: decided{Phase: done, Reason: "Evicted", Scheduled: started},
		},
		"13 a limit over 10 is taken for 10": {
			at: a().BackoffLimit(99), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), "a-pod-10").Phase(corev1.PodFailed).
				Exited("busybox", 1, "Error", "", due).Obj()}, now: time.Hour,
			want: decided{Phase: done, Reason: "NonZeroExitCode", Scheduled: started},
		},
		"14 a schedule that is no time waits for an edit": {
			at: a().Schedule("tomorrow"), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidSchedule"},
		},
		"14 so does a command that cannot be split": {
			at: a().Command("echo '"), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidCommand"},
		},
		"14 a template without containers": {
			at: a().Template(nil), now: time.Hour, want: decided{Phase: pending, Scheduled: "InvalidTemplate"},
		},
		"14 a template that restarts": {
			at: a().Template(func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyAlways }, "c"), now: time.Hour,
			want: decided{Phase: pending, Scheduled: "InvalidTemplate"},
		},
		"14 a template with a command of its own": {
			at: a().Template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Args = []string{"x"} }, "c"), now: time.Hour,
			want: decided{Phase: pending, Scheduled: "InvalidTemplate"},
		},
		"14 unusable takes precedence over suspended and over the time": {
			at: a().Command(" ").Suspend().Paused("true"), now: -time.Hour, want: decided{Phase: pending, Scheduled: "InvalidCommand"},
		},
		"15 suspended": {
			at: a().Suspend(), now: time.Hour, want: decided{Phase: pending, Scheduled: "Suspended"},
		},
		"15 suspended past its starting deadline it can still be rescheduled": {
			at: a().Suspend().StartingDeadline(10), now: time.Hour, want: decided{Phase: pending, Scheduled: "Suspended"},
		},
		"15 paused": {
			at: a().Paused("T").StartingDeadline(10), now: time.Hour, want: decided{Phase: pending, Scheduled: "Paused"},
		},
		"15 suspended and paused": {
			at: a().Suspend().Paused("true"), now: time.Hour, want: decided{Phase: pending, Scheduled: "Paused"},
		},
		"15 a pause that is false, or no boolean, is none": {
			at: a().Paused("no"), now: -time.Second, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"16 before its time": {
			at: a(), now: -time.Nanosecond, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"16 a fraction of a second before": {
			at: a().Schedule("2030-01-30T10:02:00.5Z"), now: 499 * time.Millisecond,
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(500 * time.Millisecond)},
		},
		"16 a phase that was set forward by hand starts nothing": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: runs}), now: -time.Second,
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"16 an end that was forged without a record ends nothing": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: done, Result: "Succeeded", Reason: "Completed"}), now: -time.Second,
			want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"16 nor does one whose result and reason differ": {
			at: a().Status(with(finished, func(s *cnatv1alpha1.AtStatus) {
				s.Result, s.PodUID, s.PodName, s.Attempts = cnatv1alpha1.ResultFailed, "", "", 0
			})), now: -time.Second, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"16 nor does one whose reason is unknown": {
			at: a().Status(with(finished, func(s *cnatv1alpha1.AtStatus) {
				s.Result, s.Reason, s.PodUID, s.PodName, s.Attempts = cnatv1alpha1.ResultFailed, "Other", "", "", 0
			})), now: -time.Second, want: decided{Phase: pending, Scheduled: waiting, Requeue: in(0)},
		},
		"17 later than its starting deadline": {
			at: a().StartingDeadline(10), now: 11 * time.Second, seen: absent(pod0),
			want: decided{Phase: done, Reason: "MissedDeadline", Scheduled: "MissedDeadline"},
		},
		"17 released after its starting deadline": {
			at: a().StartingDeadline(10), now: time.Hour, seen: absent(pod0),
			want: decided{Phase: done, Reason: "MissedDeadline", Scheduled: "MissedDeadline"},
		},
		"17 its ttl counts from when that was seen": {
			at: a().StartingDeadline(10).TTL(60), now: 11 * time.Second, seen: absent(pod0),
			want: decided{Phase: done, Reason: "MissedDeadline", Scheduled: "MissedDeadline", Requeue: in(71 * time.Second)},
		},
		"17 before an At counts as not run the API server is asked for its pod, whose create may have got no response": {
			at: a().StartingDeadline(10), now: 11 * time.Second, want: decided{Lookup: pod0},
		},
		"7 the pod that the API server has is a run, however late": {
			at: a().StartingDeadline(10), pods: []*corev1.Pod{ownPod().Obj()}, now: 11 * time.Second, want: decided{Phase: runs, Scheduled: started},
		},
		"18 at its time": {
			at: a(), now: 0, want: decided{Create: pod0, Phase: runs, Scheduled: started},
		},
		"18 years late": {
			at: a(), now: 10 * 365 * 24 * time.Hour, want: decided{Create: pod0, Phase: runs, Scheduled: started},
		},
		"18 now": {
			at: a().Schedule("now"), now: -2 * time.Minute, want: decided{Create: pod0, Phase: runs, Scheduled: started},
		},
		"18 within its starting deadline": {
			at: a().StartingDeadline(10), now: 10*time.Second + 999*time.Millisecond,
			want: decided{Create: pod0, Phase: runs, Scheduled: started},
		},
		"18 a starting deadline of 0 leaves the second of the time": {
			at: a().StartingDeadline(0), now: 5 * time.Millisecond, want: decided{Create: pod0, Phase: runs, Scheduled: started},
		},
		"18 with a deadline it is requeued at the deadline": {
			at: a().ActiveDeadline(60), now: time.Second, want: decided{Create: pod0, Phase: runs, Scheduled: started, Requeue: in(61 * time.Second)},
		},
		"18 a create without an answer is repeated": {
			at: a(), now: time.Second, outcome: &at.Outcome{}, want: decided{Create: pod0, Phase: pending, Scheduled: waiting},
		},
		"19 a create that meets the pod of an older At of this name waits for the garbage collector": {
			at: a(), now: time.Second, outcome: &at.Outcome{Conflicting: olderPod},
			want: decided{Create: pod0, Phase: pending, Scheduled: "NameTaken", Requeue: in(11 * time.Second)},
		},
		"19 and within the starting deadline": {
			at: a().StartingDeadline(5), now: time.Second, outcome: &at.Outcome{Conflicting: olderPod},
			want: decided{Create: pod0, Phase: pending, Scheduled: "NameTaken", Requeue: in(6 * time.Second)},
		},
		"20 a create that meets a foreign pod leaves it alone": {
			at: a(), now: time.Second, outcome: &at.Outcome{Conflicting: foreign},
			want: decided{Create: pod0, Phase: done, Reason: "PodNameConflict", Scheduled: "PodNameConflict"},
		},
		"20 the pod of another At is foreign": {
			at: a(), now: time.Second, outcome: &at.Outcome{Conflicting: otherAt},
			want: decided{Create: pod0, Phase: done, Reason: "PodNameConflict", Scheduled: "PodNameConflict"},
		},
		"20 the pod of another kind with this name is foreign": {
			at: a(), now: time.Second, outcome: &at.Outcome{Conflicting: otherKind},
			want: decided{Create: pod0, Phase: done, Reason: "PodNameConflict", Scheduled: "PodNameConflict"},
		},
		"20 a retry that meets a foreign pod is the end": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: time.Hour, outcome: &at.Outcome{Conflicting: foreign1},
			want: decided{Create: pod1, Phase: done, Reason: "PodNameConflict", Scheduled: started},
		},
		"21 a rejection is reported, and its back-off is waited for": {
			at: a(), now: time.Second, outcome: rejected("exceeded quota", false, 9*time.Second),
			want: decided{Create: pod0, Phase: pending, Scheduled: "FailedCreate", Requeue: in(9 * time.Second)},
		},
		"21 no create before the back-off is over": {
			at: a(), now: time.Second, seen: obs{Rejection: rejection(9 * time.Second)},
			want: decided{Phase: pending, Scheduled: "FailedCreate", Requeue: in(9 * time.Second)},
		},
		"21 nor after the starting deadline": {
			at: a().StartingDeadline(3), now: time.Second, seen: obs{Rejection: rejection(9 * time.Second)},
			want: decided{Phase: pending, Scheduled: "FailedCreate", Requeue: in(4 * time.Second)},
		},
		"21 then it is tried again": {
			at: a(), now: 9 * time.Second, seen: obs{Rejection: rejection(9 * time.Second)},
			want: decided{Create: pod0, Phase: runs, Scheduled: started},
		},
		"21 the rejection is still reported while a create is not answered": {
			at: a(), now: 9 * time.Second, seen: obs{Rejection: rejection(9 * time.Second)}, outcome: &at.Outcome{},
			want: decided{Create: pod0, Phase: pending, Scheduled: "FailedCreate"},
		},
		"21 a pod that is invalid names the template": {
			at: a(), now: time.Second, outcome: rejected("invalid", true, time.Minute),
			want: decided{Create: pod0, Phase: pending, Scheduled: "InvalidTemplate", Requeue: in(time.Minute)},
		},
		"21 a rejected retry keeps running": {
			at: a().BackoffLimit(1), pods: []*corev1.Pod{failed().Obj()}, now: time.Minute, outcome: rejected("exceeded quota", false, 2*time.Minute),
			want: decided{Create: pod1, Phase: runs, Scheduled: "FailedCreate", Requeue: in(2 * time.Minute)},
		},
		"22 a create that fails is reported": {
			at: a(), now: time.Second, outcome: &at.Outcome{CreateError: errors.New("no endpoints")},
			want: decided{Create: pod0, Phase: pending, Scheduled: "FailedCreate"},
		},
		"22 a retry that fails keeps running": {
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

// rejected is a create that the API server has just rejected, with a back-off that ends at a time counted from AtDue.
func rejected(message string, invalid bool, until time.Duration) *at.Outcome {
	rejectedAt := due.Add(until - time.Second)
	last := expectations.LastRejection{}.Rejected(message, invalid, a().Obj().Generation, rejectedAt, rejectedAt)
	return &at.Outcome{Rejected: &last}
}

// absent is an observation after the API server was asked for a pod and had none of this At.
func absent(name string) at.Observation { return at.Observation{Absent: sets.New(name)} }

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
	report := at.MakeReport(at.Observation{At: edited, Pods: []*corev1.Pod{pod}, Now: due}, at.Outcome{})
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
	report = at.MakeReport(at.Observation{At: edited, Pods: []*corev1.Pod{pod}, Now: due}, at.Outcome{})
	check("after another edit")
	if len(report.Events) > 0 {
		t.Errorf("the warning is repeated: %v", report.Events)
	}
	edited.Status = report.Status
	report = at.MakeReport(at.Observation{At: edited, Pods: []*corev1.Pod{succeeded().Obj()}, Now: due}, at.Outcome{})
	check("after the end")
}

func TestAnEditAfterTheRunWasRecordedIsNoLateEdit(t *testing.T) {
	recorded := a().Recorded(1, pod0, pod0+"-uid").Generation(4).Obj()
	pod := running().Obj()
	pod.Annotations = map[string]string{cnatv1alpha1.AnnotationGeneration: "3"}
	report := at.MakeReport(at.Observation{At: recorded, Pods: []*corev1.Pod{pod}, Now: due}, at.Outcome{})
	c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if c.Reason != cnatv1alpha1.ReasonStarted || c.ObservedGeneration != 4 || report.Status.ObservedGeneration != 4 {
		t.Errorf("condition %+v, observed generation %d", c, report.Status.ObservedGeneration)
	}
}
