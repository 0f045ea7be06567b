// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// TestExplore covers the sequences of a State. These tests name the properties that it relies on.
func TestAnAtIsRequeuedUntilTheCacheShowsItsPod(t *testing.T) {
	pod, confirm := ownPod().Obj(), due.Add(expectations.ConfirmAfter)
	var s at.State
	s.Record(s.Observe(a().Obj(), nil, nil, due, at.Defaults{}), at.Outcome{Created: pod}, due)
	for title, tc := range map[string]struct {
		report, want time.Time
	}{
		"the report asks for nothing":         {time.Time{}, confirm},
		"the report asks for an earlier time": {due.Add(time.Second), due.Add(time.Second)},
		"the report asks for a later time":    {due.Add(time.Hour), confirm},
	} {
		if got := s.RequeueAt(at.Observation{}, at.Report{RequeueAt: tc.report}, at.Outcome{}); !got.Equal(tc.want) {
			t.Errorf("%s: requeue at %s, want %s", title, got, tc.want)
		}
	}
	s.Record(s.Observe(a().Obj(), []*corev1.Pod{pod}, nil, due, at.Defaults{}), at.Outcome{}, due)
	if got := s.RequeueAt(at.Observation{}, at.Report{}, at.Outcome{}); !got.IsZero() {
		t.Errorf("the cache shows the pod, and the At is requeued at %s", got)
	}
}

// Admission may remove everything from a pod that tells the attempt. The process that created the pod knows it.
func TestTheAttemptOfACreatedPodIsKnownUnderAnyName(t *testing.T) {
	again := a().BackoffLimit(5).RetryRecorded(2, "first", 0).Obj()
	pod := testutil.MakeAtPod(a().Obj(), "x7k2p").Obj()
	var s at.State
	o := s.Observe(again, nil, map[string]*corev1.Pod{"first": nil}, due.Add(time.Minute), at.Defaults{})
	if created := at.MakePlan(o).Create; created == nil || created.Name != "a-pod-2" {
		t.Fatalf("created: %v, want a-pod-2", created)
	}
	s.Record(o, at.Outcome{Created: pod}, due.Add(time.Minute))
	o = s.Observe(again, []*corev1.Pod{pod}, nil, due.Add(2*time.Minute), at.Defaults{})
	if got := at.MakeReport(o, at.Outcome{}).Status.Attempts; got != 3 {
		t.Errorf("%d attempts are recorded, want 3", got)
	}
}

func TestAnAtIsRequeuedUntilTheCacheShowsAPodThatWasLookedUp(t *testing.T) {
	pod, confirm := ownPod().Obj(), due.Add(expectations.ConfirmAfter)
	var s at.State
	s.Record(s.Observe(a().Obj(), nil, map[string]*corev1.Pod{pod.Name: pod}, due, at.Defaults{}), at.Outcome{}, due)
	if got := s.RequeueAt(at.Observation{}, at.Report{}, at.Outcome{}); !got.Equal(confirm) {
		t.Errorf("requeue at %s, want %s", got, confirm)
	}
	s.Record(s.Observe(a().Obj(), []*corev1.Pod{pod}, nil, due, at.Defaults{}), at.Outcome{}, due)
	if got := s.RequeueAt(at.Observation{}, at.Report{}, at.Outcome{}); !got.IsZero() {
		t.Errorf("the cache shows the pod, and the At is requeued at %s", got)
	}
}

