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

func TestOneEventIsSentForEachKindOfAction(t *testing.T) {
	pods := func(name string) []*corev1.Pod { return []*corev1.Pod{testutil.MakePod(name).Obj()} }
	outcome := Outcome{
		Created: append(pods("a"), pods("b")...), Deleted: pods("c"), CleanedUp: pods("d"),
		CreateError: errors.New("create"), DeleteError: errors.New("delete"),
	}
	var notes []string
	for _, e := range Events(outcome) {
		notes = append(notes, e.Note)
	}
	want := []string{"Created a, b", "Deleted c", "Deleted after they finished: d (Pending)", "create", "delete"}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got): %s", diff)
	}
}
