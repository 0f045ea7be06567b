// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectstate stores a state for each object of one kind: what the process knows about it beyond its caches.
package objectstate

import (
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Entry is the state of one object. The work queue gives an object to one worker at a time, so State needs no lock.
type Entry[S any] struct {
	State S

	uid               types.UID
	lastStatusVersion atomic.Pointer[string]
}

// StatusWritten records the resource version of a write of the status, so that IgnoreOwnStatusUpdates drops its event. Call it
// as soon as the write has returned.
func (e *Entry[S]) StatusWritten(version string) { e.lastStatusVersion.Store(&version) }

// Map has an entry for each object of one kind. The zero value is empty and ready to use.
type Map[S any] struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*Entry[S]
}

// Of returns the entry of an object. An object that was deleted and created again starts with a new one.
func (m *Map[S]) Of(obj client.Object) *Entry[S] {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	entry, ok := m.byKey[key]
	if !ok || entry.uid != obj.GetUID() {
		entry = &Entry[S]{uid: obj.GetUID()}
		if m.byKey == nil {
			m.byKey = map[types.NamespacedName]*Entry[S]{}
		}
		m.byKey[key] = entry
	}
	return entry
}

// ForgetIfGone drops the entry of an object that was not found, and returns any other error.
func (m *Map[S]) ForgetIfGone(key types.NamespacedName, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
	return nil
}

// IgnoreOwnStatusUpdates drops the update events of the process's own writes of a status, which need no reconcile.
func (m *Map[S]) IgnoreOwnStatusUpdates() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		m.mu.Lock()
		entry, ok := m.byKey[client.ObjectKeyFromObject(e.ObjectNew)]
		m.mu.Unlock()
		if !ok || entry.uid != e.ObjectNew.GetUID() {
			return true
		}
		version := entry.lastStatusVersion.Load()
		return version == nil || *version != e.ObjectNew.GetResourceVersion()
	}}
}
