// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/testutil"
)

func withProgress(set *testutil.PodSetBuilder, status metav1.ConditionStatus, reason string, since time.Time) *testutil.PodSetBuilder {
	return testutil.FromPodSet(set.Obj()).Status(appv1alpha1.PodSetStatus{Conditions: []metav1.Condition{
		{Type: appv1alpha1.ConditionProgressing, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(since)},
	}})
}

func TestProgressDeadline(t *testing.T) {
	ago := func(seconds time.Duration) time.Time { return now.Add(-seconds * time.Second) }
	two := testutil.MakePodSet("a").Replicas(2)
	since := func(seconds time.Duration) *testutil.PodSetBuilder {
		return withProgress(two, "True", "AwaitingReady", ago(seconds))
	}
	stuck := withProgress(two, "False", "ProgressDeadlineExceeded", ago(60))
	complete := testutil.MakePodSet("a").Replicas(2).ReplacementPolicy(appv1alpha1.TerminationComplete)
	old := pod(two, 0).ReadySince(ago(5000)).Created(ago(6000)).Obj()
	unready := func(seconds time.Duration) *corev1.Pod {
		return pod(two, 1).Running().Unready().Created(ago(seconds)).Obj()
	}
	terminating := func(seconds time.Duration, finalizers ...string) *corev1.Pod {
		return pod(two, 1).Running().Created(ago(6000)).TerminatingSince(ago(seconds), finalizers...).Obj()
	}
	name := podName(two.Obj(), slotAttempt{slot: 1})
	awaits := "no progress for 600 seconds: 1 of 2 pods are ready; pod " + name + ": "

	for title, tc := range map[string]struct {
		set  *testutil.PodSetBuilder
		pods []*corev1.Pod
		want string // the message, or "" if the PodSet is not stuck
	}{
		"a pod does not become Ready":      {since(600), []*corev1.Pod{old, unready(600)}, awaits + "Running, not Ready"},
		"a pod has some time left":         {since(599), []*corev1.Pod{old, unready(600)}, ""},
		"a pod was created later":          {since(600), []*corev1.Pod{old, unready(599)}, ""},
		"the other pod became Ready later": {since(600), []*corev1.Pod{pod(two, 0).ReadySince(ago(599)).Created(ago(6000)).Obj(), unready(600)}, ""},
		"the other pod became available later": {
			since(9000).MinReadySeconds(100), []*corev1.Pod{pod(two, 0).ReadySince(ago(699)).Created(ago(6000)).Obj(), unready(9000)}, "",
		},
		"the other pod became available long ago": {
			since(9000).MinReadySeconds(100), []*corev1.Pod{pod(two, 0).ReadySince(ago(700)).Created(ago(6000)).Obj(), unready(9000)},
			"no progress for 600 seconds: 1 of 2 pods have been ready for 100 seconds; pod " + name + ": Running, not Ready",
		},
		"the PodSet was Stable until now":                  {withProgress(two, "False", "Stable", ago(9000)), []*corev1.Pod{old, unready(9000)}, ""},
		"the templates were not known until now":           {withProgress(two, "Unknown", "TemplateUnknown", ago(9000)), []*corev1.Pod{old, unready(9000)}, ""},
		"it was paused until now":                          {withProgress(two, "False", "Paused", ago(9000)), []*corev1.Pod{old, unready(9000)}, ""},
		"it has no status":                                 {two, []*corev1.Pod{old, unready(9000)}, ""},
		"it is stuck, and nothing has changed":             {stuck, []*corev1.Pod{old, unready(700)}, awaits + "Running, not Ready"},
		"it was stuck, and has a new pod":                  {stuck, []*corev1.Pod{old, unready(10)}, ""},
		"it was stuck, and all pods are Ready":             {stuck, ready(two, 2), ""},
		"it is stuck without a pod":                        {stuck, nil, "no progress for 600 seconds: 0 of 2 pods exist"},
		"it was stuck, and has no deadline now":            {testutil.FromPodSet(stuck.Obj()).ProgressDeadlineSeconds(math.MaxInt32), nil, ""},
		"a shorter deadline":                               {since(600).ProgressDeadlineSeconds(60), []*corev1.Pod{old, unready(60)}, strings.Replace(awaits, "600", "60", 1) + "Running, not Ready"},
		"a longer deadline":                                {since(600).ProgressDeadlineSeconds(601), []*corev1.Pod{old, unready(600)}, ""},
		"no deadline":                                      {since(9000).ProgressDeadlineSeconds(math.MaxInt32), []*corev1.Pod{old, unready(9000)}, ""},
		"a pod waits for an image":                         {since(600), []*corev1.Pod{old, pod(two, 1).On("n").Waiting("ErrImagePull").Created(ago(600)).Obj()}, awaits + "ImagePullBackOff"},
		"a pod waits for the scheduler":                    {since(600), []*corev1.Pod{old, pod(two, 1).Created(ago(600)).Obj()}, awaits + "not scheduled"},
		"a node does not respond":                          {since(600), []*corev1.Pod{old, pod(two, 1).On("n").Phase(corev1.PodUnknown).Created(ago(600)).Obj()}, awaits + "Unknown"},
		"a pod is deleted, and its replacement is due":     {since(600), []*corev1.Pod{old, terminating(599)}, ""},
		"a pod that is gone soon counts from its deletion": {withProgress(complete, "True", "Scaling", ago(700)), []*corev1.Pod{old, terminating(599)}, ""},
		"a slot waits for a terminating pod": {
			withProgress(complete, "True", "Scaling", ago(700)), []*corev1.Pod{old, terminating(600, "example.com/a", "example.com/b")},
			"no progress for 600 seconds: 1 of 2 pods exist; slot 1 waits until pod " + name + " is gone (finalizers: example.com/a, example.com/b)",
		},
		"the time since when a pod is Ready is not known": {
			since(700).MinReadySeconds(599), []*corev1.Pod{old, pod(two, 1).Running().Created(ago(700)).Obj()},
			"no progress for 600 seconds: 1 of 2 pods have been ready for 599 seconds; pod " + name + ": Ready, not available",
		},
	} {
		t.Run(title, func(t *testing.T) {
			o := Observation{Set: tc.set.Obj(), Pods: tc.pods, Now: now}
			report := MakeReport(o, Plan{}, Outcome{})
			progress := meta.FindStatusCondition(report.Status.Conditions, appv1alpha1.ConditionProgressing)
			if tc.want == "" {
				if progress.Reason == appv1alpha1.ReasonProgressDeadlineExceeded || len(report.StatusEvents) > 0 || meta.IsStatusConditionTrue(report.Status.Conditions, appv1alpha1.ConditionStalled) {
					t.Errorf("Progressing is %+v, events %v", progress, report.StatusEvents)
				}
				return
			}
			for kind, status := range map[string]metav1.ConditionStatus{"Progressing": "False", "Degraded": "True", "Ready": "False", "Stalled": "True"} {
				c := meta.FindStatusCondition(report.Status.Conditions, kind)
				if c == nil || c.Status != status || c.Reason != appv1alpha1.ReasonProgressDeadlineExceeded || c.Message != tc.want {
					t.Errorf("%s is %+v, want the message %q", kind, c, tc.want)
				}
			}
			var want []event.Event
			if !wasStuck(o.Set) {
				want = []event.Event{{Warning: true, Reason: "ProgressDeadlineExceeded", Action: "Progress", Note: tc.want}}
			}
			if diff := cmp.Diff(want, report.StatusEvents); diff != "" {
				t.Errorf("events (-want +got): %s", diff)
			}
		})
	}
}

