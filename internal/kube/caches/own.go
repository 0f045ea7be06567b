// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"
)

// listLatestInPages lists the latest state, page by page, and ignores the resource version that an informer requests.
// If the API server does not stream lists, an informer requests its first list with resource version 0. The API server
// then ignores the limit, and can return a state that is older than the writes of an earlier process. After a gap the
// informer requests a list with the version that it observed last and without a limit. In both cases the process would
// decode all foreign pods at once.
func listLatestInPages(source toolscache.ListerWatcherWithContext) toolscache.ListWithContextFunc {
	pages := pager.New(source.ListWithContext)
	// If the continue token of a slow list expires, the list fails and the informer lists again in pages. The fallback
	// of the pager would be a list without a limit.
	pages.FullListIfExpired = false
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
		list, _, err := pages.ListWithAlloc(ctx, options)
		return list, err
	}
}

// ownPods removes foreign pods from the lists and watches of the API server. A pod that the informer has received stays
// until it is deleted, because its former controller must observe that the pod has another controller.
type ownPods struct {
	all   toolscache.ListerWatcherWithContext
	kinds PodOwners

	mu    sync.Mutex
	shown sets.Set[types.UID]
}

// podPageSize is the maximum number of pods, of all owners, in a page of a list. A page is decoded as a whole. With an
// informer's default of 500, that would take most of the memory of a start: without streamed lists, its peak was 32
// MiB, and is 20 MiB.
const podPageSize = 100

func newOwnPods(all toolscache.ListerWatcherWithContext, kinds PodOwners) *ownPods {
	return &ownPods{all: all, kinds: kinds, shown: sets.New[types.UID]()}
}

// ListWithContext lists a page of our own pods.
func (o *ownPods) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		o.begin()
	}
	options.Limit = podPageSize
	list, err := o.all.ListWithContext(ctx, options)
	if pods, ok := list.(*corev1.PodList); ok {
		o.filterList(pods)
	}
	return list, err
}

// WatchWithContext watches our own pods.
func (o *ownPods) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if ptr.Deref(options.SendInitialEvents, false) {
		o.begin()
	}
	events, err := o.all.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, o.filterEvent), nil
}

// begin starts a new list. The informer itself detects the pods that are no longer in it.
func (o *ownPods) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown.Clear()
}

// filterList drops the foreign pods of a list or a page, and trims the others. The informer would trim them only after
// the last page.
func (o *ownPods) filterList(pods *corev1.PodList) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := pods.Items[:0]
	for i := range pods.Items {
		if pod := &pods.Items[i]; o.kinds.controls(pod) {
			o.shown.Insert(pod.UID)
			kept = append(kept, *o.kinds.Trim(pod))
		}
	}
	pods.Items = kept
}

// filterEvent drops the events of foreign pods. It is a watch.FilterFunc.
func (o *ownPods) filterEvent(e watch.Event) (watch.Event, bool) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok || e.Type == watch.Bookmark {
		return e, true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	own, shown := o.kinds.controls(pod), o.shown.Has(pod.UID)
	switch {
	case e.Type == watch.Deleted:
		o.shown.Delete(pod.UID)
	case own:
		o.shown.Insert(pod.UID)
	}
	return e, own || shown
}
