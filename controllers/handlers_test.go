// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	ownevent "github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/objectstate"
	"github.com/redhat/podset-operator/internal/testutil"
)

// podSetWith is a PodSet that has some pods and wants others.
func podSetWith(name string, has, wants int32) *appv1alpha1.PodSet {
	return testutil.MakePodSet(name).Replicas(wants).Status(appv1alpha1.PodSetStatus{Replicas: has}).Obj()
}

func TestPodSetHandler(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	handler := &podSetHandler{}
	for _, e := range []event.CreateEvent{
		{Object: podSetWith("lacks-ten", 0, 10)},
		{Object: podSetWith("lacks-three", 0, 3)},
		{Object: podSetWith("lacks-one", 0, 1)},
		{Object: podSetWith("found-at-the-start", 0, 1), IsInInitialList: true},
	} {
		handler.Create(t.Context(), e, q)
	}
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: podSetWith("two-too-many", 10, 10), ObjectNew: podSetWith("two-too-many", 10, 8)}, q)
	handler.Delete(t.Context(), event.DeleteEvent{Object: podSetWith("deleted", 10, 10)}, q)

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

// recordedAdds is a queue that records how requests are added.
type recordedAdds struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	added []priorityqueue.AddOpts
}

func (q *recordedAdds) AddWithOpts(o priorityqueue.AddOpts, _ ...reconcile.Request) {
	q.added = append(q.added, o)
}

func (q *recordedAdds) Add(reconcile.Request) { q.added = append(q.added, priorityqueue.AddOpts{}) }

func TestHandlers_delay(t *testing.T) {
	owner := testutil.MakePodSet("a").Obj()
	starting := testutil.MakePod("p").OwnedBy(owner).Obj()
	ready := testutil.MakePod("p").OwnedBy(owner).Running().Obj()
	failed := testutil.MakePod("p").OwnedBy(owner).Finished(corev1.PodFailed, "").Obj()
	starting.ResourceVersion, ready.ResourceVersion, failed.ResourceVersion = "1", "2", "3" // Equal versions would have a low priority.
	wait := priorityqueue.AddOpts{After: 250 * time.Millisecond, Priority: ptr.To(-20)}
	listed := priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}
	pods, sets, ctx := podHandler{caches.EnqueueController(podSetKind)}, &podSetHandler{}, t.Context()
	for title, tc := range map[string]struct {
		send func(queue)
		want priorityqueue.AddOpts
	}{
		"a pod is created": {func(q queue) { pods.Create(ctx, event.CreateEvent{Object: starting}, q) }, wait},
		"a pod is listed":  {func(q queue) { pods.Create(ctx, event.CreateEvent{Object: starting, IsInInitialList: true}, q) }, listed},
		"a pod is deleted": {func(q queue) { pods.Delete(ctx, event.DeleteEvent{Object: ready}, q) }, wait},
		"a pod is ready":   {func(q queue) { pods.Update(ctx, event.UpdateEvent{ObjectOld: starting, ObjectNew: ready}, q) }, wait},
		"a pod fails":      {func(q queue) { pods.Update(ctx, event.UpdateEvent{ObjectOld: ready, ObjectNew: failed}, q) }, priorityqueue.AddOpts{}},
		"a status is forged": {func(q queue) {
			sets.Update(ctx, event.UpdateEvent{ObjectOld: podSetWith("a", 0, 3), ObjectNew: podSetWith("a", 3, 3)}, q)
		}, wait},
	} {
		q := &recordedAdds{}
		tc.send(q)
		if diff := cmp.Diff([]priorityqueue.AddOpts{tc.want}, q.added); diff != "" {
			t.Errorf("%s: %s", title, diff)
		}
	}
}

// After a gap in the watch, the last state of a pod is that of the cache, which may be old: it proves nothing.
func TestAtPodHandler_Delete(t *testing.T) {
	owner := testutil.MakeAt("a").Obj()
	for guessed, want := range map[bool]int{false: 1, true: 0} {
		states, q := &objectstate.Map[at.Memory]{}, &recordedAdds{}
		handler := atPodHandler{caches.EnqueueController(atKind), states}
		handler.Delete(t.Context(), event.DeleteEvent{Object: testutil.MakeAtPod(owner, "a-pod").Obj(), DeleteStateUnknown: guessed}, q)
		if kept := len(states.Of(owner).DeletedPods()); kept != want || len(q.added) != 1 {
			t.Errorf("guessed: %t, %d last states are kept, want %d; %d requests", guessed, kept, want, len(q.added))
		}
	}
}

func TestRecordEvents(t *testing.T) {
	recorder := events.NewFakeRecorder(2)
	recordEvents(recorder, podSetWith("a", 0, 1), []ownevent.Event{
		ownevent.Normal("Created", "Create", "a"), ownevent.Warning("FailedCreate", "Create", "100% of the quota"),
	})
	for _, want := range []string{"Normal Created a", "Warning FailedCreate 100% of the quota"} {
		if got := <-recorder.Events; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestChangesOnlyStatus(t *testing.T) {
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
