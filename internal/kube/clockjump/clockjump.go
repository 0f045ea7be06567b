// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clockjump requeues objects after the wall clock has jumped.
package clockjump

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	interval = time.Second
	// tolerance is the allowed drift between wall clock and monotonic clock in one interval. NTP slews by 0.5 ms/s.
	tolerance = 200 * time.Millisecond
)

// Watch requeues objects after the wall clock has jumped, because it was corrected or the machine was suspended. The timers of the work
// queue use monotonic time and do not notice. Watch is a manager.Runnable.
type Watch struct {
	clock clock.WithTicker
	// list returns the objects that wait for a time.
	list func(context.Context) ([]client.Object, error)
	// wall and monotonic read the two clocks.
	wall      func() time.Time
	monotonic func() time.Duration
	events    chan event.GenericEvent
}

// New returns a Watch that requeues what list returns.
func New(c clock.WithTicker, list func(context.Context) ([]client.Object, error)) *Watch {
	start := time.Now()
	return &Watch{
		clock:     c,
		list:      list,
		wall:      func() time.Time { return c.Now().Round(0) }, // Round drops the monotonic reading.
		monotonic: func() time.Duration { return time.Since(start) },
		events:    make(chan event.GenericEvent),
	}
}

// Source is the source of the requests of a controller.
func (w *Watch) Source() source.Source {
	return source.Channel(w.events, handler.Funcs{
		GenericFunc: func(_ context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		},
	})
}

// Start compares the clocks until ctx is done.
func (w *Watch) Start(ctx context.Context) error {
	ticker := w.clock.NewTicker(interval)
	defer ticker.Stop()
	wall, monotonic := w.wall(), w.monotonic()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		nowWall, nowMonotonic := w.wall(), w.monotonic()
		jump := nowWall.Sub(wall) - (nowMonotonic - monotonic)
		wall, monotonic = nowWall, nowMonotonic
		if jump.Abs() < tolerance {
			continue
		}
		log.FromContext(ctx).Info("The clock jumped, requeuing all objects that wait for a time", "by", jump.String())
		if err := w.requeue(ctx); err != nil {
			return err
		}
	}
}

func (w *Watch) requeue(ctx context.Context) error {
	objects, err := w.list(ctx)
	if err != nil {
		return fmt.Errorf("listing the objects to requeue after the clock jumped: %w", err)
	}
	for _, object := range objects {
		select {
		case <-ctx.Done():
			return nil
		case w.events <- event.GenericEvent{Object: object}:
		}
	}
	return nil
}
