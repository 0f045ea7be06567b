// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/podset"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestIsRefusal(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for title, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a quota":                   {apierrors.NewForbidden(pods, "a", errors.New("exceeded quota")), true},
		"an invalid pod":            {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), true},
		"a bad request":             {apierrors.NewBadRequest("no"), true},
		"a refusal that is wrapped": {fmt.Errorf("creating: %w", apierrors.NewBadRequest("no")), true},
		"a namespace that is gone":  {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), true},
		"a conflict":                {apierrors.NewConflict(pods, "a", nil), false},
		"overload":                  {apierrors.NewTooManyRequests("slow down", 1), false},
		"an expired token":          {apierrors.NewUnauthorized("who"), false},
		"a time-out":                {apierrors.NewTimeoutError("slow", 1), false},
		"a broken API server":       {apierrors.NewInternalError(errors.New("oops")), false},
		"a broken connection":       {errors.New("connection reset"), false},
		"nothing":                   {nil, false},
	} {
		if got := isRefusal(tc.err); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
		if got := retryable(tc.err); (got == nil) != (tc.want || tc.err == nil) {
			t.Errorf("%s: retryable gave %v", title, got)
		}
	}
}

func TestCreatePodsStartsSlowlyAndStopsAtTheFirstRefusal(t *testing.T) {
	pods := make([]*corev1.Pod, 10)
	for i := range pods {
		pods[i] = testutil.MakePod(fmt.Sprint("pod", i)).Obj()
	}
	for title, tc := range map[string]struct{ failing, calls, created int }{
		"all go well":            {-1, 10, 10},
		"the first is refused":   {0, 1, 0},
		"the third is refused":   {2, 3, 2},
		"the seventh is refused": {6, 7, 6},
		"the eighth is refused":  {7, 10, 9},
	} {
		var calls atomic.Int32
		created, err := createPods(pods, func(pod *corev1.Pod) (*corev1.Pod, error) {
			calls.Add(1)
			if tc.failing >= 0 && pod.Name == pods[tc.failing].Name {
				return nil, errors.New("refused")
			}
			return pod, nil
		})
		if int(calls.Load()) != tc.calls || len(created) != tc.created || (err != nil) != (tc.failing >= 0) {
			t.Errorf("%s: %d calls, %d created, error %v", title, calls.Load(), len(created), err)
		}
	}
}

func TestMemoryOfCreatedPods(t *testing.T) {
	set := testutil.MakePodSet("a").Obj()
	mk := func(name string) *testutil.PodBuilder { return testutil.MakePod(name).OwnedBy(set) }
	other := testutil.MakePodSet("b").Obj()
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		mk("living").Obj(), testutil.MakePod("taken-over").OwnedBy(other).Obj(), testutil.MakePod("released").Obj(), mk("made-again").UID("new").Obj(),
	).Build()
	now := time.Now()
	var all memories
	m := all.of(set)
	for _, name := range []string{"shown", "living", "gone", "taken-over", "released", "made-again"} {
		m.noteCreated(mk(name).Obj(), now)
	}
	observe := func(now time.Time, cached ...*corev1.Pod) map[string]bool {
		t.Helper()
		pods, err := m.pods(t.Context(), live, cached, now)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, pod := range pods {
			if names[pod.Name] {
				t.Errorf("%s is there twice", pod.Name)
			}
			names[pod.Name] = true
		}
		return names
	}
	young := map[string]bool{"shown": true, "living": true, "gone": true, "taken-over": true, "released": true, "made-again": true}
	if diff := cmp.Diff(young, observe(now, mk("shown").Obj())); diff != "" {
		t.Errorf("at once, all that was created is there (-want +got): %s", diff)
	}
	if at := m.checkUnseenAt(); !at.Equal(now.Add(unseenFor)) {
		t.Errorf("looks again at %s", at)
	}
	if diff := cmp.Diff(map[string]bool{"living": true}, observe(now.Add(unseenFor))); diff != "" {
		t.Errorf("later, only what the API server has (-want +got): %s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"living": true}, observe(now.Add(2*unseenFor), mk("living").Obj())); diff != "" {
		t.Errorf("what the cache shows is not added (-want +got): %s", diff)
	}
	if at := m.checkUnseenAt(); !at.IsZero() {
		t.Errorf("nothing is unseen, and it looks again at %s", at)
	}
}

