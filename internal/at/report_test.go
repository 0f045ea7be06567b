// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// rejected returns the Memory of a process whose last request about a pod was rejected.
func rejected(t *testing.T, b *testutil.AtBuilder, all []*corev1.Pod, err error) at.Memory {
	t.Helper()
	w := world{at: b, pods: all}
	_, v, step, _ := w.next(t)
	w.memory.Heard(&v, step, at.Result{Rejected: err}, due)
	return w.memory
}

// failing returns the Memory of a process whose requests have failed for a while.
func failing(t *testing.T, b *testutil.AtBuilder, all ...*corev1.Pod) at.Memory {
	t.Helper()
	w := world{at: b, pods: all}
	_, v, step, _ := w.next(t)
	w.memory.Heard(&v, step, at.Result{Failed: quota}, due.Add(-time.Minute))
	return w.memory
}

// TestMakeReport_message has what a user reads in the condition Ready, and the events that warn.
func TestMakeReport_message(t *testing.T) {
	waits := func() *testutil.AtPodBuilder { return own().OnNode().Waiting("busybox", "ImagePullBackOff") }
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, pod0, field.ErrorList{field.Required(field.NewPath("spec", "containers").Index(0).Child("image"), "")})
	ofOlder := own().Obj()
	ofOlder.OwnerReferences[0].UID = "older"
	_, _, _, suspended := (&world{at: a().Suspend().StartingDeadline(0)}).next(t)
	retry, modified := a().BackoffLimit(1).RetryRecorded(1, pod0, time.Minute), testutil.MakeAtPod(a().Obj(), pod1).Gated(1).Terminating()
	for name, test := range map[string]struct {
		world
		want string // The reason, the status of Ready, and the message.
		warn string // The reason of the event, if there is one.
	}{
		"it waits": {world{at: a(), now: -time.Hour}, "Waiting True runs at 2030-01-30T10:02:00Z", ""},
		"its dry run is rejected": {
			world{at: a(), now: -time.Hour, answer: at.Answer{Rejection: expectations.NewRejection(quota)}},
			`WouldBeRejected False the API server would reject the pod now: pods "a-pod" is forbidden: exceeded quota`, "WouldBeRejected",
		},
		"its dry run is not answered": {
			world{at: a(), now: -time.Hour, answer: at.Answer{Unknown: "timeout"}},
			"NotChecked True runs at 2030-01-30T10:02:00Z; the API server could not check the pod: timeout", "",
		},
		"the API server warns": {
			world{at: a(), now: -time.Hour, answer: at.Answer{Warnings: []string{"would violate PodSecurity"}}},
			"AdmissionWarning True runs at 2030-01-30T10:02:00Z; the API server accepts the pod, with a warning: would violate PodSecurity", "AdmissionWarning",
		},
		"the name is taken": {
			world{at: a(), now: -time.Hour, answer: at.Answer{Rejection: &expectations.Rejection{Exists: true, Message: "pod a-pod already exists"}}},
			"PodNameConflict False pod a-pod already exists", "PodNameConflict",
		},
		"admission would change the pod": {
			world{at: a().Suspend(), answer: at.Answer{Modified: "the name of pod a-pod to b"}},
			"WouldBeRejected False admission would change the name of pod a-pod to b: the At would end as PodModified. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them", "WouldBeRejected",
		},
		"its create is rejected": {
			world{at: a(), memory: rejected(t, a(), nil, quota)}, `FailedCreate False pods "a-pod" is forbidden: exceeded quota`, "FailedCreate",
		},
		"its create is invalid": {
			world{at: a().Template(nil, "busybox"), memory: rejected(t, a().Template(nil, "busybox"), nil, invalid)},
			`InvalidTemplate False Pod "a-pod" is invalid: spec.containers[0].image: Required value`, "InvalidTemplate",
		},
		"its dry run is invalid": {
			world{at: a().Template(nil, "busybox"), now: -time.Hour, answer: at.Answer{Rejection: expectations.NewRejection(invalid)}},
			`InvalidTemplate False Pod "a-pod" is invalid: spec.containers[0].image: Required value`, "InvalidTemplate",
		},
		"a pod of a deleted At has the name": {
			world{at: a(), now: -time.Hour, older: []*corev1.Pod{ofOlder}},
			"AdmissionWarning True runs at 2030-01-30T10:02:00Z; pod a-pod belongs to a deleted At with the same name: this At starts when that pod is gone", "AdmissionWarning",
		},
		"its create fails": {world{at: a(), memory: failing(t, a())}, `RequestFailed False pods "a-pod" is forbidden: exceeded quota`, "RequestFailed"},
		"the removal of its gate is rejected": {
			world{at: runs0(), pods: pods(gated()), memory: rejected(t, runs0(), pods(gated()), quota)},
			`FailedStart False pods "a-pod" is forbidden: exceeded quota`, "FailedStart",
		},
		"the removal of its gate fails": {
			world{at: runs0(), pods: pods(gated()), memory: failing(t, runs0(), gated().Obj())}, `RequestFailed False pods "a-pod" is forbidden: exceeded quota`, "RequestFailed",
		},
		"its budget is rejected": {
			world{at: runs0().Uninterrupted(), pods: pods(gated()), memory: rejected(t, runs0().Uninterrupted(), pods(gated()), errors.New("no budgets here"))},
			"FailedStart False no budgets here", "FailedStart",
		},
		"too late after its budget was rejected": {
			world{
				at: failedStart(runs0().Uninterrupted().StartingDeadline(0), "no budgets here"), now: 10 * time.Second,
				memory: gone(t, runs0().Uninterrupted().StartingDeadline(0), gated().Obj()),
			},
			"MissedDeadline False startingDeadlineSeconds (0) exceeded: the command was due at 2030-01-30T10:02:00Z: no budgets here; the command did not run", "MissedDeadline",
		},
		"its budget would be rejected": {
			world{at: a().Uninterrupted(), now: -time.Hour, answer: at.Answer{Budget: "no budgets here"}},
			"WouldBeRejected False the API server would reject the PodDisruptionBudget of spec.uninterrupted now: no budgets here", "WouldBeRejected",
		},
		"it runs":               {world{at: runs0(), pods: pods(live())}, "Running False pod a-pod was created", ""},
		"it waits for an image": {world{at: runs0(), pods: pods(waits())}, "PodWaiting False pod a-pod is waiting: ImagePullBackOff", "PodWaiting"},
		"it is slow": {
			world{at: runs0(), pods: pods(own().OnNode().Waiting("busybox", "ContainerCreating")), now: time.Hour},
			"PodWaiting False pod a-pod is waiting: ContainerCreating for more than a minute: see the events of the pod", "PodWaiting",
		},
		"no scheduler works": {
			world{at: runs0(), pods: pods(own()), now: time.Hour},
			"PodWaiting False pod a-pod is waiting: no scheduler has bound it to a node for more than a minute", "PodWaiting",
		},
		"a proxy that the cache does not show runs on": {
			world{at: runs0(), pods: pods(own().OnNode().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due)), now: 10 * time.Second},
			"ContainersRunning False the command ended with exit code 0; other containers of the pod are still running", "",
		},
		"two proxies run on": {
			world{at: runs0(), pods: pods(own().OnNode().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due).Runs("a").Runs("b")), now: 10 * time.Second},
			"ContainersRunning False the command ended with exit code 0; containers a, b are still running", "",
		},
		"a proxy runs on": {
			world{at: runs0(), pods: pods(own().OnNode().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due).Runs("proxy")), now: 10 * time.Second},
			"ContainersRunning False the command ended with exit code 0; container proxy is still running", "",
		},
		"its node ends it": {world{at: runs0(), pods: pods(live().Terminating())}, "Running False pod a-pod was created", ""},
		"its node does not end it": {
			world{at: runs0(), pods: pods(live().Terminating()), now: time.Minute},
			"PodTerminating False pod a-pod is being deleted, and its node has not confirmed that the command ended: it may still be running", "",
		},
		"canceled while it runs": {world{at: runs0().Cancel(), pods: pods(live())}, "Running False spec.cancel is true: stopping pod a-pod", ""},
		"canceled, and the stop is rejected": {
			world{at: runs0().Cancel(), pods: pods(live()), memory: rejected(t, runs0().Cancel(), pods(live()), quota)},
			`FailedStop False spec.cancel is true: stopping pod a-pod; pods "a-pod" is forbidden: exceeded quota`, "FailedStop",
		},
		"canceled, and an earlier process could not stop it": {
			world{at: reported(runs0().Cancel(), cnatv1alpha1.ReasonFailedStop, "no stops here"), pods: pods(live())}, "FailedStop False no stops here", "",
		},
		"canceled, and the stop is repeated": {
			world{at: runs0().Cancel(), pods: pods(live()), memory: rejected(t, runs0().Cancel(), pods(live()), quota), now: time.Minute},
			`FailedStop False spec.cancel is true: stopping pod a-pod; pods "a-pod" is forbidden: exceeded quota`, "FailedStop",
		},
		"no node has taken the pod until the starting deadline": {
			world{at: waiting(runs0().StartingDeadline(9), "pod a-pod is waiting: Unschedulable"), pods: pods(own().Unschedulable()), now: 10 * time.Second},
			"PodWaiting False pod a-pod is waiting: Unschedulable: 0/3 nodes are available; startingDeadlineSeconds exceeded, and the command has not started: stopping pod a-pod", "PodWaiting",
		},
		"the deadline stops a pod that waits": {
			world{at: waiting(runs0().ActiveDeadline(5), "pod a-pod is waiting: ImagePullBackOff"), pods: pods(waits()), now: 6 * time.Second},
			"PodWaiting False pod a-pod is waiting: ImagePullBackOff; activeDeadlineSeconds exceeded: stopping pod a-pod", "PodWaiting",
		},
		"the deadline stops a pod before it is known to wait": {
			world{at: runs0().ActiveDeadline(5), pods: pods(waits()), now: 6 * time.Second},
			"PodWaiting False pod a-pod is waiting: ImagePullBackOff; activeDeadlineSeconds exceeded: stopping pod a-pod", "PodWaiting",
		},
		"the deadline still stops it": {
			world{at: waiting(runs0().ActiveDeadline(5), "pod a-pod is waiting: ImagePullBackOff; activeDeadlineSeconds exceeded: stopping pod a-pod"), pods: pods(waits()), now: 6 * time.Second},
			"PodWaiting False pod a-pod is waiting: ImagePullBackOff; activeDeadlineSeconds exceeded: stopping pod a-pod", "",
		},
		"a better cause is known after the stop": {
			world{at: waiting(runs0().ActiveDeadline(5), "pod a-pod is waiting: ContainerCreating for more than a minute; activeDeadlineSeconds exceeded: stopping pod a-pod"), pods: pods(waits()), now: 6 * time.Second},
			"PodWaiting False pod a-pod is waiting: ImagePullBackOff; activeDeadlineSeconds exceeded: stopping pod a-pod", "PodWaiting",
		},
		"canceled before the start": {
			world{at: a().Cancel()}, "Canceled False the At was canceled by spec.cancel; the command did not run", "Canceled",
		},
		"canceled while gated": {
			world{at: runs0().Cancel(), memory: gone(t, runs0(), gated().Obj())}, "Canceled False the At was canceled by spec.cancel; the command did not run", "Canceled",
		},
		"too late after a rejection": {
			world{at: a().StartingDeadline(0), memory: rejected(t, a(), nil, quota), now: time.Second},
			`MissedDeadline False startingDeadlineSeconds (0) exceeded: the command was due at 2030-01-30T10:02:00Z: the last request to create its pod was rejected: pods "a-pod" is forbidden: exceeded quota; the command did not run`,
			"MissedDeadline",
		},
		"too late after the create of another process was rejected": {
			world{at: notScheduled(a().StartingDeadline(0), quota.Error()), now: time.Minute},
			`MissedDeadline False startingDeadlineSeconds (0) exceeded: the command was due at 2030-01-30T10:02:00Z: FailedCreate: pods "a-pod" is forbidden: exceeded quota; the command did not run`,
			"MissedDeadline",
		},
		"too late when it was resumed": {
			world{at: a().StartingDeadline(0).Status(suspended.Status), now: time.Minute},
			"MissedDeadline False startingDeadlineSeconds (0) exceeded: the command was due at 2030-01-30T10:02:00Z: spec.suspend was true; the command did not run", "MissedDeadline",
		},
		"too late after its pod could not be deleted": {
			world{at: reported(a().StartingDeadline(0), cnatv1alpha1.ReasonFailedDelete, "no deletions here"), now: time.Minute},
			"MissedDeadline False startingDeadlineSeconds (0) exceeded: the command was due at 2030-01-30T10:02:00Z: no deletions here; the command did not run", "MissedDeadline",
		},
		"too late when it was created": {
			world{at: a().Schedule("2020-01-30T10:02:00Z").StartingDeadline(0)},
			"MissedDeadline False startingDeadlineSeconds (0) exceeded: the command was due at 2020-01-30T10:02:00Z: the At was created at 2030-01-30T10:00:00Z, after that time; the command did not run",
			"MissedDeadline",
		},
		"too late, and nothing is known": {
			world{at: a().StartingDeadline(0), now: time.Hour},
			"MissedDeadline False startingDeadlineSeconds (0) exceeded: the command was due at 2030-01-30T10:02:00Z: the operator was not running at that time, or did not serve this namespace; the command did not run",
			"MissedDeadline",
		},
		"too late on its node": {
			world{at: waiting(runs0().StartingDeadline(9), "pod a-pod is waiting: ImagePullBackOff"), pods: []*corev1.Pod{stopped(own().OnNode().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Exited("busybox", 137, "ContainerStatusUnknown", "", due).Obj())}, now: time.Minute},
			"PodFailed False startingDeadlineSeconds exceeded before the operator saw the command start; pod a-pod failed: DeadlineExceeded; pod a-pod is waiting: ImagePullBackOff; the command may have run", "Failed",
		},
		"the deadline ended a pod that waited": {
			world{at: waiting(runs0().ActiveDeadline(5), "pod a-pod is waiting: ImagePullBackOff"), pods: pods(own().OnNode().Phase(corev1.PodFailed).Because("DeadlineExceeded", "")), now: time.Minute},
			"DeadlineExceeded False activeDeadlineSeconds (5) exceeded; last attempt: pod a-pod failed: DeadlineExceeded; pod a-pod is waiting: ImagePullBackOff; the command may have run", "DeadlineExceeded",
		},
		"lost": {
			world{at: runs0()}, "PodLost False pod a-pod disappeared before its end was recorded; the command may have run. It is not run again: to run it, create another At", "PodLost",
		},
		"a stranger has the name": {
			world{at: a(), memory: taken(t), only: []*corev1.Pod{testutil.MakePod(pod0).Obj()}},
			`PodNameConflict False pods "a-pod" already exists`, "PodNameConflict",
		},
		"canceled, and a user has opened the pod": {
			world{at: a().Cancel(), pods: pods(live())},
			"PodModified False the scheduling gate cnat.d2iq.com/start of pod a-pod was removed, but not by this operator; the command may have run. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again", "PodModified",
		},
		"canceled, and a pod that may be the run has the name": {
			world{at: a().Cancel(), only: []*corev1.Pod{testutil.MakePod(pod0).Annotation(cnatv1alpha1.AnnotationGeneration, "1").Obj()}},
			"PodModified False pod a-pod has no scheduling gate cnat.d2iq.com/start, and may be the pod of this At; the command may have run. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again", "PodModified",
		},
		"too late, and a pod that may be the run has the name": {
			world{at: a().StartingDeadline(0), now: time.Hour, only: []*corev1.Pod{testutil.MakePod(pod0).Annotation(cnatv1alpha1.AnnotationGeneration, "1").Obj()}},
			"PodModified False pod a-pod has no scheduling gate cnat.d2iq.com/start, and may be the pod of this At; the command may have run. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again", "PodModified",
		},
		"canceled, and the run without its owner has the name": {
			world{at: a().Cancel(), only: pods(live().Unowned())},
			"PodModified False the scheduling gate cnat.d2iq.com/start of pod a-pod was removed, but not by this operator; the command may have run. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again", "PodModified",
		},
		"canceled after a failed attempt, whose pod has lost its owner": {
			world{at: a().BackoffLimit(1).RetryRecorded(1, "another", time.Minute).Cancel(), now: time.Minute, only: pods(live().Unowned())},
			"Canceled False the At was canceled by spec.cancel; the command in pod another ended with exit code 3", "Canceled",
		},
		"admission removes the gate": {
			world{at: a(), memory: ungated(t), answer: at.Answer{Ungated: true, Modified: "pod a-pod so that it lacks the gate"}},
			"PodModified False admission would remove the scheduling gate cnat.d2iq.com/start of pod a-pod; the command did not run. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again", "PodModified",
		},
		"admission removes the gate, and a create was not answered": {
			world{at: a(), memory: ungated(t), answer: at.Answer{Ungated: true, Modified: "the gate"}, only: []*corev1.Pod{testutil.MakePod(pod0).Annotation(cnatv1alpha1.AnnotationGeneration, "1").Obj()}},
			"PodModified False pod a-pod has no scheduling gate cnat.d2iq.com/start, and may be the pod of this At; the command may have run. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again", "PodModified",
		},
		"admission changes the pod of a retry": {
			world{at: retry, now: time.Minute, memory: knows(t, retry, modified.Obj(), "the restartPolicy"), only: pods(modified)},
			"PodModified False admission changed the restartPolicy; the command was not run again. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again", "PodModified",
		},
		"a pod that fits no node is canceled": {
			world{
				at:     waiting(runs0().Cancel(), "pod a-pod is waiting: Unschedulable: 0/3 nodes are available"),
				memory: gone(t, runs0(), own().Unschedulable().Obj()),
			},
			"Canceled False the At was canceled by spec.cancel; pod a-pod was deleted before it was bound to a node; " +
				"pod a-pod is waiting: Unschedulable: 0/3 nodes are available; the command did not run", "Canceled",
		},
		"its prepared pod cannot be deleted": {
			world{at: a().Suspend(), pods: pods(gated()), memory: rejected(t, a().Suspend(), pods(gated()), quota)},
			`FailedDelete False pods "a-pod" is forbidden: exceeded quota`, "FailedDelete",
		},
		"done, and its sidecar cannot be stopped": {
			world{at: a().Status(finished), pods: pods(live()), memory: rejected(t, a().Status(finished), pods(live()), quota)},
			`FailedStop False pods "a-pod" is forbidden: exceeded quota`, "FailedStop",
		},
		"the node starts it again": {
			world{at: runs0(), pods: pods(startedAgain())},
			"RanAgain False the node started the command again in the same pod, so it ran, or began to run, more than once; the command in pod a-pod ended with exit code 0", "RanAgain",
		},
		"another process does not know the rejection": {
			world{at: notScheduled(a(), quota.Error())}, `FailedCreate False pods "a-pod" is forbidden: exceeded quota`, "",
		},
		"a record with a gate whose owner was removed": {
			world{at: runs0(), only: pods(gated().Unowned())},
			"NotStarted False the owner reference of pod a-pod was removed: the operator no longer manages the pod; the command did not run", "NotStarted",
		},
		"it is deleted with its node": {
			world{at: runs0(), pods: pods(live().Condition(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByTaintManager", "node lost").Terminating())},
			"PodTerminating False pod a-pod is being deleted, and its node has not confirmed that the command ended: it may still be running; Kubernetes disrupted the pod: DeletionByTaintManager: node lost", "",
		},
		"an unknown end with retries left": {
			world{at: runs0().BackoffLimit(1), pods: pods(ended(255))},
			"PodFailed False the container runtime reported exit code 255 for the command in pod a-pod, which it also does if it does not know the exit code; the command may have run. It is not retried, because nothing proves that it failed", "Failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, report := test.next(t)
			c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionReady)
			if diff := gocmp.Diff(test.want, strings.Join([]string{c.Reason, string(c.Status), c.Message}, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var warn []string
			for _, e := range report.Events {
				if e.Warning {
					warn = append(warn, e.Reason)
				}
			}
			if got := strings.Join(warn, " "); got != test.warn {
				t.Errorf("warnings %q, want %q", got, test.warn)
			}
			stalled := meta.IsStatusConditionTrue(report.Status.Conditions, cnatv1alpha1.ConditionStalled)
			if verdict := at.Reasons[c.Reason]; stalled != verdict.Stalled || c.Status != verdict.Ready {
				t.Errorf("Stalled is %t, Ready is %s", stalled, c.Status)
			}
		})
	}
}

// waiting gives the At the condition of a pod that waits, and failedStart that of a pod that may not start.
func waiting(b *testutil.AtBuilder, message string) *testutil.AtBuilder {
	return notReady(b, cnatv1alpha1.ReasonPodWaiting, message)
}

func failedStart(b *testutil.AtBuilder, message string) *testutil.AtBuilder {
	return notReady(b, cnatv1alpha1.ReasonFailedStart, message)
}

// reported gives the At a condition that an operator has reported about its present spec.
func reported(b *testutil.AtBuilder, reason, message string) *testutil.AtBuilder {
	b = notReady(b, reason, message)
	s := b.Obj().Status
	s.Conditions[0].ObservedGeneration = 1
	return b.Status(s)
}

func notReady(b *testutil.AtBuilder, reason, message string) *testutil.AtBuilder {
	s := b.Obj().Status
	s.Conditions = []metav1.Condition{{Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
	return b.Status(s)
}

// notScheduled gives the At the conditions of a create that was rejected.
func notScheduled(b *testutil.AtBuilder, message string) *testutil.AtBuilder {
	s := cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending}
	for _, kind := range []string{cnatv1alpha1.ConditionScheduled, cnatv1alpha1.ConditionReady, cnatv1alpha1.ConditionStalled} {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonFailedCreate, Message: message, ObservedGeneration: 1}
		if kind == cnatv1alpha1.ConditionStalled {
			c.Status = metav1.ConditionTrue
		}
		s.Conditions = append(s.Conditions, c)
	}
	return b.Status(s)
}

// ungated returns the Memory of a process to which the API server has said that admission would remove the gate.
func ungated(t *testing.T) at.Memory {
	t.Helper()
	return world{at: a(), now: -time.Minute, answer: at.Answer{Ungated: true, Modified: "the gate"}}.unwritten(t)
}

// startedAgain returns a pod whose node has started the command twice.
func startedAgain() *testutil.AtPodBuilder {
	return ended(0).Restarted(firstRun)
}

// firstRun is how a container ended that the node has started again.
var firstRun = corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", ContainerID: "containerd://first"}

// taken returns the Memory of a process whose create was answered with: this name exists.
func taken(t *testing.T) at.Memory {
	t.Helper()
	w := world{at: a()}
	_, v, step, _ := w.next(t)
	w.memory.Heard(&v, step, at.Result{Rejected: exists}, due)
	return w.memory
}

// TestMakeReport_status follows a run with a retry through its statuses.
func TestMakeReport_status(t *testing.T) {
	b := a().BackoffLimit(1)
	w := world{at: b, memory: knows(t, b, gated().Obj(), "")}
	_, _, _, report := w.next(t)
	s := report.Status
	want := cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseRunning, PodName: pod0, PodUID: pod0 + "-uid", Attempts: 1, ObservedGeneration: 1,
		ScheduledTime: ptr.To(metav1.NewTime(due)), StartTime: ptr.To(metav1.NewTime(due)), Conditions: s.Conditions,
	}
	if diff := gocmp.Diff(want, s); diff != "" {
		t.Errorf("the start (-want +got):\n%s", diff)
	}
	var phases []string
	for _, e := range report.Events {
		phases = append(phases, e.Note)
	}
	if diff := gocmp.Diff([]string{"PENDING", "RUNNING"}, phases); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	_, _, _, report = (&world{at: b.Status(s), pods: pods(ended(3)), now: time.Minute}).next(t)
	if got := report.Status; got.RetryTime == nil || !got.RetryTime.Time.Equal(due.Add(70*time.Second)) || ptr.Deref(got.ExitCode, 0) != 3 || got.Phase != want.Phase {
		t.Errorf("between attempts: %+v", got)
	}
	message := "attempt 1 of 2 failed: NonZeroExitCode: the command in pod a-pod ended with exit code 3; the next one is due at " + due.Add(70*time.Second).UTC().Format(time.RFC3339)
	if got := report.Events; len(got) != 1 || got[0].Reason != cnatv1alpha1.ReasonBackOff || got[0].Note != message {
		t.Errorf("the event of the failed attempt: %+v", got)
	}
	second := testutil.MakeAtPod(a().Obj(), pod1).Gated(1).Obj()
	w = world{at: b.Status(report.Status), now: 70 * time.Second, pods: pods(ended(3))}
	_, v, step, _ := w.next(t)
	w.memory.Heard(&v, step, at.Result{Pod: second}, due.Add(w.now))
	_, _, _, report = w.next(t)
	if got := report.Status; got.Attempts != 2 || got.PodUID != second.UID || got.ExitCode != nil || got.RetryTime != nil || !got.StartTime.Equal(want.StartTime) ||
		len(report.Events) != 1 || report.Events[0].Note != "attempt 2 of 2 runs in pod a-pod-1" {
		t.Errorf("the second attempt: %+v, %+v", got, report.Events)
	}
}