func TestAPodThatTheCacheDoesNotShowIsLookedUpOnceAndStillCounts(t *testing.T) {
	confirm := due.Add(expectations.ConfirmAfter)
	var s at.State
	s.Record(s.Observe(a().Obj(), nil, nil, due, at.Defaults{}), at.Outcome{Created: ownPod().Obj()}, due)
	if diff := cmp.Diff([]string{pod0}, s.Observe(a().Obj(), nil, nil, confirm, at.Defaults{}).Lookups); diff != "" {
		t.Errorf("lookups (-want +got): %s", diff)
	}
	gone := map[string]*corev1.Pod{pod0: nil}
	o := s.Observe(a().Obj(), nil, gone, confirm, at.Defaults{})
	if len(o.Lookups) > 0 {
		t.Errorf("%v are looked up again", o.Lookups)
	}
	if plan := at.MakePlan(o); len(o.Pods) != 1 || plan.Create != nil {
		t.Errorf("a pod whose run is not recorded was deleted: %d pods, plan %+v", len(o.Pods), plan)
	}
}

// A single error says nothing about the next create, but somebody has to know about a webhook that does not work.
func TestFailingCreatesAreReportedAfterAWhile(t *testing.T) {
	failing, waits := errors.New("creating Pod a-pod: no endpoints available for service"), at.Outcome{CreateError: errors.New("timeout")}
	var s at.State
	reported := func(after time.Duration, outcome at.Outcome) bool {
		o := s.Observe(a().Obj(), nil, nil, due.Add(after), at.Defaults{})
		now := s.ReportNow(o, outcome)
		s.Record(o, outcome, o.Now)
		return now
	}
	for _, step := range []struct {
		title   string
		after   time.Duration
		outcome at.Outcome
		want    bool
	}{
		{"the first error", 0, waits, false},
		{"errors for almost 5 s", 5*time.Second - 1, waits, false},
		{"errors for 5 s", 5 * time.Second, at.Outcome{CreateError: failing}, true},
		{"errors for an hour", time.Hour, waits, true},
		{"a create that was rejected", 2 * time.Hour, *rejected("exceeded quota"), true},
		{"the first error after that", 3 * time.Hour, waits, false},
	} {
		if got := reported(step.after, step.outcome); got != step.want {
			t.Errorf("%s: the status is written: %t, want %t", step.title, got, step.want)
		}
	}

	pending := a().Status(at.MakeReport(at.Decided(at.Observation{At: a().Obj(), Now: due.Add(-time.Minute)}), at.Outcome{}).Status).Obj()
	report := at.MakeReport(at.Decided(at.Observation{At: pending, Now: due}), at.Outcome{CreateError: failing})
	conditions := report.Status.Conditions
	for _, kind := range []string{cnatv1alpha1.ConditionScheduled, cnatv1alpha1.ConditionReady} {
		c := meta.FindStatusCondition(conditions, kind)
		if c.Status != metav1.ConditionFalse || c.Reason != cnatv1alpha1.ReasonFailedCreate || c.Message != failing.Error() {
			t.Errorf("condition %+v", c)
		}
	}
	if meta.FindStatusCondition(conditions, cnatv1alpha1.ConditionStalled) != nil {
		t.Error("the At is Stalled, but the operator retries, and that may succeed")
	}
	if diff := cmp.Diff([]event.Event{event.Warning("FailedCreate", "Schedule", failing.Error())}, report.Events); diff != "" {
		t.Errorf("events (-want +got): %s", diff)
	}
}

// A status can name an attempt that does not exist: only the operator may write it, but it was forged here.
func TestAForgedRecordIsLookedUpOnce(t *testing.T) {
	forged := a().Recorded(50, "x", "forged").Obj()
	for title, tc := range map[string]struct {
		pod  *corev1.Pod
		pods int
	}{
		"the At controls the pod": {testutil.MakeAtPod(a().Obj(), "x").Obj(), 1},
		"a foreign pod":           {testutil.MakeAtPod(a().Obj(), "x").Unowned().Obj(), 0},
		"no pod":                  {nil, 0},
	} {
		o := new(at.State).Observe(forged, nil, map[string]*corev1.Pod{"x": tc.pod}, due, at.Defaults{})
		if len(o.Lookups) > 0 || len(o.Pods) != tc.pods {
			t.Errorf("%s: %v are looked up again, %d pods", title, o.Lookups, len(o.Pods))
		}
	}
}

