// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

// podSetWith is a PodSet that asks for some pods and has others.
func podSetWith(name string, has, wants int32) *appv1alpha1.PodSet {
	return testutil.MakePodSet(name).Replicas(wants).Status(appv1alpha1.PodSetStatus{Replicas: has}).Obj()
}

func TestSmallPodSetsGoFirst(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	events := &podSetEvents{}
	for _, e := range []event.CreateEvent{
		{Object: podSetWith("lacks-ten", 0, 10)},
		{Object: podSetWith("lacks-three", 0, 3)},
		{Object: podSetWith("lacks-one", 0, 1)},
		{Object: podSetWith("found-at-the-start", 0, 1), IsInInitialList: true},
	} {
		events.Create(t.Context(), e, q)
	}
	events.Update(t.Context(), event.UpdateEvent{ObjectOld: podSetWith("two-too-many", 10, 10), ObjectNew: podSetWith("two-too-many", 10, 8)}, q)
	events.Delete(t.Context(), event.DeleteEvent{Object: podSetWith("deleted", 10, 10)}, q)

	var got []string
	for range 6 {
		req, _ := q.Get()
		got = append(got, req.Name)
	}
	want := []string{"deleted", "lacks-one", "two-too-many", "lacks-three", "lacks-ten", "found-at-the-start"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got): %s", diff)
	}
}

func TestOnlyAChangeOfTheStatusWaits(t *testing.T) {
	before := podSetWith("a", 0, 3)
	paused := testutil.FromPodSet(before).Annotation(appv1alpha1.AnnotationPaused, "true").Obj()
	for title, tc := range map[string]struct {
		after *appv1alpha1.PodSet
		want  bool
	}{
		"the status":                      {podSetWith("a", 3, 3), true},
		"the spec":                        {podSetWith("a", 0, 4), false},
		"both":                            {podSetWith("a", 3, 4), false},
		"an annotation":                   {paused, false},
		"the deletion has been asked for": {testutil.FromPodSet(before).Deleting().Obj(), false},
	} {
		if got := changesOnlyStatus(event.UpdateEvent{ObjectOld: before, ObjectNew: tc.after}); got != tc.want {
			t.Errorf("%s: %t, want %t", title, got, tc.want)
		}
	}
}
