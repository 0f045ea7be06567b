// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// purpose is what a request that admission handles is for.
type purpose int

const (
	forStart purpose = iota
	forDryRun
)

// An admission webhook can take 10 s, and a webhook usually concerns one namespace. These bounds keep a namespace from occupying all workers.
const (
	// maxStarts bounds the starts that wait for the API server at the same time in one namespace.
	maxStarts = 16
	// maxDryRuns bounds the dry runs at the same time in one namespace, and maxAllDryRuns in all of them.
	maxDryRuns, maxAllDryRuns = 2, 8
)

// requestSlots bounds the requests of each namespace that admission handles. An At that finds no free slot occupies no worker: it is requested
// when a slot is free, in the order of arrival in its namespace. Namespaces take turns.
type requestSlots struct {
	once sync.Once
	next chan event.GenericEvent

	mu      sync.Mutex
	holders map[client.ObjectKey]purpose
	waiting []waitingAt
}

// waitingAt is an At that waits for a slot.
type waitingAt struct {
	key client.ObjectKey
	purpose
}

// enter reports whether an At may send a request now. It keeps its slot until leave.
func (s *requestSlots) enter(key client.ObjectKey, p purpose) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.holders[key]; ok && held == p {
		return true
	}
	ahead := slices.ContainsFunc(s.waiting, func(w waitingAt) bool { return w.purpose == p && w.key.Namespace == key.Namespace })
	if !ahead && s.isFree(key.Namespace, p) {
		s.hold(key, p)
		return true
	}
	if !slices.Contains(s.waiting, waitingAt{key, p}) {
		s.waiting = append(s.waiting, waitingAt{key, p})
	}
	return false
}

func (s *requestSlots) hold(key client.ObjectKey, p purpose) {
	if s.holders == nil {
		s.holders = map[client.ObjectKey]purpose{}
	}
	s.holders[key] = p
}

// isFree reports whether a namespace has a free slot. The caller holds the lock.
func (s *requestSlots) isFree(namespace string, p purpose) bool {
	here, all := 0, 0
	for key, held := range s.holders {
		if held == p {
			all++
			if key.Namespace == namespace {
				here++
			}
		}
	}
	if p == forStart {
		return here < maxStarts
	}
	return here < maxDryRuns && all < maxAllDryRuns
}

// leave ends the request of an At, if it has one, and requests the Ats whose turn it is. An At that is requested has its slot already. It is
// called after every reconcile, because an At that was requested may need no slot anymore.
func (s *requestSlots) leave(ctx context.Context, key client.ObjectKey) {
	s.mu.Lock()
	delete(s.holders, key)
	var called []client.ObjectKey
	s.waiting = slices.DeleteFunc(s.waiting, func(w waitingAt) bool {
		if _, holds := s.holders[w.key]; holds || !s.isFree(w.key.Namespace, w.purpose) {
			return false
		}
		s.hold(w.key, w.purpose)
		called = append(called, w.key)
		return true
	})
	s.mu.Unlock()
	for _, key := range called {
		select {
		case s.events() <- event.GenericEvent{Object: &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}:
		case <-ctx.Done():
		}
	}
}

func (s *requestSlots) events() chan event.GenericEvent {
	s.once.Do(func() { s.next = make(chan event.GenericEvent) })
	return s.next
}

// source is the source of the requested Ats.
func (s *requestSlots) source() source.Source {
	return source.Channel(s.events(), handler.Funcs{GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) {
		queueWithOptions{q, priorityqueue.AddOpts{Priority: ptr.To(0)}}.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
	}})
}
