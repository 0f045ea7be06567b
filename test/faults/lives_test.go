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

// F19: what people and nodes do to an At, by the state table.
func TestAtLives(t *testing.T) {
	try(t, "F19", map[string]trial{
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
		"a foreign pod has its name":                    nameTaken,
		"deleted and made again":                        madeAgain,
	})
}

func ends(schedule string, exit func(*corev1.Pod) *int32, reason string) trial {
	return func(w *faults.World) {
		w.RunKubelet(&faults.Kubelet{Exit: exit})
		w.Supervise()
		w.Create(at("a", schedule, "echo YAY"))
		w.Settle()
		w.AwaitAt("A4", "a", done(reason))
		w.Rest()
		w.Costs(faults.Counts{Creates: 1})
	}
}

// reschedule edits a schedule and returns what the API server said.
func reschedule(w *faults.World, name, schedule string) error {
	a := at(name, "", "")
	a.Namespace = w.Namespace
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"schedule":"`+schedule+`"}}`))
	return w.User.Patch(w.Context(), a, patch)
}

func edited(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	w.Supervise()
	w.Create(at("a", "now + 1 hour", "echo YAY"))
	w.Settle()
	w.Check("A5", reschedule(w, "a", "now + 1 second") == nil, "an edit before the time was refused")
	w.AwaitAt("A5", "a", done(cnatv1alpha1.ReasonCompleted))
	w.Check("A5", reschedule(w, "a", "now + 1 hour") != nil, "an edit after the run was not refused")
	w.Rest()
	w.Costs(faults.Counts{Creates: 1})
}

func editedLate(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	w.Supervise()
	due := time.Now().Add(2 * time.Second)
	w.Create(at("a", due.UTC().Format(time.RFC3339Nano), "echo YAY"))
	w.Pass(time.Until(due.Add(-time.Millisecond)))
	accepted := reschedule(w, "a", "now + 1 hour") == nil
	// Either the edit or the run came first. A run is a run, and refuses further edits; without one the new time counts.
	w.Pass(3 * time.Second)
	w.Check("A5", accepted || w.Counts().Creates == 1, "the edit was refused and nothing ran")
	w.Check("A1", w.Counts().Creates <= 1, "ran twice")
	w.Rest()
}

func deletedAtItsTime(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	w.Supervise()
	due := time.Now().Add(2 * time.Second)
	a := at("a", due.UTC().Format(time.RFC3339Nano), "echo YAY")
	w.Create(a)
	w.Pass(time.Until(due))
	w.Delete(a)
	w.Gone()
	w.Rest()
}

func podDeletedEarly(w *faults.World) {
	operator := w.Supervise()
	block, blocked, unblock := faults.Block()
	defer unblock()
	operator.Inject(faults.Each(func(c *faults.Call) bool {
		return faults.StatusWrites(c) && bytes.Contains(c.Body, []byte(cnatv1alpha1.PhaseRunning))
	}, block))
	w.Create(at("a", "now", "echo YAY"))
	<-blocked
	w.Delete(&corev1.Pod{ObjectMeta: podKey(w, "a-pod")}, client.GracePeriodSeconds(0))
	operator.Heal()
	unblock()
	w.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonPodLost))
	w.Rest()
	w.Costs(faults.Counts{Creates: 1})
}

func podDeletedLate(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{})
	w.Supervise()
	w.Create(at("a", "2020-01-30T10:02:00Z", "echo YAY"))
	w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	w.Delete(&corev1.Pod{ObjectMeta: podKey(w, "a-pod")}, client.GracePeriodSeconds(0))
	w.Settle()
	w.Rest()
	w.Costs(faults.Counts{Creates: 1})
}

// podDeletedUnknown deletes the pod of an operator that did not make it (a former incarnation did), has no answer to its
// record of it, and no cache that shows the record.
func podDeletedUnknown(w *faults.World) {
	first := w.Start(func(wire *faults.Wire) { wire.Inject(faults.Each(faults.Creates, wire.CrashAfter)) })
	w.Create(at("a", "now", "echo YAY"))
	<-first.Dead()
	first.Crash()
	block, _, unblock := faults.Block()
	defer unblock()
	second := w.Start(func(wire *faults.Wire) {
		wire.Inject(faults.Each(func(c *faults.Call) bool { return faults.StatusWrites(c) && c.Name == "a" },
			func(c *faults.Call, send func() (*http.Response, error)) (*http.Response, error) {
				return block(c, func() (*http.Response, error) {
					wire.Hold("ats")
					return faults.Lose(c, send)
				})
			}))
	})
	w.Create(at("b", "now", "echo YAY")) // The start of another At has the operator look at the whole namespace.
	podKey(w, "b-pod")
	unblock()
	w.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
	w.Delete(&corev1.Pod{ObjectMeta: podKey(w, "a-pod")}, client.GracePeriodSeconds(0))
	w.Pass(2 * time.Second)
	second.Heal()
	second.Release("ats")
	w.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonPodLost))
	w.Costs(faults.Counts{Creates: 2})
}

func notFound(w *faults.World) {
	w.Supervise()
	w.Create(at("a", "now", "no-such-command"))
	key := podKey(w, "a-pod")
	faults.EditStatus(w, &corev1.Pod{ObjectMeta: key}, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "exec: not found"},
		}}}
	})
	w.AwaitAt("A4", "a", done(cnatv1alpha1.ReasonStartError))
	w.Rest()
	w.Costs(faults.Counts{Creates: 1})
}

func neverPulled(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Ready: func(*corev1.Pod) bool { return false }})
	w.Supervise()
	a := at("a", "now", "echo YAY")
	a.Spec.ActiveDeadlineSeconds = ptr.To[int64](3)
	w.Create(a)
	faults.EditStatus(w, &corev1.Pod{ObjectMeta: podKey(w, "a-pod")}, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
		}}}
	})
	w.AwaitAt("A4", "a", done(cnatv1alpha1.ReasonDeadlineExceeded))
	w.Gone()
	w.Rest()
	w.Costs(faults.Counts{Creates: 1, Deletes: 1})
}

func nameTaken(w *faults.World) {
	w.Create(foreignPod("a-pod", nil))
	foreign := podKey(w, "a-pod")
	faults.EditStatus(w, &corev1.Pod{ObjectMeta: foreign}, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	w.Supervise()
	w.Create(at("a", "2020-01-30T10:02:00Z", "echo YAY"))
	w.AwaitAt("A9", "a", func(a *cnatv1alpha1.At) bool {
		return a.Status.Reason == cnatv1alpha1.ReasonPodNameConflict && meta.IsStatusConditionTrue(a.Status.Conditions, cnatv1alpha1.ConditionFailed)
	})
	w.Check("A9", w.AwaitPod("a-pod", func(p *corev1.Pod) bool { return p != nil && p.UID == foreign.UID && len(p.OwnerReferences) == 0 }), "the foreign pod was touched")
	w.Rest()
}

func madeAgain(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	w.Supervise()
	a := at("a", "2020-01-30T10:02:00Z", "echo YAY")
	w.Create(a)
	w.Settle()
	w.Delete(a)
	w.Create(&cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: a.Spec}) // The pod of the first one may be there still.
	w.AwaitAt("A6", "a", func(again *cnatv1alpha1.At) bool {
		return again.UID != a.UID && again.Status.Reason == cnatv1alpha1.ReasonCompleted
	})
	w.Rest()
	w.Check("A6", w.Counts() == faults.Counts{Creates: 2}, "two Ats of one name made %+v", w.Counts())
}
