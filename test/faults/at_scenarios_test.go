// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// F19: changes to an At and its pod by users and nodes.
func TestAtScenarios(t *testing.T) {
	runCases(t, "F19", map[string]testCase{
		"edited in the last millisecond":                editedLate,
		"edited in time":                                edited,
		"deleted at its time":                           deletedAtItsTime,
		"due years ago":                                 ends("2020-01-30T10:02:00Z", faults.ExitWith(0), cnatv1alpha1.ReasonCompleted),
		"the command fails":                             ends("now", faults.ExitWith(3), cnatv1alpha1.ReasonNonZeroExitCode),
		"its pod is deleted before RUNNING is recorded": podDeletedEarly,
		"its pod is deleted while RUNNING":              podDeletedLate,
		"its pod is deleted while RUNNING is unknown":   podDeletedUnknown,
		"the command is not found":                      notFound,
		"the image is never pulled":                     neverPulled,
		"a foreign pod has its name":                    nameCollision,
		"deleted and created again":                     recreated,
	})
}

func ends(schedule string, exit func(*corev1.Pod) *int32, reason string) testCase {
	return func(e *faults.Env) {
		e.RunKubelet(&faults.Kubelet{Exit: exit})
		e.Supervise()
		e.Create(at("a", schedule, "echo YAY"))
		e.Settle()
		e.AwaitAt("A4", "a", done(reason))
		e.Quiesce()
		e.ExpectCounts(faults.Counts{Creates: 1})
	}
}