// A forged phase is corrected, and the end stays as it was recorded.
func TestMakeReport_done(t *testing.T) {
	_, _, _, report := (&world{at: runs0(), pods: pods(ended(0))}).next(t)
	want, forged := report.Status, *report.Status.DeepCopy()
	forged.Phase = cnatv1alpha1.PhasePending
	_, _, _, report = (&world{at: a().Status(forged), pods: pods(ended(0))}).next(t)
	if diff := gocmp.Diff(want, report.Status); diff != "" || !proof.IsDone(&want) || len(report.Events) > 0 {
		t.Errorf("(-want +got):\n%s\n%v", diff, report.Events)
	}
	forged = runs0().Obj().Status
	forged.Phase = cnatv1alpha1.PhaseDone
	_, _, _, report = (&world{at: a().Status(forged), pods: pods(live())}).next(t)
	if got := report.Status; got.Phase != cnatv1alpha1.PhaseRunning || len(report.Events) != 1 || report.Events[0].Note != "RUNNING" {
		t.Errorf("%+v, %v", got, report.Events)
	}
}

// The clock of the operator may be set back during a run.
func TestMakeReport_clockBack(t *testing.T) {
	_, _, _, report := (&world{at: runs0(), pods: pods(ended(0)), now: -time.Minute}).next(t)
	if got := report.Status; !got.CompletionTime.Equal(got.StartTime) {
		t.Errorf("completionTime is %v, before %v", got.CompletionTime, got.StartTime)
	}
}