func TestAForeignPodWithTheNameOfAnAttemptIsNoPodOfTheAt(t *testing.T) {
	foreign := map[string]*corev1.Pod{pod0: ownPod().Unowned().Obj()}
	o := new(at.State).Observe(a().StartingDeadline(10).Obj(), nil, foreign, due.Add(time.Hour), at.Defaults{})
	if reason := at.MakeReport(o, at.Outcome{}).Status.Reason; len(o.Lookups) > 0 || reason != cnatv1alpha1.ReasonMissedDeadline {
		t.Errorf("lookups %v, reason %q", o.Lookups, reason)
	}
}

func TestTheReportedPodCountsAlthoughTheCacheLosesIt(t *testing.T) {
	var s at.State
	at0, now, first, second := a().BackoffLimit(1).Obj(), due.Add(time.Minute), failed().Obj(), secondPod().Obj()
	o := s.Observe(at0, []*corev1.Pod{second, first}, nil, now, at.Defaults{})
	s.Record(o, at.Outcome{Reported: &cnatv1alpha1.AtStatus{PodUID: second.UID}}, now)
	o = s.Observe(at0, []*corev1.Pod{first}, nil, now, at.Defaults{})
	if plan := at.MakePlan(o); plan.Create != nil {
		t.Errorf("%s runs again", plan.Create.Name)
	}
}

// The status that says so may have been written although its write got no response.
func TestAnAtThatWasDoneIsStillDoneAfterTheClockMovesBack(t *testing.T) {
	absent := map[string]*corev1.Pod{pod0: nil}
	missed, inTime := due.Add(time.Hour), due.Add(time.Minute)
	for title, tc := range map[string]struct {
		reported bool
		edited   bool
		version  string
		done     bool
	}{
		"it was reported":                        {reported: true, version: "1", done: true},
		"nothing was reported":                   {version: "1"},
		"it was reported, and the At was edited": {reported: true, edited: true, version: "2"},
		"it was reported, and another write preceded that of the status": {reported: true, version: "2"},
	} {
		var s at.State
		at0 := a().StartingDeadline(600).Obj()
		at0.ResourceVersion = "1"
		o := s.Observe(at0, nil, absent, missed, at.Defaults{})
		report := at.MakeReport(o, at.Outcome{})
		if report.Status.Reason != cnatv1alpha1.ReasonMissedDeadline {
			t.Fatalf("reason %q", report.Status.Reason)
		}
		var outcome at.Outcome
		if tc.reported {
			outcome.Reported = &report.Status
		}
		s.Record(o, outcome, missed)
		at0 = at0.DeepCopy()
		at0.ResourceVersion = tc.version
		if tc.edited {
			at0.Generation++
		}
		o = s.Observe(at0, nil, absent, inTime, at.Defaults{})
		phase := at.MakeReport(o, at.Outcome{}).Status.Phase
		if creates := at.MakePlan(o).Create != nil; creates == tc.done || (phase == cnatv1alpha1.PhaseDone) != tc.done {
			t.Errorf("%s: phase %s, creates a pod: %t", title, phase, creates)
		}
	}
}

// The clock may have moved back by an hour since the At was reported to be done. Its pods are expected as the clock says.
func TestAPodOfAnAtThatWasReportedDoneIsLookedUpInTime(t *testing.T) {
	var s at.State
	at0, created := a().StartingDeadline(600).Obj(), due.Add(time.Minute)
	o := s.Observe(at0, nil, nil, due.Add(time.Hour), at.Defaults{})
	s.Record(o, at.Outcome{Reported: &finished}, due.Add(time.Hour))
	s.Record(s.Observe(at0, nil, nil, created, at.Defaults{}), at.Outcome{Created: ownPod().Obj()}, created)
	for after, want := range map[time.Duration][]string{expectations.ConfirmAfter - 1: nil, expectations.ConfirmAfter: {pod0}} {
		if diff := cmp.Diff(want, s.Observe(at0, nil, nil, created.Add(after), at.Defaults{}).Lookups); diff != "" {
			t.Errorf("lookups %s after the create (-want +got): %s", after, diff)
		}
	}
}

