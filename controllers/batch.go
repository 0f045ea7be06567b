// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/podset"
)

// batchWindow is how long an event that asks for nothing but a newer status waits for others. Ten pods that become
// ready one after the other then make one or two writes of the status, not ten.
const batchWindow = 250 * time.Millisecond

// batched queues what its handler queues at the end of the window, but for updates that cannot wait. Creates can: they are
// our own. So can deletions: a pod that has a node tells by an update that it begins to go, and is replaced then.
type batched struct {
	handler.EventHandler
	canWait func(event.UpdateEvent) bool
}

func (b batched) Create(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if !e.IsInInitialList {
		q = batch{q}
	}
	b.EventHandler.Create(ctx, e, q)
}

func (b batched) Delete(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	b.EventHandler.Delete(ctx, e, batch{q})
}

func (b batched) Update(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if b.canWait(e) {
		q = batch{q}
	}
	b.EventHandler.Update(ctx, e, q)
}

// batch is a queue that is given everything at the end of the window; an object that is in it for an earlier time keeps that.
type batch struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (b batch) Add(req reconcile.Request) { b.AddAfter(req, batchWindow) }

func podCanWait(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*corev1.Pod)
	after, both := e.ObjectNew.(*corev1.Pod)
	return ok && both && podset.CanWait(before, after)
}

func always(event.UpdateEvent) bool { return true }

// statusWritten selects the updates of PodSets which change nothing but the status. Most are echoes of our own writes.
var statusWritten = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*appv1alpha1.PodSet)
		after, both := e.ObjectNew.(*appv1alpha1.PodSet)
		if !ok || !both {
			return false
		}
		compared := *after
		compared.ResourceVersion, compared.Status = before.ResourceVersion, before.Status
		return equality.Semantic.DeepEqual(before, &compared)
	},
}