// The API stores years with four digits, and Go's zero time as null.
func TestMakeReport_scheduledTime(t *testing.T) {
	for schedule, want := range map[string]string{
		"9999-12-31T23:59:59-14:00": "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z": "0001-01-01T00:00:01Z",
	} {
		_, _, _, report := (&world{at: a().Schedule(schedule).Suspend()}).next(t)
		if got := report.Status.ScheduledTime.UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s is stored as %s, want %s", schedule, got, want)
		}
	}
}

// The exit code that was recorded first stays while other containers run, whatever the pod shows later.
func TestMakeReport_exitCode(t *testing.T) {
	for name, at := range map[string]*testutil.AtBuilder{"seen now": runs0(), "recorded": exited(3)} {
		want := int32(137)
		if name == "recorded" {
			want = 3
		}
		pod := own().OnNode().Phase(corev1.PodRunning).Exited("busybox", 137, "Error", "", due).Runs("proxy")
		_, _, _, report := (&world{at: at, pods: pods(pod)}).next(t)
		if got := ptr.Deref(report.Status.ExitCode, -1); got != want {
			t.Errorf("%s: the exit code is %d, want %d", name, got, want)
		}
	}
}

func TestMakeReport_noShell(t *testing.T) {
	_, _, _, report := (&world{at: a().Command("a && b"), now: -time.Hour}).next(t)
	if len(report.Events) != 2 || report.Events[0].Reason != "NoShell" {
		t.Errorf("%+v", report.Events)
	}
}

// TestMemory_dryRun checks when dry runs are repeated.
func TestMemory_dryRun(t *testing.T) {
	minute := time.Minute
	w := world{at: a().Schedule("2030-01-30T13:00:00Z"), answer: at.Answer{Rejection: expectations.NewRejection(quota)}}
	for range 2 { // After 1 minute, then after 2.
		d, v, step, report := w.next(t)
		if d.Requeue == nil || *d.Requeue != w.now+minute || !step.CanWait {
			t.Errorf("the next dry run is after %v, want %s", d.Requeue, minute)
		}
		w.memory.Recorded(&v, step, nil)
		w.at = w.at.Status(report.Status)
		w.now += minute
		minute *= 2
	}
	w.answer = at.Answer{}
	d, _, _, report := w.next(t)
	if d.Ready != "" || !meta.IsStatusConditionTrue(report.Status.Conditions, cnatv1alpha1.ConditionReady) || *d.Requeue != 2*time.Hour+28*time.Minute {
		t.Errorf("after a good answer: %+v", d)
	}
	other := world{at: w.at} // Another process knows what the status says.
	if d, _, _, _ := other.next(t); d.Ready != "" {
		t.Errorf("another process: %+v", d)
	}
}
