// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

// kinds are those whose pods testutil builds.
var kinds = PodOwners{
	Kinds:    []schema.GroupVersionKind{appv1alpha1.GroupVersion.WithKind("PodSet"), cnatv1alpha1.GroupVersion.WithKind("At")},
	TrimSpec: func(*corev1.Pod) corev1.PodSpec { return corev1.PodSpec{} },
}

// fakeSource is an API server that does not stream lists.
type fakeSource struct {
	list func(metav1.ListOptions) (runtime.Object, error)
	// watches receives the watch that follows each list.
	watches chan *watch.FakeWatcher
}

var errNoWatchList = errors.New("an API server that cannot list by a watch")

func (s *fakeSource) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.list(options)
}

func (s *fakeSource) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil {
		return nil, errNoWatchList
	}
	events := watch.NewFakeWithChanSize(10, false)
	s.watches <- events
	return events, nil
}

func (s *fakeSource) List(options metav1.ListOptions) (runtime.Object, error) { return s.list(options) }

func (s *fakeSource) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// podLists returns a source whose lists have these pods, one after another. The last one repeats.
func podLists(lists ...[]corev1.Pod) *fakeSource {
	return &fakeSource{watches: make(chan *watch.FakeWatcher, 1), list: func(metav1.ListOptions) (runtime.Object, error) {
		list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: lists[0]}
		if len(lists) > 1 {
			lists = lists[1:]
		}
		return list, nil
	}}
}

// startInformer runs an informer with the options of Configure until the test ends. handler may be nil.
func startInformer(t *testing.T, source toolscache.ListerWatcher, kind runtime.Object, handler toolscache.ResourceEventHandler) toolscache.SharedIndexInformer {
	t.Helper()
	var options cache.Options
	kinds.Configure(&options)
	informer := options.NewInformer(source, kind, 0, toolscache.Indexers{})
	if handler != nil {
		if _, err := informer.AddEventHandler(handler); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		informer.RunWithContext(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return informer
}

// notifications are the calls of an informer's event handler, as texts.
type notifications chan string

func (c notifications) OnAdd(obj any, _ bool) { c <- "added " + describe(obj) }
func (c notifications) OnUpdate(before, now any) {
	c <- "updated " + describe(before) + " to " + describe(now)
}
func (c notifications) OnDelete(obj any) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	c <- "deleted " + describe(obj)
}

func describe(obj any) string {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Sprintf("%T", obj)
	}
	owner := "none"
	if reference := metav1.GetControllerOfNoCopy(pod); reference != nil {
		owner = reference.Kind
	}
	return pod.Name + " of " + owner
}

func (c notifications) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-c:
		return line
	case <-time.After(10 * time.Second):
		t.Fatal("the informer sends no further notification")
		return ""
	}
}

func (c notifications) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, line := range want {
		if got := c.next(t); got != line {
			t.Fatalf("the informer reported: %s; want: %s", got, line)
		}
	}
}

