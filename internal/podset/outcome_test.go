// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/testutil"
)

func TestOutcomeSucceeded(t *testing.T) {
	pods := []*corev1.Pod{testutil.MakePod("x").Obj()}
	for title, tc := range map[string]struct {
		outcome Outcome
		want    bool
	}{
		"nothing was done":                 {Outcome{}, false},
		"pods were made":                   {Outcome{Created: pods}, true},
		"pods were deleted":                {Outcome{Deleted: pods}, true},
		"pods were removed":                {Outcome{CleanedUp: pods}, true},
		"one was made, the next rejected":  {Outcome{Created: pods, CreateError: errors.New("no")}, false},
		"one was deleted, the next is not": {Outcome{Deleted: pods, DeleteError: errors.New("no")}, false},
		"a name was in use":                {Outcome{Created: pods, NameCollision: "x"}, false},
	} {
		if got := tc.outcome.Succeeded(); got != tc.want {
			t.Errorf("%s: %t, want %t", title, got, tc.want)
		}
	}
}

func TestOutcomesAreToldTogether(t *testing.T) {
	pods := func(names ...string) (pods []*corev1.Pod) {
		for _, name := range names {
			pods = append(pods, testutil.MakePod(name).Obj())
		}
		return pods
	}
	no := errors.New("no")
	got := Outcome{Created: pods("a"), Deleted: pods("b"), CreateError: errors.New("over by now")}.
		Merge(Outcome{Created: pods("c"), CleanedUp: pods("d"), DeleteError: no})
	var notes []string
	for _, e := range Events(got) {
		notes = append(notes, e.Note)
	}
	if diff := cmp.Diff([]string{"Created a, c", "Deleted b", "Removed after their end: d (Pending)", "no"}, notes); diff != "" {
		t.Errorf("events (-want +got): %s", diff)
	}
}
