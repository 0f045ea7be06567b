// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestNewStatus(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(5).Image("v2")
	mk := func(name string) *testutil.PodBuilder {
		return testutil.MakePod(name).OwnedBy(set.Obj()).Hash(HashTemplate(set.Obj().Spec.Template))
	}
	o := Observation{
		Set: set.Obj(),
		Pods: []*corev1.Pod{
			mk("e-deleted").Running().Obj(),
			mk("d-unknown").Running().Unready().Phase(corev1.PodUnknown).Obj(),
			mk("c-old").Running().Hash("old").Obj(),
			mk("b-pending").Obj(),
			mk("f-failed").Finished(corev1.PodFailed, "").Obj(),
			mk("g-terminating").Running().Terminating().Obj(),
			mk("h-given-up").Running().Obj(),
		},
		Deleted: sets.New[types.UID]("e-deleted-uid"),
		Now:     now,
	}
	outcome := Outcome{Created: []*corev1.Pod{mk("a-new").Obj()}, Deleted: []*corev1.Pod{mk("h-given-up").Obj()}, CleanedUp: []*corev1.Pod{mk("f-failed").Obj()}}

	got := newStatus(o, outcome)

	want := appv1alpha1.PodSetStatus{
		PodNames: []string{"a-new", "b-pending", "c-old", "d-unknown"},
		Replicas: 4, AvailableReplicas: 3, ReadyReplicas: 1, UpdatedReplicas: 3, TerminatingReplicas: 4,
		Selector:           "app.example.com/podset=a,app.kubernetes.io/managed-by=podset-operator",
		ObservedGeneration: 1,
		Conditions:         got.Conditions,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	if o.Deleted.Len() != 1 || len(o.Pods) != 7 {
		t.Error("the observation was changed")
	}
}

func TestNewStatus_empty(t *testing.T) {
	if got := newStatus(Observation{Set: testutil.MakePodSet("a").Obj()}, Outcome{}); got.PodNames == nil {
		t.Error("podNames is null: a client that reads the first item would fail")
	}
}