func TestAStateKnowsWhatItCreatedAndDeleted(t *testing.T) {
	var s at.State
	over, pod := a().Status(deadlineExceeded).Obj(), running().Obj()
	observe := func(cached ...*corev1.Pod) at.Observation {
		return s.Observe(over, cached, nil, due, at.Defaults{Image: "x"})
	}
	if got := observe().Defaults.Image; got != "x" {
		t.Errorf("image %q", got)
	}
	s.Record(observe(), at.Outcome{Created: pod}, due)
	if at.MakePlan(observe()).Delete != nil {
		t.Error("a pod that the cache does not show is deleted")
	}
	o := observe(pod)
	deleted := at.MakePlan(o).Delete
	if deleted == nil {
		t.Fatal("the pod is not deleted")
	}
	s.Record(o, at.Outcome{Deleted: []*corev1.Pod{deleted}}, due)
	if at.MakePlan(observe(pod)).Delete != nil {
		t.Error("the pod is deleted twice")
	}
}

func TestTheBackOffOfRejectionsDoubles(t *testing.T) {
	var s at.State
	now := due
	observe := func(generation int64) at.Observation {
		return s.Observe(a().Generation(generation).Obj(), nil, nil, now, at.Defaults{})
	}
	for _, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		o, answered := observe(1), now.Add(300*time.Millisecond)
		s.Record(o, at.Outcome{Rejected: errors.New("quota")}, answered)
		if diff := cmp.Diff(&expectations.Rejection{Message: "quota", Until: answered.Add(delay)}, observe(1).Rejection); diff != "" {
			t.Errorf("(-want +got): %s", diff)
		}
		if observe(2).Rejection != nil {
			t.Error("the rejection of an earlier generation counts")
		}
		now = answered.Add(delay)
	}
	s.Record(observe(1), at.Outcome{Created: ownPod().Obj()}, now)
	if observe(1).Rejection != nil {
		t.Error("the rejection is remembered after a create")
	}
}

func TestAWrittenStatusCountsBeforeTheCacheShowsIt(t *testing.T) {
	var s at.State
	stale, written := a().Obj(), a().Status(finished).Obj()
	stale.ResourceVersion, written.ResourceVersion = "1", "2"
	s.Record(s.Observe(stale, nil, nil, due, at.Defaults{}), at.Outcome{Written: written}, due)
	o := s.Observe(stale, nil, nil, due, at.Defaults{})
	if diff := cmp.Diff(written, o.At); diff != "" || stale.ResourceVersion != "1" {
		t.Errorf("the At (-want +got): %s; the cached one has version %s", diff, stale.ResourceVersion)
	}
	s.Record(o, at.Outcome{}, due)
	if o := s.Observe(written, nil, nil, due, at.Defaults{}); o.At != written {
		t.Error("the cache shows the status, and does not count")
	}
}

func TestTheStatusWaitsAfterACreate(t *testing.T) {
	for title, tc := range map[string]struct {
		outcome at.Outcome
		want    bool
	}{
		"nothing was written":  {at.Outcome{}, true},
		"a pod was created":    {at.Outcome{Created: ownPod().Obj()}, false},
		"a pod was deleted":    {at.Outcome{Deleted: []*corev1.Pod{ownPod().Obj()}}, true},
		"a pod is to be noted": {at.Outcome{Reported: &cnatv1alpha1.AtStatus{PodUID: "uid"}}, true},
	} {
		if got := new(at.State).ReportNow(at.Observation{}, tc.outcome); got != tc.want {
			t.Errorf("%s: the status is written now: %t, want %t", title, got, tc.want)
		}
	}
}