func TestOwnPods(t *testing.T) {
	set, at := testutil.MakePodSet("set").Obj(), testutil.MakeAt("at").Obj()
	pod := func(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
		pod := testutil.MakePod(name).OwnedBy(set).Obj()
		for _, edit := range edits {
			edit(pod)
		}
		return pod
	}
	unowned := func(pod *corev1.Pod) { pod.OwnerReferences = nil }
	ofReplicaSet := func(pod *corev1.Pod) {
		pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = "apps/v1", "ReplicaSet"
	}
	ofOtherPodSet := func(pod *corev1.Pod) { pod.OwnerReferences[0].APIVersion = "other.example.com/v1" }

	source := podLists(
		[]corev1.Pod{*pod("foreign", unowned), *pod("own"), *pod("replica", ofReplicaSet), *pod("other", ofOtherPodSet), *testutil.MakeAtPod(at, "run").Obj()},
		[]corev1.Pod{*pod("foreign", unowned), *pod("adopted", unowned), *pod("own")},
	)
	received := make(notifications, 100)
	informer := startInformer(t, source, &corev1.Pod{}, received)

	events := <-source.watches
	if !toolscache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer did not fill its cache")
	}
	inList := map[string]bool{received.next(t): true, received.next(t): true}
	if diff := cmp.Diff(map[string]bool{"added own of PodSet": true, "added run of At": true}, inList); diff != "" {
		t.Fatalf("of the first list the informer reported: %s", diff)
	}

	// All events of a foreign pod, and then one of our own pods, which shows that the foreign events were received.
	events.Add(pod("stranger", unowned))
	events.Modify(pod("stranger", unowned))
	events.Delete(pod("stranger", unowned))
	events.Add(pod("second"))
	received.expect(t, "added second of PodSet")

	// A pod that is released was ours, and an adopted one becomes ours.
	events.Modify(pod("second", unowned))
	events.Modify(pod("second", unowned))
	events.Modify(pod("adopted"))
	events.Modify(pod("adopted", unowned))
	events.Delete(pod("second", unowned))
	events.Delete(pod("run", unowned))
	received.expect(t, "updated second of PodSet to second of none", "updated second of none to second of none",
		"added adopted of PodSet", "updated adopted of PodSet to adopted of none", "deleted second of none")
	received.expect(t, "deleted run of none")

	// Bookmarks carry the resource versions of changes to other pods.
	events.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}})
	deadline := time.After(10 * time.Second)
	for informer.GetStore().LastStoreSyncResourceVersion() != "9" {
		select {
		case <-deadline:
			t.Fatalf("the store is at %s after a bookmark", informer.GetStore().LastStoreSyncResourceVersion())
		case <-time.After(time.Millisecond):
		}
	}

	// A list after a gap: to the informer, the pod that is no longer ours is gone.
	events.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
	events = <-source.watches
	again := map[string]bool{received.next(t): true, received.next(t): true}
	want := map[string]bool{"deleted adopted of none": true, "updated own of PodSet to own of PodSet": true}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Fatalf("of the second list the informer reported: %s", diff)
	}
	events.Modify(pod("adopted", unowned))
	events.Modify(pod("own"))
	received.expect(t, "updated own of PodSet to own of PodSet")
	if keys := informer.GetStore().ListKeys(); len(keys) != 1 {
		t.Errorf("the cache holds %v", keys)
	}
}

func TestOwnPods_gone(t *testing.T) {
	pod := testutil.MakePod("own").OwnedBy(testutil.MakePodSet("set").Obj()).Obj()
	added := watch.Event{Type: watch.Added, Object: pod}
	for title, forget := range map[string]func(*ownPods) error{
		"a deletion": func(own *ownPods) error {
			own.filterEvent(watch.Event{Type: watch.Deleted, Object: pod})
			return nil
		},
		"a list": func(own *ownPods) error {
			_, err := own.ListWithContext(t.Context(), metav1.ListOptions{})
			return err
		},
		"a list by a watch": func(own *ownPods) error {
			if _, err := own.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)}); !errors.Is(err, errNoWatchList) {
				return err
			}
			return nil
		},
	} {
		own := newOwnPods(podLists(nil), kinds)
		own.filterEvent(added)
		if own.shown.Len() != 1 {
			t.Fatalf("before %s: %v", title, own.shown)
		}
		if err := forget(own); err != nil || own.shown.Len() != 0 {
			t.Errorf("after %s: %v, %v", title, own.shown, err)
		}
	}
	own := newOwnPods(podLists(nil), kinds)
	own.filterEvent(added)
	if _, err := own.ListWithContext(t.Context(), metav1.ListOptions{Continue: "the second page"}); err != nil || own.shown.Len() != 1 {
		t.Errorf("after the second page of a list: %v, %v", own.shown, err)
	}
}

func TestConfigure(t *testing.T) {
	var options cache.Options
	kinds.Configure(&options)
	full := testutil.MakePod("a").OwnedBy(testutil.MakePodSet("set").Obj()).Obj()
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	if len(options.ByObject) != 1 {
		t.Fatalf("options for %d kinds", len(options.ByObject))
	}
	for _, of := range options.ByObject {
		if got, err := of.Transform(full); err != nil || got.(*corev1.Pod).ManagedFields != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
}