// A rejection is more specific than a lack of progress. It is not temporary then.
func TestProgressDeadline_rejected(t *testing.T) {
	set := withProgress(testutil.MakePodSet("a"), "True", "Scaling", now.Add(-600*time.Second))
	o := Observation{Set: set.Obj(), Pods: []*corev1.Pod{pod(set, 3).Running().Created(now.Add(-time.Hour)).TerminatingSince(now.Add(-time.Hour)).Obj()}, Now: now}
	for title, outcome := range map[string]Outcome{
		"a rejection": {Rejected: errors.New("exceeded quota")}, "an error": {CreateError: errors.New("timeout")},
	} {
		status := MakeReport(o, Plan{}, outcome).Status
		degraded := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionDegraded)
		progress := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionProgressing)
		if degraded.Reason != appv1alpha1.ReasonFailedCreate || progress.Reason != appv1alpha1.ReasonProgressDeadlineExceeded || !meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionStalled) {
			t.Errorf("%s: %+v", title, status.Conditions)
		}
	}
}

func TestProgressDeadline_terminating(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(3).ReplacementPolicy(appv1alpha1.TerminationComplete)
	terminating := func(slot int) *corev1.Pod { return pod(set, slot).Running().Terminating().Obj() }
	o := Observation{Set: set.Obj(), Now: now, Pods: []*corev1.Pod{pod(set, 0).Running().Obj(), terminating(2), terminating(1), terminating(3)}}
	message := func(o Observation) string {
		return meta.FindStatusCondition(newStatus(o, Outcome{}).Conditions, appv1alpha1.ConditionProgressing).Message
	}
	want := "1 of 3 pods exist; slot 1 waits until pod " + terminating(1).Name + " is gone; slot 2 waits until pod " + terminating(2).Name + " is gone"
	if got := message(o); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	o.Set = testutil.MakePodSet("a").Replicas(3).Obj()
	if got := message(o); got != "1 of 3 pods exist" {
		t.Errorf("pods that are replaced at once: %q", got)
	}
}
