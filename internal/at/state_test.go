// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/at"
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
		if got := at.ReportNow(tc.outcome); got != tc.want {
			t.Errorf("%s: the status is written now: %t, want %t", title, got, tc.want)
		}
	}
}
