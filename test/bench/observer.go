// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observer notes by its own clock when it first sees each object of a kind fulfil a condition. Every arm is timed by the same
// observer, so that what a watch adds is the same for all; creationTimestamp knows seconds only.
type observer struct {
	stop func()

	mu   sync.Mutex
	seen map[string]time.Time
	last time.Time
	err  error
	note func(name string)
}

// watchObjects starts an observer of a namespace. note is called for each object that was seen, in a goroutine of its own.
func (c *cluster) watchObjects(ctx context.Context, namespace string, list client.ObjectList, holds func(client.Object) bool, note func(name string)) (*observer, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.admin.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching: %w", err)
	}
	w := &observer{stop: cancel, seen: map[string]time.Time{}, note: note}
	go func() {
		for err == nil {
			for e := range stream.ResultChan() {
				w.see(e, holds)
			}
			// The API server closes the watch of a client that is too slow for it. A new one tells first what there is.
			stream, err = c.admin.Watch(ctx, list, client.InNamespace(namespace))
		}
		w.fail(ctx, err)
	}()
	return w, nil
}

// watchPods starts an observer of the pods' existence.
func (c *cluster) watchPods(ctx context.Context, namespace string, note func(name string)) (*observer, error) {
	return c.watchObjects(ctx, namespace, podList(), func(client.Object) bool { return true }, note)
}

// watchedNamespace makes a fresh namespace and starts an observer of its pods.
func (c *cluster) watchedNamespace(ctx context.Context, note func(name string)) (string, *observer, error) {
	namespace, err := c.namespace(ctx)
	if err != nil {
		return "", nil, err
	}
	w, err := c.watchPods(ctx, namespace, note)
	return namespace, w, err
}

func (w *observer) see(e watch.Event, holds func(client.Object) bool) {
	now := time.Now()
	obj, ok := e.Object.(client.Object)
	if !ok || e.Type == watch.Deleted || !holds(obj) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.seen[obj.GetName()]; known {
		return
	}
	w.seen[obj.GetName()], w.last = now, now
	if w.note != nil {
		go w.note(obj.GetName())
	}
}

// fail notes that the watch has ended before it was stopped: what comes after would be missed.
func (w *observer) fail(ctx context.Context, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil {
		w.err = fmt.Errorf("watching again: %w", err)
	}
}

// await waits until n objects were seen and returns when the last of them was.
func (w *observer) await(ctx context.Context, n int, limit time.Duration) (time.Time, error) {
	err := eventually(ctx, limit, fmt.Sprintf("%d objects", n), func() (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.seen) >= n, w.err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("%w; saw %d", err, len(w.seen))
	}
	return w.last, err
}

// times returns a copy of what was seen.
func (w *observer) times() map[string]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.seen)
}
