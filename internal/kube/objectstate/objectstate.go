// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectstate stores a state for each object of one kind: what the process knows about it beyond its caches.
package objectstate

import (
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Entry is the state of one object. The work queue gives an object to one worker at a time, so State needs no lock.
type Entry[S any] struct {
	State S
	// FailedWebhook is the admission webhook that prevented the last write, or "" if none did.
	FailedWebhook string

	uid               types.UID
	lastStatusVersion atomic.Pointer[string]
	deletedPods       atomic.Pointer[[]*corev1.Pod]
}

// maxDeletedPods bounds how many last states an entry keeps. An object whose pods are deleted again and again keeps the
// newest.
const maxDeletedPods = 16

// DeletedPods returns the last states of the object's deleted pods that the watch delivered. To be sure that they are
// not older than a cache, list the cache first.
func (e *Entry[S]) DeletedPods() []*corev1.Pod {
	if list := e.deletedPods.Load(); list != nil {
		return *list
	}
	return nil
}

// StatusWritten records the resource version of a write of the status, so that IgnoreOwnStatusUpdates drops its event.
// Call it as soon as the write has returned.
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
		entry = m.add(key, obj.GetUID())
	}
	return entry
}

// add adds an empty entry. The caller holds the lock.
func (m *Map[S]) add(key types.NamespacedName, uid types.UID) *Entry[S] {
	entry := &Entry[S]{uid: uid}
	if m.byKey == nil {
		m.byKey = map[types.NamespacedName]*Entry[S]{}
	}
	m.byKey[key] = entry
	return entry
}

// PodDeleted stores the last state of a deleted pod for the object that controls it. The caller enqueues the object, so
// that the entry of an object that is gone is dropped.
func (m *Map[S]) PodDeleted(pod *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}
	entry, ok := m.byKey[key]
	if !ok {
		entry = m.add(key, owner.UID)
	}
	if entry.uid == owner.UID {
		list := append(slices.Clone(entry.DeletedPods()), pod)
		list = list[max(len(list)-maxDeletedPods, 0):]
		entry.deletedPods.Store(&list)
	}
}

// ForgetIfGone drops the entry of an object that was not found and returns it, or nil if there was none. It returns any
// other error.
func (m *Map[S]) ForgetIfGone(key types.NamespacedName, err error) (*Entry[S], error) {
	if !apierrors.IsNotFound(err) {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := m.byKey[key]
	delete(m.byKey, key)
	return entry, nil
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