func TestConditions(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(3)
	edited := testutil.MakePodSet("a").Replicas(3).Image("v2")
	patient := testutil.MakePodSet("a").Replicas(3).MinReadySeconds(10)
	rejected := errors.New("creating Pod a-pod1: exceeded quota")
	waiting := func(reason string) *corev1.Pod { return pod(set, 2).Running().Unready().Waiting(reason).Obj() }
	starting := func(reason string, age time.Duration) *corev1.Pod {
		return pod(set, 2).On("node").Waiting(reason).Created(now.Add(-age)).Obj()
	}
	since := func(slot int, seconds time.Duration) *corev1.Pod {
		return pod(set, slot).ReadySince(now.Add(-seconds * time.Second)).Obj()
	}
	bare := func(slot int) *corev1.Pod {
		return testutil.MakePod(podName(set.Obj(), slotAttempt{slot: slot})).OwnedBy(set.Obj()).Running().Obj()
	}
	const (
		enough, few  = "True EnoughReady: 3 of 3 pods are ready", "False TooFewReady: 2 of 3 pods are ready"
		stable       = "False Stable: the pods match the spec"
		scaling      = "True Scaling: 2 of 3 pods exist"
		awaiting     = "True AwaitingReady: 2 of 3 pods are ready"
		fewAvailable = "False TooFewReady: 2 of 3 pods have been ready for 10 seconds"
		awaitingThem = "True AwaitingReady: 2 of 3 pods have been ready for 10 seconds"
		unknown      = "Unknown TemplateUnknown: 2 of 3 pods may not match the template: an admission webhook or a user removed " +
			"their label and annotation app.example.com/template-hash. Exempt the pods from the webhook, then delete them"
	)
	for title, tc := range map[string]struct {
		set                              *testutil.PodSetBuilder
		seen                             Observation
		outcome                          Outcome
		available, progressing, degraded string // The status, the reason, and the message. The default of degraded is AsExpected.
	}{
		"all pods are Ready": {
			set: set, seen: Observation{Pods: ready(set, 3)},
			available: enough, progressing: stable,
		},
		"pods were created": {
			set: set, outcome: Outcome{Created: []*corev1.Pod{pod(set, 0).Obj()}},
			available: "False TooFewReady: 0 of 3 pods are ready", progressing: "True Scaling: 1 of 3 pods exist",
		},
		"a pod is not Ready yet": {
			set: set, seen: Observation{Pods: append(ready(set, 2), waiting("ContainerCreating"))},
			available: few, progressing: awaiting,
		},
		"a pod has not been Ready for minReadySeconds": {
			set: patient, seen: Observation{Pods: []*corev1.Pod{since(0, 10), since(1, 11), since(2, 9)}},
			available: fewAvailable, progressing: awaitingThem,
		},
		"all pods have been Ready for minReadySeconds": {
			set: patient, seen: Observation{Pods: []*corev1.Pod{since(0, 10), since(1, 11), since(2, 12)}},
			available: "True EnoughReady: 3 of 3 pods have been ready for 10 seconds", progressing: stable,
		},
		"it is not known since when a pod is Ready": {
			set: patient, seen: Observation{Pods: append(ready(set, 1), since(1, 11), since(2, 12))},
			available: fewAvailable, progressing: awaitingThem,
		},
		"pods of an older template are being replaced": {
			set: edited, seen: Observation{Pods: append(ready(set, 2), pod(edited, 2).Running().Obj())},
			available: enough, progressing: "True Updating: 1 of 3 pods use the current template",
		},
		"pods of an older template wait for their deletion by hand": {
			set: testutil.FromPodSet(edited.Obj()).OnDelete(), seen: Observation{Pods: append(ready(set, 2), pod(edited, 2).Running().Obj())},
			available: enough, progressing: "False Stable: 2 of 3 pods use an older template and stay until you delete them",
		},
		"the hashes of two pods were removed": {
			set: set, seen: Observation{Pods: append(ready(set, 1), bare(1), bare(2))},
			available: enough, progressing: unknown,
		},
		"the hashes of two pods were removed, and pods wait for their deletion by hand": {
			set: testutil.FromPodSet(set.Obj()).OnDelete(), seen: Observation{Pods: append(ready(set, 1), bare(1), bare(2))},
			available: enough, progressing: unknown,
		},
		"the set is being deleted": {
			set: testutil.FromPodSet(set.Obj()).Deleting(), seen: Observation{Pods: ready(set, 2)},
			available: few, progressing: "False Terminating: the PodSet is being deleted",
		},
		"the set is paused": {
			set: testutil.FromPodSet(set.Obj()).Annotation(appv1alpha1.AnnotationPaused, "1"), seen: Observation{Pods: ready(set, 2)},
			available: few, progressing: "False Paused: the annotation app.example.com/paused pauses the PodSet: remove it to continue",
		},
		"a create was rejected": {
			set: set, seen: Observation{Pods: ready(set, 2)}, outcome: Outcome{CreateError: rejected},
			available: few, progressing: scaling, degraded: "True FailedCreate: creating Pod a-pod1: exceeded quota",
		},
		"a rejection is remembered while its back-off lasts": {
			set: set, seen: Observation{Pods: ready(set, 2), Rejection: &expectations.Rejection{Message: "exceeded quota"}},
			available: few, progressing: scaling, degraded: "True FailedCreate: exceeded quota",
		},
		"a rejection is over when the pods are there": {
			set: set, seen: Observation{Pods: ready(set, 3), Rejection: &expectations.Rejection{Message: "exceeded quota"}},
			available: enough, progressing: stable,
		},
		"a delete failed": {
			set: set, seen: Observation{Pods: ready(set, 4)}, outcome: Outcome{DeleteError: errors.New("deleting Pod a-pod1: forbidden")},
			available: "True EnoughReady: 4 of 3 pods are ready", progressing: "True Scaling: 4 of 3 pods exist", degraded: "True FailedDelete: deleting Pod a-pod1: forbidden",
		},
		"an image cannot be pulled": {
			set: set, seen: Observation{Pods: append(ready(set, 2), waiting("ErrImagePull"))},
			available: few, progressing: awaiting, degraded: "True PodsWaiting: 1 of 3 pods: ImagePullBackOff",
		},
		"pods wait for several reasons": {
			set: set, seen: Observation{Pods: []*corev1.Pod{waiting("ImagePullBackOff"), waiting("CrashLoopBackOff"), waiting("ImagePullBackOff")}},
			available: "False TooFewReady: 0 of 3 pods are ready", progressing: "True AwaitingReady: 0 of 3 pods are ready", degraded: "True PodsWaiting: 2 of 3 pods: ImagePullBackOff, 1 of 3 pods: CrashLoopBackOff",
		},
		"containers run again after they ended soon after their start": {
			set: set, seen: Observation{Pods: []*corev1.Pod{
				pod(set, 0).CrashLooping(now.Add(-59 * time.Second)).Obj(), pod(set, 1).CrashLooping(now).Obj(), waiting("CrashLoopBackOff"),
			}},
			available: few, progressing: awaiting, degraded: "True PodsWaiting: 3 of 3 pods: CrashLoopBackOff",
		},
		"a container has run for a minute after it ended soon after its start": {
			set: set, seen: Observation{Pods: append(ready(set, 2), pod(set, 2).CrashLooping(now.Add(-time.Minute)).Obj())},
			available: enough, progressing: stable,
		},
		"a volume has been missing for a minute": {
			set: set, seen: Observation{Pods: append(ready(set, 2), starting("ContainerCreating", time.Minute))},
			available: few, progressing: awaiting, degraded: "True PodsWaiting: 1 of 3 pods: ContainerCreating",
		},
		"a pod is starting": {
			set: set, seen: Observation{Pods: append(ready(set, 2), starting("PodInitializing", 59*time.Second))},
			available: few, progressing: awaiting,
		},
		"no node takes a pod": {
			set: set, seen: Observation{Pods: append(ready(set, 2), pod(set, 2).Condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable").Obj())},
			available: few, progressing: awaiting, degraded: "True PodsWaiting: 1 of 3 pods: Unschedulable",
		},
		"pods have ended": {
			set: set, seen: Observation{Pods: append(ready(set, 3), pod(set, 3).Finished(corev1.PodFailed, "Evicted").Obj(), pod(set, 4).Finished(corev1.PodSucceeded, "").Obj())},
			available: enough, progressing: stable, degraded: "True PodsFinished: 1 of 2 pods: Evicted, 1 of 2 pods: Succeeded",
		},
		"a long rejection is cut": {
			set: set, seen: Observation{Pods: ready(set, 2), Rejection: &expectations.Rejection{Message: strings.Repeat("é", 2000)}},
			available: few, progressing: scaling, degraded: "True FailedCreate: " + strings.Repeat("é", 510) + "...",
		},
	} {
		t.Run(title, func(t *testing.T) {
			tc.seen.Set, tc.seen.Now = tc.set.Obj(), now
			status := newStatus(tc.seen, tc.outcome)
			for kind, want := range map[string]string{
				"Available": tc.available, "Progressing": tc.progressing, "Degraded": cmp.Or(tc.degraded, "False AsExpected: "),
			} {
				c := meta.FindStatusCondition(status.Conditions, kind)
				if got := fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message); got != want || c.ObservedGeneration != 1 {
					t.Errorf("%s is %q of generation %d, want %q", kind, got, c.ObservedGeneration, want)
				}
			}
		})
	}
}

// test/gitops has the other values of Ready and Stalled.
func TestConditions_ready(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(3)
	bare := testutil.MakePod("bare").OwnedBy(set.Obj()).Running().Obj()
	for title, tc := range map[string]struct {
		set    *testutil.PodSetBuilder
		pods   []*corev1.Pod
		status metav1.ConditionStatus
		reason string
	}{
		"a pod too many is not Ready":            {set, append(ready(set, 3), pod(set, 3).Obj()), "False", "Scaling"},
		"a set that is being deleted":            {testutil.MakePodSet("a").Replicas(3).Deleting(), ready(set, 3), "False", "Terminating"},
		"the template of a pod is not known":     {set, append(ready(set, 2), bare), "Unknown", "TemplateUnknown"},
		"it is not known, and older pods remain": {testutil.MakePodSet("a").Replicas(3).OnDelete(), append(ready(set, 2), bare), "True", "TemplateUnknown"},
	} {
		status := newStatus(Observation{Set: tc.set.Obj(), Pods: tc.pods, Now: now}, Outcome{})
		if c := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionReady); c.Status != tc.status || c.Reason != tc.reason {
			t.Errorf("%s: got %+v", title, c)
		}
	}
}

