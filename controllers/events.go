// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	rtevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/podset"
)

const (
	// coalesceWindow is how long an event that needs nothing but a newer status waits for others. Ten pods that become ready one
	// after the other then lead to one or two writes of the status, not ten. A reconcile that created or deleted pods reports at
	// the end of the window too, with what has happened to the pods by then.
	coalesceWindow = 250 * time.Millisecond
	// reportPriority puts the status of a PodSet behind the pods of others.
	reportPriority = -20
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podSetEvents enqueues PodSets. A PodSet that needs few pods, or has few too many, comes first, so that a small one does not
// wait until a thousand large ones are reconciled. A change of the status alone can wait.
type podSetEvents struct {
	handler.EnqueueRequestForObject
}

func (h *podSetEvents) Create(ctx context.Context, e rtevent.CreateEvent, q queue) {
	if !e.IsInInitialList {
		q = smallestFirst(q, e.Object)
	}
	h.EnqueueRequestForObject.Create(ctx, e, q)
}

func (h *podSetEvents) Update(ctx context.Context, e rtevent.UpdateEvent, q queue) {
	if changesOnlyStatus(e) {
		q = coalesce(q)
	} else {
		q = smallestFirst(q, e.ObjectNew)
	}
	h.EnqueueRequestForObject.Update(ctx, e, q)
}

func changesOnlyStatus(e rtevent.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*appv1alpha1.PodSet)
	after, both := e.ObjectNew.(*appv1alpha1.PodSet)
	if !ok || !both {
		return false
	}
	compared := *after
	compared.ResourceVersion, compared.Status = before.ResourceVersion, before.Status
	return equality.Semantic.DeepEqual(before, &compared)
}

// podEvents enqueues the PodSet of a pod at the end of the window, except after updates that cannot wait. Creates can wait: they
// are our own. Deletions can wait too: a pod that runs on a node gets a deletion timestamp first, by an update, and is replaced
// then.
type podEvents struct{ handler.EventHandler }

func (h podEvents) Create(ctx context.Context, e rtevent.CreateEvent, q queue) {
	if !e.IsInInitialList {
		q = coalesce(q)
	}
	h.EventHandler.Create(ctx, e, q)
}

func (h podEvents) Delete(ctx context.Context, e rtevent.DeleteEvent, q queue) {
	h.EventHandler.Delete(ctx, e, coalesce(q))
}

func (h podEvents) Update(ctx context.Context, e rtevent.UpdateEvent, q queue) {
	before, ok := e.ObjectOld.(*corev1.Pod)
	after, both := e.ObjectNew.(*corev1.Pod)
	if ok && both && podset.CanWait(before, after) {
		q = coalesce(q)
	}
	h.EventHandler.Update(ctx, e, q)
}

// queueWithOptions is a queue to which everything is added with the same options. An object that is queued for an earlier time,
// or with a higher priority, keeps that.
type queueWithOptions struct {
	queue
	options priorityqueue.AddOpts
}

func (w queueWithOptions) Add(req reconcile.Request) {
	if byPriority, ok := w.queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		byPriority.AddWithOpts(w.options, req)
		return
	}
	w.AddAfter(req, w.options.After)
}

// coalesce makes everything wait for the end of the window, behind the pods that are to be created.
func coalesce(q queue) queue {
	return queueWithOptions{q, priorityqueue.AddOpts{After: coalesceWindow, Priority: ptr.To(reportPriority)}}
}

// smallestFirst lowers the priority of a PodSet by the number of pods that it needs or has too many.
func smallestFirst(q queue, obj client.Object) queue {
	set, ok := obj.(*appv1alpha1.PodSet)
	if !ok {
		return q
	}
	gap := int(ptr.Deref(set.Spec.Replicas, 1) - set.Status.Replicas)
	return queueWithOptions{q, priorityqueue.AddOpts{Priority: ptr.To(-max(gap, -gap))}}
}

// recordEvents sends events about obj.
func recordEvents(recorder events.EventRecorder, obj client.Object, all []event.Event) {
	for _, e := range all {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		recorder.Eventf(obj, nil, kind, e.Reason, e.Action, "%s", e.Note)
	}
}
