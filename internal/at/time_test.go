// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/testutil"
)

// withoutPod returns the status of an At that ended before its start.
func withoutPod(s cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	s.PodUID, s.Attempts = "", 0
	return s
}

func TestIsDueWithin(t *testing.T) {
	for title, tc := range map[string]struct {
		at    *testutil.AtBuilder
		until time.Duration // from now to the schedule
		want  bool
	}{
		"due in half a minute":                {testutil.MakeAt("a"), 30 * time.Second, true},
		"due now":                             {testutil.MakeAt("a"), 0, true},
		"due in a minute":                     {testutil.MakeAt("a"), time.Minute, true},
		"due later":                           {testutil.MakeAt("a"), time.Minute + time.Second, false},
		"overdue, so it is started already":   {testutil.MakeAt("a"), -time.Second, false},
		"started":                             {testutil.MakeAt("a").Recorded(1, "a-pod", "1"), 30 * time.Second, false},
		"done, and the clock was set back":    {testutil.MakeAt("a").Status(withoutPod(finished)), 30 * time.Second, false},
		"suspended":                           {testutil.MakeAt("a").Suspend(), 30 * time.Second, false},
		"being deleted":                       {testutil.MakeAt("a").Deleting(), 30 * time.Second, false},
		"a schedule that is no time never is": {testutil.MakeAt("a").Schedule("tomorrow"), 30 * time.Second, false},
	} {
		if got := at.IsDueWithin(tc.at.Obj(), testutil.AtDue.Add(-tc.until), time.Minute); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}

func TestEarliestStart(t *testing.T) {
	created, now := testutil.AtCreated, due.Add(time.Hour)
	condition := func(status metav1.ConditionStatus, reason string) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
			{Type: cnatv1alpha1.ConditionScheduled, Status: status, Reason: reason},
		}}
	}
	for title, tc := range map[string]struct {
		at   *testutil.AtBuilder
		want time.Time
	}{
		"an At that waited for its time":     {at: a().Generation(1).Status(condition(metav1.ConditionTrue, cnatv1alpha1.ReasonWaiting)), want: due},
		"a new At":                           {at: a().Generation(1), want: due},
		"an At whose time is years ago":      {at: a().Schedule("2020-01-30T10:02:00Z"), want: created},
		"an At that was suspended":           {at: a().Generation(1).Status(condition(metav1.ConditionFalse, cnatv1alpha1.ReasonSuspended)), want: now},
		"an At that was rescheduled":         {at: a().Generation(2).Status(condition(metav1.ConditionTrue, cnatv1alpha1.ReasonWaiting)), want: now},
		"an At whose pod a quota rejected":   {at: a().Generation(1).Status(condition(metav1.ConditionFalse, cnatv1alpha1.ReasonFailedCreate)), want: due},
		"an At that has started":             {at: runs0()},
		"a retry whose failed pod is gone":   {at: a().RetryRecorded(1, pod0, time.Minute)},
		"an At whose schedule is not a time": {at: a().Schedule("tomorrow")},
	} {
		got, ok := at.EarliestStart(&at.View{At: tc.at.Obj(), Now: now})
		if !got.Equal(tc.want) || ok == tc.want.IsZero() {
			t.Errorf("%s: %s, %t; want %s", title, got, ok, tc.want)
		}
	}
}
