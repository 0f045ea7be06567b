// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/kube/write"
)

// maxChecks bounds how many pods of Ats that wait are checked at the same time. An admission webhook can take 10 s.
const maxChecks = 4

// checkLine has the Ats whose checks wait until another one has ended, in their order. They occupy no worker meanwhile.
type checkLine struct {
	// next requests the reconcile of an At.
	next chan event.GenericEvent

	mu      sync.Mutex
	running int
	waiting []client.ObjectKey
	queued  sets.Set[client.ObjectKey]
}

// enter reports whether a check may run now. If not, its At is requested when another check has ended.
func (l *checkLine) enter(key client.ObjectKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < maxChecks {
		l.running++
		return true
	}
	if l.queued == nil {
		l.queued = sets.New[client.ObjectKey]()
	}
	if !l.queued.Has(key) {
		l.queued.Insert(key)
		l.waiting = append(l.waiting, key)
	}
	return false
}

// leave ends a check.
func (l *checkLine) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
}

// request requests the first At of the line if a check may run. It is called after every reconcile, because the At that was requested before may
// need no check any more.
func (l *checkLine) request(ctx context.Context) {
	l.mu.Lock()
	if l.running == maxChecks || len(l.waiting) == 0 {
		l.mu.Unlock()
		return
	}
	first := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.queued.Delete(first)
	l.mu.Unlock()
	select {
	case l.next <- event.GenericEvent{Object: &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name}}}:
	case <-ctx.Done():
	}
}

// source is the source of the requested Ats. They come after everything else.
func (l *checkLine) source() source.Source {
	return source.Channel(l.next, handler.Funcs{GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) {
		queueWithOptions{q, priorityqueue.AddOpts{Priority: ptr.To(retryPriority)}}.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
	}})
}

// check asks the API server whether it accepts the pod of the plan. There is no answer if the check waits for others.
func (r *AtReconciler) check(ctx context.Context, d *decided) (outcome at.Outcome) {
	if d.plan.Check == nil {
		return at.Outcome{Answer: d.plan.Answer}
	}
	if !d.plan.Start {
		if !r.checks.enter(client.ObjectKeyFromObject(d.o.At)) {
			return outcome
		}
		defer r.checks.leave()
	}
	pod := d.plan.Check.DeepCopy()
	err := r.Client.Create(ctx, pod, client.DryRunAll)
	outcome.Answer = answerOf(d.plan.Check, pod, err)
	if d.plan.Start && outcome.Answer.Rejection != nil {
		log.FromContext(ctx).V(1).Info("The API server would reject the pod", "reason", err.Error())
		outcome.Rejected = fmt.Errorf("creating Pod %s: %w", pod.Name, err)
		rejectedCreates.WithLabelValues(atKind.Kind).Inc()
	}
	return outcome
}

// answerOf returns what the result of a dry run says about a pod. An error of the API server itself, and its answer that a webhook does not
// support dry runs, say nothing about it.
func answerOf(requested, got *corev1.Pod, err error) *at.Answer {
	switch {
	case err == nil:
		return &at.Answer{Changed: atrun.Changed(requested, got)}
	case apierrors.IsAlreadyExists(err) && write.TakenName(err, requested.Name) != requested.Name:
		return &at.Answer{Changed: nameChange(requested, write.TakenName(err, requested.Name))}
	case write.IsRejected(err) && apierrors.ReasonForError(err) != metav1.StatusReasonBadRequest:
		return &at.Answer{Rejection: expectations.NewRejection(err)}
	}
	return &at.Answer{Unknown: err.Error()}
}

// nameChange describes the change of the name of a pod.
func nameChange(requested *corev1.Pod, name string) string {
	return fmt.Sprintf("the name of pod %s to %s", requested.Name, name)
}
