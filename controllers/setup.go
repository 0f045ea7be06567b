// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers connects the two kinds to a cluster. The rules are in internal/podset and internal/at. The packages in
// controllers/internal talk to the API server and know no kind.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers/internal/olm"
	"github.com/redhat/podset-operator/controllers/internal/podcache"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/podset"
)

const (
	// How many objects of each kind are reconciled at the same time. A reconcile waits for the API server most of the time, so
	// this is not a multiple of the cores. A PodSet creates up to four pods at a time, an At one, so both kinds have up to 32
	// requests in flight. More would gain little, and a small PodSet would wait longer for the others: see docs/benchmarks/attempts.md.
	podSetConcurrency, atConcurrency = 8, 32
	// An error is retried after 20 ms, doubling to 2 s, so that an At which became due while the API server was away runs within
	// 3 s of its return.
	minErrorBackoff, maxErrorBackoff = 20 * time.Millisecond, 2 * time.Second
	// staleRetry is the delay before an object is reconciled again after a conflict, which shows that the cache was behind.
	staleRetry = 200 * time.Millisecond
	// retryPriority puts retries behind everything else. A request to an admission webhook that does not work can take 10 s. If the
	// retries of twenty Ats came first, no worker would be left for anything else.
	retryPriority = handler.LowPriority
)

var (
	podSetKind = appv1alpha1.GroupVersion.WithKind("PodSet")
	atKind     = cnatv1alpha1.GroupVersion.WithKind("At")
	// ourPods are the pods of both kinds.
	ourPods = podcache.Kinds{podSetKind, atKind}
)

// Options are the settings that the controllers get from the environment of the process.
type Options struct {
	// Clock tells the time.
	Clock clock.WithTicker
	// Image is the image of pods without a template.
	Image string
	// OpenShift says that the cluster is OpenShift, which assigns the user of a pod itself.
	OpenShift bool
	// Proxy are the proxy variables of the pods of Ats without a template.
	Proxy []corev1.EnvVar
}

// ConfigureCaches sets the options of a manager so that it caches what the controllers need, in these namespaces (none: all
// namespaces), and fills its caches when it starts to lead. Add requires it.
func ConfigureCaches(o *ctrl.Options, namespaces []string) {
	o.Cache.DefaultTransform = trim
	o.Cache.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range namespaces {
		o.Cache.DefaultNamespaces[namespace] = cache.Config{}
	}
	ourPods.Configure(&o.Cache)
	o.NewCache = newLeaderCache
}

// leaderCache is a cache that is filled when its process starts to lead. Its first lists are consistent reads, so it shows
// everything that earlier leaders wrote. A cache that is filled earlier may lag when the process starts to lead. The process
// would then create a pod a second time, or delete pods that another process has already replaced.
type leaderCache struct {
	cache.Cache
	leads <-chan struct{}
}

func newLeaderCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	filled, err := cache.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("creating the cache: %w", err)
	}
	return &leaderCache{Cache: filled}, nil
}

// Start fills the cache once the process leads, and keeps it up to date until ctx is done.
func (c *leaderCache) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.leads:
		return c.Cache.Start(ctx)
	}
}

// WaitForCacheSync waits until the cache is filled. It does not wait while the process does not lead.
func (c *leaderCache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.leads:
		return c.Cache.WaitForCacheSync(ctx)
	default:
		return ctx.Err() == nil
	}
}

// ownKinds is a manager whose controllers wait only for the kinds that they watch, and not for the whole cache. Otherwise a PodSet could
// wait until all Ats are cached, which takes many seconds if there are many. controller-runtime waits for both: for the cache, and for each
// watch of the controller.
type ownKinds struct{ ctrl.Manager }

// GetCache returns the cache of the watches of a controller.
func (m ownKinds) GetCache() cache.Cache { return unawaitedCache{m.Manager.GetCache()} }

// unawaitedCache is a cache for which nothing waits.
type unawaitedCache struct{ cache.Cache }

// WaitForCacheSync does not wait.
func (unawaitedCache) WaitForCacheSync(ctx context.Context) bool { return ctx.Err() == nil }

// Add adds both controllers to mgr, whose options were set by ConfigureCaches.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	filled, ok := mgr.GetCache().(*leaderCache)
	if !ok {
		return errors.New("the manager was created without ConfigureCaches")
	}
	filled.leads = mgr.Elected()
	if err := podcache.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	podSets := &PodSetReconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("podset-controller"),
		Clock: o.Clock, Defaults: podset.Defaults{Image: o.Image, FixedUser: !o.OpenShift},
	}
	ats := &AtReconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("at-controller"),
		Clock: o.Clock, Defaults: at.Defaults{Image: o.Image, FixedUser: !o.OpenShift, Proxy: o.Proxy},
	}
	return errors.Join(podSets.setup(ownKinds{mgr}), ats.setup(ownKinds{mgr}))
}

// AddUpgradeable makes mgr report to Operator Lifecycle Manager whether it may replace the operator now: not while an At is due
// soon. Outside an installation by OLM v0 it does nothing.
func AddUpgradeable(mgr ctrl.Manager, c clock.WithTicker) error {
	return olm.Add(mgr, mgr.GetConfig(), c, func(ctx context.Context) (bool, error) { return isAtDueSoon(ctx, mgr, c) })
}

// isAtDueSoon tells whether an At is due within olm.DueSoon. It waits until the process leads and its cache is filled.
func isAtDueSoon(ctx context.Context, mgr ctrl.Manager, c clock.WithTicker) (bool, error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-mgr.Elected():
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return false, errors.New("the cache is not filled")
	}
	ats := &cnatv1alpha1.AtList{}
	if err := mgr.GetClient().List(ctx, ats, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing Ats: %w", err)
	}
	now := c.Now()
	return slices.ContainsFunc(ats.Items, func(item cnatv1alpha1.At) bool { return at.IsDueWithin(&item, now, olm.DueSoon) }), nil
}

func controllerOptions(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minErrorBackoff, maxErrorBackoff),
	}
}

// result returns the result of a reconcile: requeueAt says when to reconcile again, if it is not zero, and priority with which priority,
// nil for that of this reconcile. The work queue retries an error with a back-off. A conflict is not an error: the cache was behind.
func result(ctx context.Context, kind schema.GroupVersionKind, err error, now, requeueAt time.Time, priority *int) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		log.FromContext(ctx).V(1).Info("Requeuing, because the cache was behind the API server", "conflict", err.Error())
		conflicts.WithLabelValues(kind.Kind).Inc()
		return ctrl.Result{RequeueAfter: staleRetry, Priority: priority}, nil
	case err != nil:
		return ctrl.Result{Priority: ptr.To(retryPriority)}, err
	case requeueAt.IsZero():
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(requeueAt.Sub(now), time.Millisecond), Priority: priority}, nil
}
