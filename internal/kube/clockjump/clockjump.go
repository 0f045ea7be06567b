// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clockjump requeues objects after the wall clock has jumped.
package clockjump

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	interval = time.Second
	// tolerance is the allowed drift between wall clock and monotonic clock in one interval. NTP slews by 0.5 ms/s.
	tolerance = 200 * time.Millisecond
)

// Watch requeues objects after the wall clock has jumped, because it was corrected or the machine was suspended. The
// timers of the work queue use monotonic time and do not notice.
type Watch struct {
	clock clock.WithTicker
	// list returns the objects.
	list func(context.Context) ([]client.Object, error)
	// wall and monotonic read the two clocks.
	wall      func() time.Time
	monotonic func() time.Duration
}

// New returns a Watch that requeues what list returns.
func New(c clock.WithTicker, list func(context.Context) ([]client.Object, error)) *Watch {
	start := time.Now()
	return &Watch{
		clock:     c,
		list:      list,
		wall:      func() time.Time { return c.Now().Round(0) }, // Round drops the monotonic reading.
		monotonic: func() time.Duration { return time.Since(start) },
	}
}

// Start compares the clocks until ctx is done. It is a source.Func.
func (w *Watch) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	ticker := w.clock.NewTicker(interval)
	wall, monotonic := w.wall(), w.monotonic()
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
			}
			nowWall, nowMonotonic := w.wall(), w.monotonic()
			jump := nowWall.Sub(wall) - (nowMonotonic - monotonic)
			if jump.Abs() >= tolerance && !w.requeue(ctx, jump, queue) {
				continue // The next tick finds the same jump.
			}
			wall, monotonic = nowWall, nowMonotonic
		}
	}()
	return nil
}

// requeue returns false if the objects cannot be listed.
func (w *Watch) requeue(ctx context.Context, jump time.Duration, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) bool {
	logger := log.FromContext(ctx)
	logger.Info("The clock jumped, requeuing all objects", "by", jump.String())
	objects, err := w.list(ctx)
	if err != nil {
		logger.Error(err, "Cannot list the objects to requeue")
		return false
	}
	for _, object := range objects {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	}
	return true
}
