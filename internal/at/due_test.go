// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"testing"
	"time"

	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/testutil"
)

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
		"suspended":                           {testutil.MakeAt("a").Suspend(), 30 * time.Second, false},
		"paused":                              {testutil.MakeAt("a").Paused("true"), 30 * time.Second, false},
		"being deleted":                       {testutil.MakeAt("a").Deleting(), 30 * time.Second, false},
		"a schedule that is no time never is": {testutil.MakeAt("a").Schedule("tomorrow"), 30 * time.Second, false},
	} {
		if got := at.IsDueWithin(tc.at.Obj(), testutil.AtDue.Add(-tc.until), time.Minute); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}