func TestMakeReport_available(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(3).MinReadySeconds(10)
	pods := []*corev1.Pod{
		pod(set, 0).ReadySince(now.Add(-10 * time.Second)).Obj(), pod(set, 1).ReadySince(now.Add(-7 * time.Second)).Obj(),
		pod(set, 2).ReadySince(now.Add(-6 * time.Second)).Obj(), pod(set, 3).ReadySince(now.Add(-8 * time.Second)).Terminating().Obj(),
	}
	for title, tc := range map[string]struct {
		set  *testutil.PodSetBuilder
		want time.Time
	}{
		"a PodSet":                        {set, now.Add(3 * time.Second)},
		"a paused PodSet":                 {testutil.FromPodSet(set.Obj()).Annotation(appv1alpha1.AnnotationPaused, "true"), now.Add(3 * time.Second)},
		"without the field, no pod waits": {testutil.MakePodSet("a").Replicas(3), time.Time{}},
	} {
		o := Observation{Set: tc.set.Obj(), Pods: pods, Now: now}
		if got := MakeReport(o, MakePlan(o), Outcome{}).RequeueAt; !got.Equal(tc.want) {
			t.Errorf("%s: requeued at %s, want %s", title, got, tc.want)
		}
	}
}

// If nothing happens to a PodSet and its pods, the status changes only when the report has announced it, and not for
// ever.
func TestMakeReport_stable(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(2)
	calm := testutil.FromPodSet(set.Obj()).MinReadySeconds(100)
	loops := pod(set, 1).On("n").Waiting("CrashLoopBackOff").Created(now.Add(-time.Hour)).Obj()
	for title, tc := range map[string]struct {
		set     *testutil.PodSetBuilder
		pods    []*corev1.Pod
		outcome Outcome
	}{
		"all pods are ready":            {set: set, pods: ready(set, 2)},
		"all pods become available":     {set: calm, pods: []*corev1.Pod{pod(calm, 0).ReadySince(now).Obj(), pod(calm, 1).ReadySince(now.Add(-time.Minute)).Obj()}},
		"all are available":             {set: calm, pods: []*corev1.Pod{pod(calm, 0).ReadySince(now.Add(-time.Hour)).Obj(), pod(calm, 1).ReadySince(now.Add(-time.Hour)).Obj()}},
		"no pod exists":                 {set: set},
		"a pod starts":                  {set: set, pods: append(ready(set, 1), pod(set, 1).On("n").Waiting("ContainerCreating").Created(now).Obj())},
		"a pod crashes again and again": {set: set, pods: append(ready(set, 1), loops)},
		"creates are rejected":          {set: set, outcome: Outcome{Rejected: errors.New("exceeded quota")}},
		"creates fail":                  {set: set, outcome: Outcome{CreateError: errors.New("no answer")}},
		"it is paused":                  {set: testutil.FromPodSet(set.Obj()).Annotation(appv1alpha1.AnnotationPaused, "true"), pods: ready(set, 1)},
		"it is being deleted":           {set: testutil.FromPodSet(set.Obj()).Deleting(), pods: ready(set, 1)},
	} {
		o := Observation{Set: tc.set.Obj(), Pods: tc.pods, Now: now}
		for reports := 1; ; reports++ {
			report := MakeReport(o, Plan{}, tc.outcome)
			o.Set = testutil.FromPodSet(o.Set).Status(report.Status).Obj()
			next := report.RequeueAt
			if next.IsZero() {
				next = now.Add(24 * time.Hour)
			}
			for _, at := range []time.Time{o.Now.Add(5 * time.Second), next.Add(-1)} {
				between := o
				between.Now = at
				if diff := gocmp.Diff(report.Status, MakeReport(between, Plan{}, tc.outcome).Status); at.Before(next) && diff != "" {
					t.Errorf("%s: the status changes before its time (-want +got): %s", title, diff)
				}
			}
			if report.RequeueAt.IsZero() {
				break
			}
			if reports > 4 || !next.After(o.Now) {
				t.Errorf("%s: report %d is due at %s", title, reports+1, next)
				break
			}
			o.Now = next
		}
	}
}

