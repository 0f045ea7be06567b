// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// TolerateUnreadable makes a cache start although some of several namespaces are unreadable. A cache is ready when all
// its informers have listed, so one namespace without permissions would stop the operator for all others. Call it after
// other functions that set NewInformer.
func (a *Namespaces) TolerateUnreadable(o *cache.Options) {
	if !a.isSeveral() {
		return
	}
	next := o.NewInformer
	if next == nil {
		next = toolscache.NewSharedIndexInformer
	}
	o.NewInformer = func(all toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		l := &tolerantLister{all: toolscache.ToListerWatcherWithContext(all), clock: a.clock, noteForbidden: a.noteForbidden}
		return next(&toolscache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch}, obj, resync, indexers)
	}
}

// tolerantLister lists and watches one kind in one of several namespaces. Until the first list is allowed, it returns
// an empty list instead of an error, and retries. After that it returns errors unchanged, because a cache must not lose
// its objects when a permission is revoked.
type tolerantLister struct {
	all           toolscache.ListerWatcherWithContext
	clock         clock.WithTicker
	noteForbidden func()

	mu     sync.Mutex
	listed bool // A list, or a watch that begins with one, has succeeded.
	empty  bool // The last list was rejected and replaced by an empty one.
}

func (l *tolerantLister) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.all.ListWithContext(ctx, options)
	if l.noteList(err) {
		return &metav1.List{}, nil
	}
	return list, err
}

// watch returns a watch without events if the preceding list was rejected and replaced by an empty one.
func (l *tolerantLister) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	listing := ptr.Deref(options.SendInitialEvents, false)
	if !listing && l.isEmpty() {
		return l.awaitList(ctx), nil
	}
	events, err := l.all.WatchWithContext(ctx, options)
	if listing && err == nil {
		l.noteList(nil)
	}
	if apierrors.IsForbidden(err) {
		l.noteForbidden()
	}
	return events, err // An informer that cannot stream a list requests an ordinary one.
}

// noteList records the result of a list and reports whether to return an empty one instead.
func (l *tolerantLister) noteList(err error) (emptyInstead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	forbidden := apierrors.IsForbidden(err)
	if forbidden {
		l.noteForbidden()
	}
	l.listed = l.listed || err == nil
	l.empty = !l.listed && forbidden
	return l.empty
}

func (l *tolerantLister) isEmpty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.empty
}

// awaitList returns a watch that periodically tries to list, and expires when a list succeeds. An informer whose watch
// has expired lists again.
func (l *tolerantLister) awaitList(ctx context.Context) watch.Interface {
	events := make(chan watch.Event)
	watcher := watch.NewProxyWatcher(events)
	ticker := l.clock.NewTicker(accessRetry)
	go func() {
		defer close(events)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-watcher.StopChan():
				return
			case <-ticker.C():
			}
			if _, err := l.all.ListWithContext(ctx, metav1.ListOptions{Limit: 1}); err == nil {
				break
			}
		}
		expired := apierrors.NewResourceExpired("the list succeeds now").Status()
		select {
		case <-ctx.Done():
		case <-watcher.StopChan():
		case events <- watch.Event{Type: watch.Error, Object: &expired}:
		}
	}()
	return watcher
}
