// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/podset"
)

// batchWindow is how long an event that asks for nothing but a newer status waits for others. Ten pods that become
// ready one after the other then make one or two writes of the status, not ten.
//
// A pass that made or deleted pods reports at the end of the window too, with what has happened to them by then, or
// reportWithin where one change follows the other. The pods of other PodSets come before this book-keeping, which has
// reportPriority.
const (
	batchWindow    = 250 * time.Millisecond
	reportWithin   = time.Second
	reportPriority = -20
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podSetEvents queues PodSets. The fewer pods one lacks or has too many, the sooner it is looked at, so that a small one
// does not wait until a thousand large ones are served. A change of nothing but the status, mostly an echo of our own
// writes, can wait.
type podSetEvents struct {
	handler.EnqueueRequestForObject
}

func (h *podSetEvents) Create(ctx context.Context, e event.CreateEvent, q queue) {
	if !e.IsInInitialList {
		q = shortestFirst(q, e.Object)
	}
	h.EnqueueRequestForObject.Create(ctx, e, q)
}

func (h *podSetEvents) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	if changesOnlyStatus(e) {
		q = inBatches(q)
	} else {
		q = shortestFirst(q, e.ObjectNew)
	}
	h.EnqueueRequestForObject.Update(ctx, e, q)
}

func changesOnlyStatus(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*appv1alpha1.PodSet)
	after, both := e.ObjectNew.(*appv1alpha1.PodSet)
	if !ok || !both {
		return false
	}
	compared := *after
	compared.ResourceVersion, compared.Status = before.ResourceVersion, before.Status
	return equality.Semantic.DeepEqual(before, &compared)
}

// podEvents queues the PodSet of a pod at the end of the window, but for updates that cannot wait. Creates can: they are
// our own. So can deletions: a pod that has a node tells by an update that it begins to go, and is replaced then.
type podEvents struct{ handler.EventHandler }

func (h podEvents) Create(ctx context.Context, e event.CreateEvent, q queue) {
	if !e.IsInInitialList {
		q = inBatches(q)
	}
	h.EventHandler.Create(ctx, e, q)
}

func (h podEvents) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	h.EventHandler.Delete(ctx, e, inBatches(q))
}

func (h podEvents) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	before, ok := e.ObjectOld.(*corev1.Pod)
	after, both := e.ObjectNew.(*corev1.Pod)
	if ok && both && podset.CanWait(before, after) {
		q = inBatches(q)
	}
	h.EventHandler.Update(ctx, e, q)
}

// adding is a queue to which everything is added with the same options. An object that is in it for an earlier time, or with
// a higher priority, keeps that.
type adding struct {
	queue
	options priorityqueue.AddOpts
}

func (a adding) Add(req reconcile.Request) {
	if byPriority, ok := a.queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		byPriority.AddWithOpts(a.options, req)
		return
	}
	a.AddAfter(req, a.options.After)
}

// inBatches has everything wait for the end of the window, behind the pods that are to be made.
func inBatches(q queue) queue {
	return adding{q, priorityqueue.AddOpts{After: batchWindow, Priority: ptr.To(reportPriority)}}
}

// shortestFirst lowers the priority of a PodSet by the number of its pods that come or go.
func shortestFirst(q queue, obj client.Object) queue {
	set, ok := obj.(*appv1alpha1.PodSet)
	if !ok {
		return q
	}
	gap := int(ptr.Deref(set.Spec.Replicas, 1) - set.Status.Replicas)
	return adding{q, priorityqueue.AddOpts{Priority: ptr.To(-max(gap, -gap))}}
}
