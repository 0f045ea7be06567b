// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers is all that talks to the API server. Its two reconcilers have the same four parts in the same
// order: observe, plan, act, report.
package controllers

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// An error is retried after 20 ms, doubling to 2 s, so that an At which is due while the API server is away runs within
	// 3 s of its return.
	minErrorBackoff, maxErrorBackoff = 20 * time.Millisecond, 2 * time.Second
	// staleRetry is when a cache that was older than what the API server has is looked at again.
	staleRetry = 200 * time.Millisecond
)

func controllerOptions(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minErrorBackoff, maxErrorBackoff),
		// The caches of a replica that waits to lead are warm, so a failover does not wait for lists.
		EnableWarmup: ptr.To(true),
	}
}

// wake asks for the next look at the earliest of some times, of which zero ones do not count. An error has its own
// back-off and needs none. A conflict is no error: it says that the cache was behind.
func wake(err error, now time.Time, times ...time.Time) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	var at time.Time
	for _, t := range times {
		at = earliest(at, t)
	}
	if at.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(at.Sub(now), time.Millisecond)}, nil
}
