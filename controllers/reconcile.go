// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/clockjump"
	"github.com/redhat/podset-operator/internal/kube/objectstate"
)

const (
	// The number of objects of each kind that are reconciled at the same time. A reconcile mostly waits for the API
	// server, so this does not depend on the number of cores. A PodSet creates up to four pods at a time, so PodSets
	// have up to 32 requests in flight. More would gain little, and a small PodSet would wait longer for the others:
	// see docs/performance.md. Ats have more workers, because slow admission webhooks can occupy 32 of them for each
	// namespace: see requestSlots.
	podSetConcurrency, atConcurrency = 8, 128
	// An error is retried after 20 ms, doubling to 2 s, so that an At that became due during an outage of the API
	// server runs within 3 s of its end.
	minErrorBackoff, maxErrorBackoff = 20 * time.Millisecond, 2 * time.Second
	// staleRetry is the delay before an object is reconciled again after a conflict, which shows that the cache was
	// behind.
	staleRetry = 200 * time.Millisecond
	// retryPriority puts retries behind everything else. A request to a broken admission webhook can take 10 s. If the
	// retries of twenty Ats came first, no worker would be left for anything else.
	retryPriority = handler.LowPriority
)

var (
	podSetKind = appv1alpha1.GroupVersion.WithKind("PodSet")
	atKind     = cnatv1alpha1.GroupVersion.WithKind("At")
	// ownedPods are the pods of both kinds.
	ownedPods = caches.PodOwners{Kinds: []schema.GroupVersionKind{podSetKind, atKind}, TrimSpec: trimSpec}
)

// controllerOptions returns the options of a controller that reconciles this many objects at the same time.
func controllerOptions(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minErrorBackoff, maxErrorBackoff),
	}
}

// result builds a ctrl.Result. A zero requeueAt means no requeue, and a nil priority keeps the current one. The work
// queue retries an error with a back-off. A conflict is not an error: the cache was behind.
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

// readCaches reads an object into obj, the pods that it controls, and those of a deleted object of the same name from
// the caches. The entry, which has the State of the object, is nil if the object is gone. forget is called with the
// State of an object that is gone, and can be nil.
func readCaches[S any](ctx context.Context, c client.Client, states *objectstate.Map[S], kind schema.GroupVersionKind, req ctrl.Request, obj client.Object,
	forget func(context.Context, *S)) (entry *objectstate.Entry[S], own, older []*corev1.Pod, err error) {
	if err := c.Get(ctx, req.NamespacedName, obj); err != nil {
		last, err := states.ForgetIfGone(req.NamespacedName, err)
		if last != nil && forget != nil {
			forget(ctx, &last.State)
		}
		return nil, nil, nil, err
	}
	entry = states.Of(obj)
	own, older, err = caches.List(ctx, c, kind, obj)
	return entry, own, older, err
}

// noteWebhook logs the admission webhook that prevented a write, unless it prevented the last one, too. It is not an
// error of the operator.
func noteWebhook(ctx context.Context, last *string, webhook string, err error) {
	if webhook != "" && webhook != *last {
		log.FromContext(ctx).Info("An admission webhook prevents writes, which are retried with a back-off", "webhook", webhook, "reason", err.Error())
	}
	*last = webhook
}

// afterJumps returns a source that requests all objects of a kind after the clock has jumped.
func afterJumps(mgr ctrl.Manager, c clock.WithTicker, kind client.ObjectList) source.Source {
	return source.Func(clockjump.New(c, func(ctx context.Context) (objects []client.Object, err error) {
		list := kind.DeepCopyObject().(client.ObjectList)
		if err := mgr.GetClient().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		return objects, meta.EachListItem(list, func(item runtime.Object) error {
			objects = append(objects, item.(client.Object))
			return nil
		})
	}).Start)
}

func recordEvents(recorder events.EventRecorder, obj client.Object, all []event.Event) {
	for _, e := range all {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		recorder.Eventf(obj, e.Related, kind, e.Reason, e.Action, "%s", e.Note)
	}
}