// reschedule edits a schedule and returns the error of the API server.
func reschedule(e *faults.Env, name string, schedule time.Time) error {
	a := at(name, "", "")
	a.Namespace = e.Namespace
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"schedule":"`+schedule.UTC().Format(time.RFC3339)+`"}}`))
	return e.User.Patch(e.Context(), a, patch)
}

func edited(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	e.Create(at("a", "now + 1 hour", "echo YAY"))
	e.Settle()
	e.Check("A5", reschedule(e, "a", time.Now()) == nil, "an edit before the time was rejected")
	e.AwaitAt("A5", "a", done(cnatv1alpha1.ReasonCompleted))
	e.Check("A5", reschedule(e, "a", time.Now().Add(time.Hour)) != nil, "an edit after the run was not rejected")
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
}

func editedLate(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	due := time.Now().Add(2 * time.Second)
	e.Create(at("a", due.UTC().Format(time.RFC3339Nano), "echo YAY"))
	e.Wait(time.Until(due.Add(-time.Millisecond)))
	accepted := reschedule(e, "a", time.Now().Add(time.Hour)) == nil
	// Either the edit or the create came first. Edits after a create are rejected. Without a create, the new time counts.
	e.Wait(3 * time.Second)
	e.Check("A5", accepted || e.Counts().Creates == 1, "the edit was rejected and nothing ran")
	e.Check("A1", e.Counts().Creates <= 1, "ran twice")
	e.Quiesce()
}

func deletedAtItsTime(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	due := time.Now().Add(2 * time.Second)
	a := at("a", due.UTC().Format(time.RFC3339Nano), "echo YAY")
	e.Create(a)
	e.Wait(time.Until(due))
	e.Delete(a)
	e.AwaitNoPods()
	e.Quiesce()
}

// blockRunning blocks the writes of statuses with the phase RUNNING. A receive from blocked waits for the first one.
func blockRunning(operator *faults.Process) (blocked <-chan struct{}, unblock func()) {
	block, blocked, unblock := faults.Block()
	operator.Inject(faults.Each(func(c *faults.Call) bool {
		return faults.StatusWrites(c) && bytes.Contains(c.Body, []byte(cnatv1alpha1.PhaseRunning))
	}, block))
	return blocked, unblock
}

func podDeletedEarly(e *faults.Env) {
	operator := e.Supervise()
	blocked, unblock := blockRunning(operator)
	defer unblock()
	e.Create(at("a", "now", "echo YAY"))
	<-blocked
	e.Delete(&corev1.Pod{ObjectMeta: podKey(e, "a-pod")}, client.GracePeriodSeconds(0))
	operator.ClearRules()
	unblock()
	e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonPodLost))
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
}

func podDeletedLate(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{})
	e.Supervise()
	e.Create(at("a", "2020-01-30T10:02:00Z", "echo YAY"))
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	e.Delete(&corev1.Pod{ObjectMeta: podKey(e, "a-pod")}, client.GracePeriodSeconds(0))
	e.Settle()
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
}

// podDeletedUnknown deletes a pod that an earlier process created. The present process has recorded the pod in the status, but
// lost the response, and its cache does not show the record.
func podDeletedUnknown(e *faults.Env) {
	first := e.Start(func(injector *faults.Injector) { injector.Inject(faults.Each(faults.Creates, injector.CrashAfter)) })
	e.Create(at("a", "now", "echo YAY"))
	<-first.Stopped()
	first.Crash()
	block, _, unblock := faults.Block()
	defer unblock()
	second := e.Start(func(injector *faults.Injector) {
		injector.Inject(faults.Each(func(c *faults.Call) bool { return faults.StatusWrites(c) && c.Name == "a" },
			func(c *faults.Call, send func() (*http.Response, error)) (*http.Response, error) {
				return block(c, func() (*http.Response, error) {
					injector.Hold("ats")
					return faults.LoseResponse(c, send)
				})
			}))
	})
	e.Create(at("b", "now", "echo YAY")) // A second At keeps the operator busy.
	podKey(e, "b-pod")
	unblock()
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	e.Delete(&corev1.Pod{ObjectMeta: podKey(e, "a-pod")}, client.GracePeriodSeconds(0))
	e.Wait(2 * time.Second)
	second.ClearRules()
	second.Release("ats")
	e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonPodLost))
	e.ExpectCounts(faults.Counts{Creates: 2})
}

func notFound(e *faults.Env) {
	e.Supervise()
	e.Create(at("a", "now", "no-such-command"))
	key := podKey(e, "a-pod")
	faults.EditStatus(e, &corev1.Pod{ObjectMeta: key}, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "exec: not found"},
		}}}
	})
	e.AwaitAt("A4", "a", done(cnatv1alpha1.ReasonStartError))
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
}

func neverPulled(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Ready: func(*corev1.Pod) bool { return false }})
	e.Supervise()
	a := at("a", "now", "echo YAY")
	a.Spec.ActiveDeadlineSeconds = ptr.To[int64](3)
	e.Create(a)
	faults.EditStatus(e, &corev1.Pod{ObjectMeta: podKey(e, "a-pod")}, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
		}}}
	})
	e.AwaitAt("A4", "a", done(cnatv1alpha1.ReasonDeadlineExceeded))
	e.AwaitNoPods()
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1, Deletes: 1})
}

func nameCollision(e *faults.Env) {
	e.Create(foreignPod("a-pod", nil))
	foreign := podKey(e, "a-pod")
	faults.EditStatus(e, &corev1.Pod{ObjectMeta: foreign}, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	e.Supervise()
	e.Create(at("a", "2020-01-30T10:02:00Z", "echo YAY"))
	e.AwaitAt("A9", "a", func(a *cnatv1alpha1.At) bool {
		return a.Status.Reason == cnatv1alpha1.ReasonPodNameConflict && meta.IsStatusConditionTrue(a.Status.Conditions, cnatv1alpha1.ConditionFailed)
	})
	e.Check("A9", e.AwaitPod("a-pod", func(p *corev1.Pod) bool { return p != nil && p.UID == foreign.UID && len(p.OwnerReferences) == 0 }), "the foreign pod was changed")
	e.Quiesce()
}

func recreated(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	a := at("a", "2020-01-30T10:02:00Z", "echo YAY")
	e.Create(a)
	e.Settle()
	e.Delete(a)
	e.Create(&cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: a.Spec}) // The pod of the first At may still exist.
	e.AwaitAt("A6", "a", func(again *cnatv1alpha1.At) bool {
		return again.UID != a.UID && again.Status.Reason == cnatv1alpha1.ReasonCompleted
	})
	e.Quiesce()
	e.Check("A6", e.Counts() == faults.Counts{Creates: 2}, "two Ats of one name had %+v", e.Counts())
}
