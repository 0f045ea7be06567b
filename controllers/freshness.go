// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize bounds one answer of a live list.
const pageSize = 500

// freshness guards the first write for an object after a start of the process. A new process may be handed a list that
// is older than what its predecessor wrote (an API server that lags behind may answer from its cache), and would then
// make pods a second time, or run an At again. So before the first write in a namespace the live state is listed once,
// metadata only, and an object that the cache shows in an older version waits until the cache has caught up. That is over
// once the caches are past the first such list: from then on they show all that a predecessor wrote.
type freshness struct {
	live  client.Reader
	cache cache.Informers
	owner client.Object           // of the kind that is guarded
	list  schema.GroupVersionKind // of a list of it

	mu         sync.Mutex
	namespaces map[string]*snapshot
	first      *snapshot // of whichever namespace was first
	caughtUp   bool
}

// snapshot is the live state of one namespace at one moment after the start of the process.
type snapshot struct {
	ownersVersion, podsVersion string                      // the resource versions of the lists
	owners                     map[types.UID]string        // the resource version of each owner
	pods                       map[types.UID][]*corev1.Pod // the pods of each owner
}

// verify tells whether what was observed of obj and its pods is at least as new as the snapshot, once per object. When
// it is not, the pods that the cache lacks are noted in m, and looking again a little later is the answer.
func (f *freshness) verify(ctx context.Context, obj client.Object, m *memory, pods []*corev1.Pod) (bool, error) {
	if m.fresh {
		return true, nil
	}
	s, err := f.snapshot(ctx, obj.GetNamespace())
	if err != nil {
		return false, err
	}
	if s == nil {
		m.fresh = true
		return true, nil
	}
	seen, ok := s.owners[obj.GetUID()]
	if !ok {
		seen = s.ownersVersion // Older than the snapshot and not in it: gone by then.
	}
	if older, err := isOlder(obj.GetResourceVersion(), seen); older || err != nil {
		return false, err
	}
	m.fresh = true
	return m.correct(f.take(s, obj.GetUID()), s.podsVersion, pods)
}

// correct notes where the observed pods of an object are older than a live list of them, and tells whether they were not.
func (m *memory) correct(live []*corev1.Pod, version string, observed []*corev1.Pod) (bool, error) {
	byUID := map[types.UID]*corev1.Pod{}
	for _, pod := range live {
		byUID[pod.UID] = pod
	}
	upToDate := true
	for _, pod := range observed {
		listed, ok := byUID[pod.UID]
		delete(byUID, pod.UID)
		if !ok {
			if older, err := isOlder(pod.ResourceVersion, version); err != nil {
				return false, err
			} else if !older {
				continue // Created since the list.
			}
		} else if listed.DeletionTimestamp == nil || pod.DeletionTimestamp != nil {
			continue
		}
		m.noteDeleted(pod.UID)
		upToDate = false
	}
	for _, pod := range byUID {
		if pod.DeletionTimestamp == nil {
			m.noteCreated(pod, time.Time{}) // The zero time has it looked up at once.
			upToDate = false
		}
	}
	return upToDate, nil
}

// isOlder compares two resource versions of the same kind.
func isOlder(version, than string) (bool, error) {
	order, err := resourceversion.CompareResourceVersion(version, than)
	if err != nil {
		return false, fmt.Errorf("comparing resource versions: %w", err)
	}
	return order < 0, nil
}

// take hands out the pods of one owner, once.
func (f *freshness) take(s *snapshot, uid types.UID) []*corev1.Pod {
	f.mu.Lock()
	defer f.mu.Unlock()
	pods := s.pods[uid]
	delete(s.pods, uid)
	return pods
}

// snapshot lists a namespace once; callers that come meanwhile wait for the same list. nil means that the caches have
// caught up, and that there is nothing to compare with any more.
func (f *freshness) snapshot(ctx context.Context, namespace string) (*snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hasCaughtUp(ctx) {
		f.namespaces, f.first = nil, nil
		return nil, nil
	}
	if s, ok := f.namespaces[namespace]; ok {
		return s, nil
	}
	s := &snapshot{owners: map[types.UID]string{}, pods: map[types.UID][]*corev1.Pod{}}
	// Owners first: a pod of an owner that is in the list was made by it before, or is no older than the list of pods.
	var err error
	s.ownersVersion, err = f.each(ctx, f.list, namespace, func(item *metav1.PartialObjectMetadata) {
		s.owners[item.UID] = item.ResourceVersion
	})
	if err != nil {
		return nil, err
	}
	s.podsVersion, err = f.each(ctx, corev1.SchemeGroupVersion.WithKind("PodList"), namespace, func(item *metav1.PartialObjectMetadata) {
		if owner := metav1.GetControllerOfNoCopy(item); owner != nil {
			if _, ours := s.owners[owner.UID]; ours {
				s.pods[owner.UID] = append(s.pods[owner.UID], trim(&corev1.Pod{ObjectMeta: item.ObjectMeta}))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if f.namespaces == nil {
		f.namespaces, f.first = map[string]*snapshot{}, s
	}
	f.namespaces[namespace] = s
	return s, nil
}

// hasCaughtUp tells whether the caches of owners and of pods are past the first snapshot.
func (f *freshness) hasCaughtUp(ctx context.Context) bool {
	f.caughtUp = f.caughtUp || f.first != nil &&
		f.isPast(ctx, f.owner, f.first.ownersVersion) && f.isPast(ctx, &corev1.Pod{}, f.first.podsVersion)
	return f.caughtUp
}

// isPast tells whether the cache of a kind shows everything up to a resource version. The cache of several namespaces is
// several caches, which cannot tell.
func (f *freshness) isPast(ctx context.Context, kind client.Object, version string) bool {
	informer, err := f.cache.GetInformer(ctx, kind)
	if err != nil {
		return false
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return false
	}
	older, err := isOlder(shared.GetStore().LastStoreSyncResourceVersion(), version)
	return err == nil && !older
}

// each calls visit for the metadata of all objects of a kind, page by page, and returns the resource version of the list.
func (f *freshness) each(ctx context.Context, kind schema.GroupVersionKind, namespace string, visit func(*metav1.PartialObjectMetadata)) (string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	for {
		if err := f.live.List(ctx, list, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(list.Continue)); err != nil {
			return "", fmt.Errorf("listing %s of namespace %s: %w", kind.Kind, namespace, err)
		}
		for i := range list.Items {
			visit(&list.Items[i])
		}
		if list.Continue == "" {
			return list.ResourceVersion, nil
		}
	}
}