func TestMakeReport_events(t *testing.T) {
	set := testutil.MakePodSet("a").Obj()
	mk := func(name string) *testutil.PodBuilder { return testutil.MakePod(name).OwnedBy(set) }
	outcome := Outcome{
		Created:     []*corev1.Pod{mk("a").Obj(), mk("b").Obj()},
		Deleted:     []*corev1.Pod{mk("c").Obj()},
		CleanedUp:   []*corev1.Pod{mk("d").Finished(corev1.PodFailed, "Evicted").Obj(), mk("e").Finished(corev1.PodSucceeded, "").Obj()},
		Warnings:    "would violate PodSecurity",
		CreateError: errors.New("creating Pod f: exceeded quota"),
		DeleteError: errors.New("deleting Pod g: forbidden"),
	}
	want := []event.Event{
		{Warning: true, Reason: "PodWarning", Action: "Create", Note: "The API server warns about the pods: would violate PodSecurity"},
		{Reason: "SuccessfulCreate", Action: "Create", Note: "Created a, b", Related: outcome.Created[0]},
		{Reason: "SuccessfulDelete", Action: "Delete", Note: "Deleted c", Related: outcome.Deleted[0]},
		{Reason: "PodsFinished", Action: "Remove", Note: "Deleted after they finished: d (Evicted), e (Succeeded)", Related: outcome.CleanedUp[0]},
		{Warning: true, Reason: "FailedCreate", Action: "Create", Note: "creating Pod f: exceeded quota"},
		{Warning: true, Reason: "FailedDelete", Action: "Delete", Note: "deleting Pod g: forbidden"},
	}
	if diff := gocmp.Diff(want, events(Observation{Warnings: "another"}, outcome)); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	if diff := gocmp.Diff(want[1:], events(Observation{Warnings: outcome.Warnings}, outcome)); diff != "" {
		t.Errorf("a warning is repeated (-want +got): %s", diff)
	}
	terminating := apierrors.NewForbidden(corev1.Resource("pods"), "f", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	if got := events(Observation{}, Outcome{Rejected: fmt.Errorf("creating Pod f: %w", terminating)}); got != nil {
		t.Errorf("events in a namespace that is being deleted: %v", got)
	}
	if got := events(Observation{}, Outcome{}); got != nil {
		t.Errorf("nothing was done, and %v was said", got)
	}
}

func TestMakeReport_podsWaiting(t *testing.T) {
	set := testutil.MakePodSet("a")
	o := Observation{Set: set.Obj(), Pods: []*corev1.Pod{pod(set, 0).On("n").Waiting("ErrImagePull").Obj()}, Now: now}
	report := MakeReport(o, Plan{}, Outcome{})
	want := []event.Event{{Warning: true, Reason: "PodsWaiting", Action: "Start", Note: "1 of 1 pods: ImagePullBackOff"}}
	if diff := gocmp.Diff(want, report.StatusEvents); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	o.Set = set.Status(report.Status).Obj()
	if got := MakeReport(o, Plan{}, Outcome{}).StatusEvents; got != nil {
		t.Errorf("the event is repeated: %v", got)
	}
}
