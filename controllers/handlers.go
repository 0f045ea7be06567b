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
	rtevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/objectstate"
	"github.com/redhat/podset-operator/internal/podset"
)

const (
	// coalesceWindow is how long an event that only changes the status waits for others. Ten pods that become ready one
	// after the other then cause one or two status writes instead of ten. A reconcile that created or deleted pods also
	// writes the status at the end of the window.
	coalesceWindow = 250 * time.Millisecond
	// reportPriority puts the status of a PodSet behind the pods of other PodSets.
	reportPriority = -20
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podSetHandler enqueues PodSets. A PodSet that is close to its number of replicas comes first, so that a small one
// does not wait for a thousand large ones. A change of the status alone can wait.
type podSetHandler struct {
	handler.EnqueueRequestForObject
}

func (h *podSetHandler) Create(ctx context.Context, e rtevent.CreateEvent, q queue) {
	if !e.IsInInitialList {
		q = smallestFirst(q, e.Object)
	}
	h.EnqueueRequestForObject.Create(ctx, e, q)
}

func (h *podSetHandler) Update(ctx context.Context, e rtevent.UpdateEvent, q queue) {
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

// podHandler enqueues the PodSet of a pod at the end of the window, except after updates that cannot wait. Creates can
// wait, because the operator creates the pods itself. Deletions can wait too: an update with a deletion timestamp
// precedes the deletion of a pod on a node, and the pod is replaced after that update.
type podHandler struct{ handler.EventHandler }

func (h podHandler) Create(ctx context.Context, e rtevent.CreateEvent, q queue) {
	if !e.IsInInitialList {
		q = coalesce(q)
	}
	h.EventHandler.Create(ctx, e, q)
}

func (h podHandler) Delete(ctx context.Context, e rtevent.DeleteEvent, q queue) {
	h.EventHandler.Delete(ctx, e, coalesce(q))
}

func (h podHandler) Update(ctx context.Context, e rtevent.UpdateEvent, q queue) {
	before, ok := e.ObjectOld.(*corev1.Pod)
	after, both := e.ObjectNew.(*corev1.Pod)
	if ok && both && podset.CanCoalesce(before, after) {
		q = coalesce(q)
	}
	h.EventHandler.Update(ctx, e, q)
}

// atPodHandler enqueues the At of a pod, and keeps the last state of a deleted pod, which may show how the command
// ended. After a gap in the watch, the last state is not known.
type atPodHandler struct {
	handler.EventHandler
	states *objectstate.Map[at.Memory]
}

func (h atPodHandler) Delete(ctx context.Context, e rtevent.DeleteEvent, q queue) {
	pod, isPod := e.Object.(*corev1.Pod)
	if _, ofAt := caches.ControllerOfKind(e.Object, atKind); isPod && ofAt && !e.DeleteStateUnknown {
		h.states.PodDeleted(pod)
	}
	h.EventHandler.Delete(ctx, e, q)
}

// queueWithOptions is a queue that adds every request with the same options. A request that is already queued for an
// earlier time or with a higher priority keeps the time or the priority.
type queueWithOptions struct {
	queue
	options priorityqueue.AddOpts
}

func (w queueWithOptions) Add(req reconcile.Request) {
	w.queue.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(w.options, req) // The default queue of controller-runtime.
}

// coalesce returns a queue whose requests wait until the end of the window, behind requests that create pods.
func coalesce(q queue) queue {
	return queueWithOptions{q, priorityqueue.AddOpts{After: coalesceWindow, Priority: ptr.To(reportPriority)}}
}

// smallestFirst returns a queue that lowers the priority of a PodSet by the number of missing or surplus pods.
func smallestFirst(q queue, obj client.Object) queue {
	set, ok := obj.(*appv1alpha1.PodSet)
	if !ok {
		return q
	}
	gap := int(ptr.Deref(set.Spec.Replicas, 1) - set.Status.Replicas)
	return queueWithOptions{q, priorityqueue.AddOpts{Priority: ptr.To(-max(gap, -gap))}}
}
