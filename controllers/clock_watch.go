// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

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

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

const (
	clockInterval = time.Second
	// clockTolerance is how far wall clock and monotonic clock may drift apart in one interval. NTP slews by 0.5 ms/s.
	clockTolerance = 200 * time.Millisecond
)

// clockWatch queues waiting Ats again after the wall clock has jumped, by a correction or because the machine was
// suspended: the timers of the work queue count monotonic time and do not notice.
type clockWatch struct {
	ticks  clock.WithTicker
	reader client.Reader
	// wall and monotonic read the two clocks.
	wall      func() time.Time
	monotonic func() time.Duration
	events    chan event.TypedGenericEvent[*cnatv1alpha1.At]
}

func newClockWatch(c clock.WithTicker, reader client.Reader) *clockWatch {
	start := time.Now()
	return &clockWatch{
		ticks:     c,
		reader:    reader,
		wall:      func() time.Time { return c.Now().Round(0) }, // Round drops the monotonic reading.
		monotonic: func() time.Duration { return time.Since(start) },
		events:    make(chan event.TypedGenericEvent[*cnatv1alpha1.At]),
	}
}

func (w *clockWatch) source() source.Source {
	return source.Channel(w.events, handler.TypedFuncs[*cnatv1alpha1.At, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[*cnatv1alpha1.At], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		},
	})
}

// Start compares the clocks until ctx is done.
func (w *clockWatch) Start(ctx context.Context) error {
	ticker := w.ticks.NewTicker(clockInterval)
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
		if jump.Abs() < clockTolerance {
			continue
		}
		log.FromContext(ctx).Info("the clock jumped: looking at all waiting Ats again", "by", jump.String())
		if err := w.requeue(ctx); err != nil {
			return err
		}
	}
}

func (w *clockWatch) requeue(ctx context.Context) error {
	ats := &cnatv1alpha1.AtList{}
	if err := w.reader.List(ctx, ats); err != nil {
		return fmt.Errorf("listing Ats after the clock jumped: %w", err)
	}
	for i := range ats.Items {
		if ats.Items[i].Status.Phase == cnatv1alpha1.PhaseDone && ats.Items[i].Spec.TTLSecondsAfterFinished == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case w.events <- event.TypedGenericEvent[*cnatv1alpha1.At]{Object: &ats.Items[i]}:
		}
	}
	return nil
}
