// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// TolerateUnreadable makes a cache start although the API server does not serve a kind yet, or although some of several namespaces are
// unreadable. A cache is ready when all its informers have listed, so one kind without a custom resource definition, or one namespace
// without permissions, would stop the operator for everything else. Call it after other functions that set NewInformer.
func (a *Namespaces) TolerateUnreadable(o *cache.Options) {
	next := o.NewInformer
	if next == nil {
		next = toolscache.NewSharedIndexInformer
	}
	o.NewInformer = func(all toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		_, builtIn := obj.(*corev1.Pod)
		l := &tolerantLister{
			all: toolscache.ToListerWatcherWithContext(all), clock: a.clock, severalNamespaces: a.isSeveral(), noteForbidden: a.noteForbidden,
			mayBeMissing: !builtIn, noteServed: func(ctx context.Context, err error) { a.noteServed(ctx, fmt.Sprintf("%T", obj), err) }, fail: a.fail,
		}
		if !builtIn && a.definitions != nil {
			l.definition = func(ctx context.Context) error { return a.definitions.compare(ctx, obj) }
		}
		return next(&toolscache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch}, obj, resync, indexers)
	}
}

// tolerantLister lists and watches one kind in one namespace. While the kind does not exist or its definition is outdated, and, with
// several namespaces, until the first list is allowed, it returns an empty list instead of an error, and retries. After the first list it
// returns errors unchanged, because a cache must not lose its objects when a permission is revoked or the kind is removed. If the
// definition becomes outdated then, the process ends, and the next one does not serve the kind.
type tolerantLister struct {
	all               toolscache.ListerWatcherWithContext
	clock             clock.WithTicker
	severalNamespaces bool
	noteForbidden     func()
	mayBeMissing      bool                         // The kind has a custom resource definition.
	noteServed        func(context.Context, error) // called with the result of each list of such a kind
	definition        func(context.Context) error  // returns an error if the definition of the kind is outdated, or is nil if it cannot be
	fail              func(error)                  // ends the process

	mu     sync.Mutex
	ended  bool // The process ends.
	listed bool // A list, or a watch that begins with one, has succeeded.
	empty  bool // The last list was rejected and replaced by an empty one.
}

func (l *tolerantLister) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.listServed(ctx, options)
	if l.pretendEmpty(ctx, err) {
		return &metav1.List{}, nil
	}
	return list, err
}

// listServed lists a kind unless its definition is outdated. The first page of a list decides.
func (l *tolerantLister) listServed(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		if err := l.outdated(ctx); err != nil {
			return nil, err
		}
	}
	return l.all.ListWithContext(ctx, options)
}

// outdated returns an error if the definition of the kind is outdated. It ends the process if a list has succeeded before.
func (l *tolerantLister) outdated(ctx context.Context) error {
	if l.definition == nil {
		return nil
	}
	err := l.definition(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.listed {
		l.ended = true
		l.fail(err)
	}
	return err
}

func (l *tolerantLister) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// watch returns a watch without events if the preceding list was rejected and replaced by an empty one.
func (l *tolerantLister) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	listing := ptr.Deref(options.SendInitialEvents, false)
	if !listing && l.isEmpty() {
		return l.awaitList(ctx), nil
	}
	events, err := l.begin(ctx, options)
	if err != nil && l.hasEnded() { // The informer would log the error, and the process prints it.
		return watch.NewProxyWatcher(nil), nil
	}
	if listing && err == nil {
		l.pretendEmpty(ctx, nil)
	}
	if apierrors.IsForbidden(err) {
		l.noteForbidden()
	}
	return events, err // An informer that cannot stream a list requests an ordinary one.
}

// begin starts a watch unless the definition of the kind is outdated.
func (l *tolerantLister) begin(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := l.outdated(ctx); err != nil {
		return nil, err
	}
	if l.definition != nil {
		go l.checkAgain(ctx)
	}
	return l.all.WatchWithContext(ctx, options)
}

// checkAgain checks the definition some time after a watch has started. The API server ends each watch of a kind whose definition changes,
// but it may publish the new schema only after the next watch has started.
func (l *tolerantLister) checkAgain(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-l.clock.After(accessRetry):
		_ = l.outdated(ctx) // It ends the process.
	}
}

// pretendEmpty records the result of a list and reports whether to return an empty list instead.
func (l *tolerantLister) pretendEmpty(ctx context.Context, err error) bool {
	if l.mayBeMissing {
		l.noteServed(ctx, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	forbidden := apierrors.IsForbidden(err)
	if forbidden {
		l.noteForbidden()
	}
	l.listed = l.listed || err == nil
	l.empty = !l.listed && (forbidden && l.severalNamespaces || l.mayBeMissing && (apierrors.IsNotFound(err) || errors.Is(err, errOutdated)))
	return l.empty
}

func (l *tolerantLister) isEmpty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.empty
}

// awaitList returns a watch that periodically tries to list, and expires when a list succeeds. An informer whose watch has expired lists
// again.
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
			if _, err := l.listServed(ctx, metav1.ListOptions{Limit: 1}); err == nil {
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
