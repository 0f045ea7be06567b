// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bytes"
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
	try(t, "F25", map[string]trial{
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
func slowStart(ttl *int32) trial {
	return func(w *faults.World) {
		operator := w.Supervise()
		w.Create(at("b", "now + 1 hour", "echo YAY"))
		w.Settle() // The caches are filled, so Hold holds back events and not the first list.
		operator.Hold("pods")
		operator.Inject(faults.Nth(1, faults.Creates, faults.LoseAfter(slow)))
		a := at("a", "now", "echo YAY")
		a.Spec.StartingDeadlineSeconds, a.Spec.TTLSecondsAfterFinished = ptr.To[int64](2), ttl
		w.Create(a)
		w.Pass(slow + 2*time.Second)
		w.Check("A11", w.AwaitPod("a-pod", func(p *corev1.Pod) bool { return p != nil && p.DeletionTimestamp == nil }), "the pod that runs was deleted")
		w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
		operator.Release("pods")
		w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
		if ttl != nil {
			w.AwaitDeletion(a)
			w.Rest()
			return
		}
		w.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
		w.Rest()
		w.Costs(faults.Counts{Creates: 1})
	}
}

func crashedStart(w *faults.World) {
	first := w.Start(func(wire *faults.Wire) { wire.Inject(faults.Each(faults.Creates, wire.CrashAfter)) })
	then := version(w)
	a := at("a", "now", "echo YAY")
	a.Spec.StartingDeadlineSeconds = ptr.To[int64](2)
	w.Create(a)
	<-first.Dead()
	first.Crash()
	w.Pass(slow)
	past(w, then, "pods")
	w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	w.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
	w.Rest()
	w.Costs(faults.Counts{Creates: 1})
}

// slowRetry is an At whose deadline passes while the operator does not know that the pod of its retry exists.
func slowRetry(w *faults.World) {
	operator := w.Supervise()
	operator.Inject(faults.Nth(2, faults.Creates, faults.LoseAfter(slow)))
	a := at("a", "now", "echo YAY")
	a.Spec.BackoffLimit, a.Spec.ActiveDeadlineSeconds = ptr.To[int32](1), ptr.To[int64](14)
	a.Spec.Template = template("busybox") // Its grace period is short.
	w.Create(a)
	kubelet := &faults.Kubelet{Exit: faults.ExitWith(1)}
	w.RunKubelet(kubelet)
	w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.RetryTime != nil })
	w.RunKubelet(&faults.Kubelet{})
	operator.Hold("pods")
	podKey(w, "a-pod-1")
	w.Pass(slow + 2*time.Second)
	w.Check("A11", w.AwaitPod("a-pod-1", func(p *corev1.Pod) bool { return p != nil }), "the retry is gone")
	w.AwaitAt("A11", "a", func(a *cnatv1alpha1.At) bool { return a.Status.PodName == "a-pod-1" && a.Status.Attempts == 2 })
	operator.Release("pods")
	w.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonDeadlineExceeded))
	w.Rest()
}

// failOnce starts an At with one retry and returns when its failure is recorded.
func failOnce(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(1)})
	a := at("a", "now", "echo YAY")
	a.Spec.BackoffLimit = ptr.To[int32](1)
	w.Create(a)
	w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.RetryTime != nil })
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
}

func retried(w *faults.World) {
	w.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
	w.Rest()
	w.Costs(faults.Counts{Creates: 2})
}

func podDeletedInBackoff(w *faults.World) {
	w.Supervise()
	failOnce(w)
	w.Delete(&corev1.Pod{ObjectMeta: podKey(w, "a-pod")}, client.GracePeriodSeconds(0))
	retried(w)
}

func podDeletedInBackoffAndCrash(w *faults.World) {
	first := w.Start()
	failOnce(w)
	first.Crash()
	w.Delete(&corev1.Pod{ObjectMeta: podKey(w, "a-pod")}, client.GracePeriodSeconds(0))
	w.Supervise()
	retried(w)
}

func templateDeadline(w *faults.World) {
	w.Supervise()
	a := at("a", "now", "echo YAY")
	a.Spec.Template = template("busybox")
	a.Spec.Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
	a.Spec.ActiveDeadlineSeconds, a.Spec.BackoffLimit = ptr.To[int64](60), ptr.To[int32](1)
	w.Create(a)
	key := podKey(w, "a-pod")
	faults.EditStatus(w, &corev1.Pod{ObjectMeta: key}, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
	})
	w.AwaitAt("A11", "a", func(a *cnatv1alpha1.At) bool { return a.Status.RetryTime != nil })
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	retried(w)
}

func extendedTTL(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	operator := w.Supervise()
	a := at("a", "now", "echo YAY")
	a.Spec.TTLSecondsAfterFinished = ptr.To[int32](4)
	w.Create(a)
	w.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
	w.Settle()
	operator.Hold("ats")
	faults.Edit(w, a, func(a *cnatv1alpha1.At) { a.Spec.TTLSecondsAfterFinished = ptr.To[int32](3600) })
	w.Pass(5 * time.Second)
	operator.Release("ats")
	w.AwaitAt("A5", "a", func(a *cnatv1alpha1.At) bool {
		return a.DeletionTimestamp == nil && a.Status.ObservedGeneration == a.Generation
	})
	w.Rest()
}

// editedTooLate edits an At after its pod was created and before that is recorded.
func editedTooLate(w *faults.World) {
	operator := w.Supervise()
	block, blocked, unblock := faults.Block()
	defer unblock()
	operator.Inject(faults.Each(func(c *faults.Call) bool {
		return faults.StatusWrites(c) && bytes.Contains(c.Body, []byte(cnatv1alpha1.PhaseRunning))
	}, block))
	a := at("a", "now", "echo YAY")
	w.Create(a)
	<-blocked
	faults.Edit(w, a, func(a *cnatv1alpha1.At) { a.Spec.Command = "echo NAY" })
	operator.Heal()
	unblock()
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	w.AwaitAt("A11", "a", func(a *cnatv1alpha1.At) bool {
		c := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionScheduled)
		return a.Status.Reason == cnatv1alpha1.ReasonCompleted && c != nil && c.Reason == cnatv1alpha1.ReasonEditedTooLate && c.ObservedGeneration == a.Generation-1
	})
	w.Rest()
	w.Costs(faults.Counts{Creates: 1})
}
