// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// slow is how late a lost response is noticed: later than every deadline of these tests.
const slow = 4 * time.Second

// F25: starting deadlines, active deadlines, TTLs, and retries meet slow lost responses, caches that lag, and crashes.
func TestDeadlines(t *testing.T) {
	runCases(t, "F25", map[string]testCase{
		"the create commits, and its response is lost after the starting deadline":  slowStart(nil),
		"the same, and the At is deleted as soon as it is done":                     slowStart(ptr.To[int32](0)),
		"a crash after the create, and a start after the starting deadline":         crashedStart,
		"the create of a retry commits, its response is lost after the deadline":    slowRetry,
		"the failed pod is deleted while its retry waits":                           podDeletedInBackoff,
		"the failed pod is deleted while its retry waits, and the operator crashes": podDeletedInBackoffAndCrash,
		"the template has a shorter deadline than the At":                           templateDeadline,
		"the TTL is extended while the cache of Ats lags":                           extendedTTL,
		"the command is edited after the pod was created":                           editedTooLate,
	})
}

// slowStart is an At whose pod the cache does not show when the starting deadline has passed.
func slowStart(ttl *int32) testCase {
	return func(e *faults.Env) {
		operator := e.Supervise()
		e.Create(at("b", "now + 1 hour", "echo YAY"))
		e.Settle() // The caches have synced, so Hold holds events and not the first list.
		operator.Hold("pods")
		operator.Inject(faults.Nth(1, faults.Creates, faults.LoseResponseAfter(slow)))
		a := at("a", "now", "echo YAY")
		a.Spec.StartingDeadlineSeconds, a.Spec.TTLSecondsAfterFinished = ptr.To[int64](2), ttl
		e.Create(a)
		e.Wait(slow + 2*time.Second)
		e.Check("A11", e.AwaitPod("a-pod", func(p *corev1.Pod) bool { return p != nil && p.DeletionTimestamp == nil }), "the pod that runs was deleted")
		e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
		operator.Release("pods")
		e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
		if ttl != nil {
			e.AwaitDeletion(a)
			e.Quiesce()
			return
		}
		e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
		e.Quiesce()
		e.ExpectCounts(faults.Counts{Creates: 1})
	}
}

func crashedStart(e *faults.Env) {
	first := e.Start(func(injector *faults.Injector) { injector.Inject(faults.Each(faults.Creates, injector.CrashAfter)) })
	then := version(e)
	a := at("a", "now", "echo YAY")
	a.Spec.StartingDeadlineSeconds = ptr.To[int64](2)
	e.Create(a)
	<-first.Stopped()
	first.Crash()
	e.Wait(slow)
	startInPast(e, then, "pods")
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
}

// slowRetry is an At whose deadline passes while the operator does not know that the pod of its retry exists.
func slowRetry(e *faults.Env) {
	operator := e.Supervise()
	operator.Inject(faults.Nth(2, faults.Creates, faults.LoseResponseAfter(slow)))
	a := at("a", "now", "echo YAY")
	a.Spec.BackoffLimit, a.Spec.ActiveDeadlineSeconds = ptr.To[int32](1), ptr.To[int64](14)
	a.Spec.Template = template("busybox") // Its grace period is short.
	e.Create(a)
	kubelet := &faults.Kubelet{Exit: faults.ExitWith(1)}
	e.RunKubelet(kubelet)
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.RetryTime != nil })
	e.RunKubelet(&faults.Kubelet{})
	operator.Hold("pods")
	podKey(e, "a-pod-1")
	e.Wait(slow + 2*time.Second)
	e.Check("A11", e.AwaitPod("a-pod-1", func(p *corev1.Pod) bool { return p != nil }), "the pod of the retry was deleted")
	e.AwaitAt("A11", "a", func(a *cnatv1alpha1.At) bool { return a.Status.PodName == "a-pod-1" && a.Status.Attempts == 2 })
	operator.Release("pods")
	e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonDeadlineExceeded))
	e.Quiesce()
}

// failOnce creates an At with one retry and returns when the failure is in its status.
func failOnce(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(1)})
	a := at("a", "now", "echo YAY")
	a.Spec.BackoffLimit = ptr.To[int32](1)
	e.Create(a)
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.RetryTime != nil })
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
}

func retried(e *faults.Env) {
	e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 2})
}

func podDeletedInBackoff(e *faults.Env) {
	e.Supervise()
	failOnce(e)
	e.Delete(&corev1.Pod{ObjectMeta: podKey(e, "a-pod")}, client.GracePeriodSeconds(0))
	retried(e)
}

func podDeletedInBackoffAndCrash(e *faults.Env) {
	first := e.Start()
	failOnce(e)
	first.Crash()
	e.Delete(&corev1.Pod{ObjectMeta: podKey(e, "a-pod")}, client.GracePeriodSeconds(0))
	e.Supervise()
	retried(e)
}

func templateDeadline(e *faults.Env) {
	e.Supervise()
	a := at("a", "now", "echo YAY")
	a.Spec.Template = template("busybox")
	a.Spec.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
	a.Spec.ActiveDeadlineSeconds, a.Spec.BackoffLimit = ptr.To[int64](60), ptr.To[int32](1)
	e.Create(a)
	key := podKey(e, "a-pod")
	faults.EditStatus(e, &corev1.Pod{ObjectMeta: key}, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
	})
	e.AwaitAt("A11", "a", func(a *cnatv1alpha1.At) bool { return a.Status.RetryTime != nil })
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	retried(e)
}

func extendedTTL(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	operator := e.Supervise()
	a := at("a", "now", "echo YAY")
	a.Spec.TTLSecondsAfterFinished = ptr.To[int32](30)
	e.Create(a)
	e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
	e.Settle()
	operator.Hold("ats")
	faults.Edit(e, a, func(a *cnatv1alpha1.At) { a.Spec.TTLSecondsAfterFinished = ptr.To[int32](3600) })
	e.Wait(31 * time.Second)
	operator.Release("ats")
	e.AwaitAt("A5", "a", func(a *cnatv1alpha1.At) bool {
		return a.DeletionTimestamp == nil && a.Status.ObservedGeneration == a.Generation
	})
	e.Quiesce()
}

// editedTooLate edits an At after its pod is created and before the status records it.
func editedTooLate(e *faults.Env) {
	operator := e.Supervise()
	blocked, unblock := blockRunning(operator)
	defer unblock()
	a := at("a", "now", "echo YAY")
	e.Create(a)
	<-blocked
	faults.Edit(e, a, func(a *cnatv1alpha1.At) { a.Spec.Command = "echo NAY" })
	operator.ClearRules()
	unblock()
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.AwaitAt("A11", "a", func(a *cnatv1alpha1.At) bool {
		c := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionScheduled)
		return a.Status.Reason == cnatv1alpha1.ReasonCompleted && c != nil && c.Reason == cnatv1alpha1.ReasonEditedTooLate
	})
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
}
