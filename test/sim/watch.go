// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// source lists and watches one resource for one process. It replaces the HTTP client of an informer.
type source struct {
	process  *process
	resource string
}

// ListWithContext lists the latest state. A list with resource version 0 returns an older state, as a watch cache can.
func (s source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	var list runtime.Object
	_, err := s.process.do(ctx, invariants.Call{Verb: "list", Resource: s.resource, AnyAge: options.ResourceVersion == "0"}, func() (client.Object, error) {
		if options.ResourceVersion == "0" {
			list = s.process.env.store.listAt(s.resource, s.process.env.oldVersion)
		} else {
			list = s.process.env.store.listAt(s.resource, s.process.env.store.version)
		}
		return nil, nil //nolint:nilnil // a list is not an object
	})
	return list, err
}

// WatchWithContext watches from a version, or streams the latest state first. The scheduler delivers the later events one by one.
func (s source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	var initial []watch.Event
	if ptr.Deref(options.SendInitialEvents, false) {
		if !s.process.env.streams {
			return nil, apierrors.NewInvalid(metav1.Unversioned.WithKind("ListOptions").GroupKind(), "", nil)
		}
		list, err := s.ListWithContext(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		initial = initialEvents(s.resource, list)
		options.ResourceVersion = list.(metav1.ListInterface).GetResourceVersion()
	}
	from, err := strconv.ParseUint(options.ResourceVersion, 10, 64)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	w := &watcher{process: s.process, resource: s.resource, version: from, events: make(chan watch.Event, len(initial)+1)}
	for _, event := range initial {
		w.events <- event
	}
	s.process.env.addWatcher(w)
	return w, nil
}

// initialEvents returns a list as a server streams it: an event for each object, and a bookmark.
func initialEvents(resource string, list runtime.Object) []watch.Event {
	items, _ := meta.ExtractList(list) // It is a list.
	var events []watch.Event
	for _, item := range items {
		events = append(events, watch.Event{Type: watch.Added, Object: item})
	}
	end := NewObject(resource)
	end.SetResourceVersion(list.(metav1.ListInterface).GetResourceVersion())
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return append(events, watch.Event{Type: watch.Bookmark, Object: end})
}

// watcher is one watch of one process.
type watcher struct {
	process  *process
	resource string
	// version is that of the last delivered event.
	version uint64
	// scanned is the version before which there is no event to deliver.
	scanned uint64
	events  chan watch.Event
	stopped bool
}

// Stop ends the watch.
func (w *watcher) Stop() { w.process.env.removeWatcher(w) }

// ResultChan returns the events.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

// next returns the next event that the watch has not delivered.
func (w *watcher) next() (invariants.Event, bool) {
	log := w.process.env.store.log
	w.scanned = max(w.scanned, w.version) // Each change has the next version, so the version of the last change is the length.
	for ; w.scanned < uint64(len(log)); w.scanned++ {
		if e := log[w.scanned]; ResourceOf(e.Object) == w.resource {
			return e, true
		}
	}
	return invariants.Event{}, false
}

// listAt returns the objects of a resource as they were at a version.
func (s *Store) listAt(resource string, version uint64) runtime.Object {
	found := map[string]client.Object{}
	for _, e := range s.log {
		if e.Version > version || ResourceOf(e.Object) != resource {
			continue
		}
		if e.Kind == watch.Deleted {
			delete(found, e.Object.GetName())
		} else {
			found[e.Object.GetName()] = e.Object
		}
	}
	var items []runtime.Object
	for _, object := range found {
		items = append(items, CopyOf(object))
	}
	slices.SortFunc(items, func(a, b runtime.Object) int {
		if a.(client.Object).GetName() < b.(client.Object).GetName() {
			return -1
		}
		return 1
	})
	list := map[string]client.ObjectList{podSets: &appv1alpha1.PodSetList{}, ats: &cnatv1alpha1.AtList{}, pods: &corev1.PodList{}}[resource]
	_ = meta.SetList(list, items) // The items have the type of the list.
	list.SetResourceVersion(strconv.FormatUint(version, 10))
	return list
}