func TestMemoryOfDeletedPods(t *testing.T) {
	set := testutil.MakePodSet("a").Obj()
	var all memories
	m := all.of(set)
	pod := testutil.MakePod("x").OwnedBy(set)
	m.noteDeleted(pod.Obj().UID)
	for _, step := range []struct {
		title  string
		cached []*corev1.Pod
		want   bool
	}{
		{"the cache shows the pod as living", []*corev1.Pod{pod.Obj()}, true},
		{"the cache shows that it is going", []*corev1.Pod{pod.Terminating().Obj()}, false},
	} {
		if _, err := m.pods(t.Context(), nil, step.cached, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := m.deleted.Has(pod.Obj().UID); got != step.want {
			t.Errorf("%s: remembered is %t", step.title, got)
		}
	}
}

// A pod can be made, deleted and gone before a cache that lags shows that it ever lived.
func TestMemoryOfPodsThatAreGoneUnseen(t *testing.T) {
	set := testutil.MakePodSet("a").Obj()
	var all memories
	m := all.of(set)
	pod := testutil.MakePod("x").OwnedBy(set)
	now := time.Now()
	m.noteCreated(pod.Obj(), now)
	m.noteDeleted(pod.Obj().UID)
	for _, step := range []struct {
		title  string
		cached []*corev1.Pod
		want   bool
	}{
		{"the API server says that the pod is gone", nil, false},
		{"the cache shows the pod as living", []*corev1.Pod{pod.Obj()}, true},
		{"the cache still does", []*corev1.Pod{pod.Obj()}, true},
		{"the cache shows that it is gone", nil, false},
		{"nothing is left of it", []*corev1.Pod{pod.Obj()}, false},
	} {
		pods, err := m.pods(t.Context(), fake.NewFakeClient(), step.cached, now.Add(unseenFor))
		if err != nil || len(pods) != len(step.cached) {
			t.Fatalf("%s: %d pods, %v", step.title, len(pods), err)
		}
		if got := m.deleted.Has(pod.Obj().UID); got != step.want {
			t.Errorf("%s: it counts as deleted: %t", step.title, got)
		}
	}
}

func TestMemoryIsOfOneUID(t *testing.T) {
	var all memories
	set := testutil.MakePodSet("a").Obj()
	first := all.of(set)
	if all.of(set) != first {
		t.Error("the same object has two memories")
	}
	again := set.DeepCopy()
	again.UID = "another"
	if all.of(again) == first {
		t.Error("an object that was made again has the memory of its predecessor")
	}
	if err := all.forgetIfGone(client.ObjectKeyFromObject(set), errors.New("not now")); err == nil || len(all.byKey) != 1 {
		t.Error("an object that could not be read was forgotten")
	}
	if err := all.forgetIfGone(client.ObjectKeyFromObject(set), apierrors.NewNotFound(schema.GroupResource{}, "a")); err != nil || len(all.byKey) != 0 {
		t.Error("an object that is gone was remembered")
	}
}

func TestMemoryOfTheHashFollowsTheTemplate(t *testing.T) {
	m := &memory{}
	set := testutil.MakePodSet("a").Image("v1").Obj()
	first := m.hash(set)
	edited := testutil.FromPodSet(set).Image("v2").Obj()
	edited.Generation++
	for _, at := range []*appv1alpha1.PodSet{edited, set} {
		if got, want := m.hash(at), podset.HashTemplate(at.Spec.Template); got != want {
			t.Errorf("generation %d: hash %s, want %s", at.Generation, got, want)
		}
	}
	if m.hash(edited) == first {
		t.Error("another template has the same hash")
	}
}

func TestNewest(t *testing.T) {
	set := func(version string) *testutil.PodSetBuilder {
		obj := testutil.MakePodSet("a").Obj()
		obj.ResourceVersion = version
		return testutil.FromPodSet(obj)
	}
	for _, tc := range []struct{ cached, written, want string }{{"5", "9", "9"}, {"9", "9", "9"}, {"10", "9", "10"}, {"5", "", "5"}} {
		m := &memory{}
		if tc.written != "" {
			m.written = set(tc.written).Obj()
		}
		if got := newest(m, set(tc.cached).Obj()).ResourceVersion; got != tc.want {
			t.Errorf("cached %s, written %q: took %s", tc.cached, tc.written, got)
		}
	}
}

func TestBackoff(t *testing.T) {
	var b backoff
	now := time.Now()
	var got []time.Duration
	for range 8 {
		until := b.next(now, time.Second, time.Minute)
		got = append(got, until.Sub(now)/time.Second)
		now = until
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, got); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	if until := b.next(now.Add(3*time.Minute), time.Second, time.Minute); !until.Equal(now.Add(3*time.Minute + time.Second)) {
		t.Error("a back-off that was not asked for goes on where it was")
	}
}

func TestStatusIsNotWrittenOntoAnObjectThatHasChanged(t *testing.T) {
	made := newAt(newNamespace(t), "a", "now + 1 week", "true")
	create(t, made)
	older := made.DeepCopy()
	change(t, made, func(at *cnatv1alpha1.At) { at.Spec.Schedule = "now + 2 weeks" })
	changed := older.DeepCopy()
	changed.Status.Output = "of an older state"
	err := writeStatus(t.Context(), admin, &memory{}, changed, older.Status, changed.Status)
	if !apierrors.IsConflict(err) {
		t.Errorf("a status of an older state was written: %v", err)
	}
	if result, err := wake(err, time.Now()); err != nil || result.RequeueAfter != staleRetry {
		t.Errorf("a conflict leads to %v, %v", result, err)
	}
}

// The caches are past the first such list as soon as anything happens, and need no other one.
func TestOnlyTheFirstWritesWaitForAList(t *testing.T) {
	for _, last := range []bool{false, true} {
		namespace := newNamespace(t)
		set, at := podSet(namespace, "a", 1), newAt(namespace, "a", "now", "true")
		create(t, set, at)
		expectPods(t, set, 1)
		expectPhase(t, at, cnatv1alpha1.PhaseRunning)
		if lists := used.in(namespace, "list /pods", "list app.example.com/podsets", "list cnat.d2iq.com/ats"); last && len(lists) > 0 {
			t.Errorf("the second namespace was listed: %v", lists)
		}
	}
}
