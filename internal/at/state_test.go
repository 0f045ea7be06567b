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
		if got := s.RequeueAt(at.Report{RequeueAt: tc.report}); !got.Equal(tc.want) {
			t.Errorf("%s: requeue at %s, want %s", title, got, tc.want)
		}
	}
	s.Record(s.Observe(a().Obj(), []*corev1.Pod{pod}, nil, due, at.Defaults{}), at.Outcome{}, due)
	if got := s.RequeueAt(at.Report{}); !got.IsZero() {
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
		{"a create that was rejected", 2 * time.Hour, *rejected("exceeded quota", false, time.Second), true},
		{"the first error after that", 3 * time.Hour, waits, false},
	} {
		if got := reported(step.after, step.outcome); got != step.want {
			t.Errorf("%s: the status is written: %t, want %t", step.title, got, step.want)
		}
	}

	pending := a().Status(at.MakeReport(at.Observation{At: a().Obj(), Now: due.Add(-time.Minute)}, at.Outcome{}).Status).Obj()
	report := at.MakeReport(at.Observation{At: pending, Now: due}, at.Outcome{CreateError: failing})
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

func TestTheStatusWaitsAfterACreate(t *testing.T) {
	for title, tc := range map[string]struct {
		outcome at.Outcome
		want    bool
	}{
		"nothing was written":  {at.Outcome{}, true},
		"a pod was created":    {at.Outcome{Created: ownPod().Obj()}, false},
		"a pod was deleted":    {at.Outcome{Deleted: []*corev1.Pod{ownPod().Obj()}}, true},
		"a pod is to be noted": {at.Outcome{Reported: "uid"}, true},
	} {
		if got := new(at.State).ReportNow(at.Observation{}, tc.outcome); got != tc.want {
			t.Errorf("%s: the status is written now: %t, want %t", title, got, tc.want)
		}
	}
}
