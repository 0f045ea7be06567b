// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package caches has all wrappers of a manager's caches. They cache the pods that objects of some kinds control,
// trimmed to what controllers read; list in pages; tolerate unreadable namespaces; and fill the caches when the process
// starts to lead.
package caches

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// PodOwners are the kinds whose pods are cached.
type PodOwners struct {
	Kinds []schema.GroupVersionKind
	// TrimSpec returns what the controllers read from the spec of a pod, besides its node.
	TrimSpec func(*corev1.Pod) corev1.PodSpec
}

// Configure sets the options of a cache so that it has only the pods that objects of the kinds control, with only the
// fields of Trim: a cluster can have 50,000 other pods. The API server cannot filter by controller, and a filter by
// label would lose a pod whose label was removed. The informers of all kinds list the latest state, in pages.
func (k PodOwners) Configure(o *cache.Options) {
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	o.ByObject[&corev1.Pod{}] = cache.ByObject{Transform: func(obj any) (any, error) {
		if pod, ok := obj.(*corev1.Pod); ok {
			return k.Trim(pod), nil
		}
		return obj, nil
	}}
	o.NewInformer = func(all toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		source := toolscache.ToListerWatcherWithContext(all)
		if _, ok := obj.(*corev1.Pod); ok {
			source = newOwnPods(source, k)
		}
		paged := &toolscache.ListWatch{ListWithContextFunc: listLatestInPages(source), WatchFuncWithContext: source.WatchWithContext}
		return toolscache.NewSharedIndexInformer(paged, obj, resync, indexers)
	}
}

// controls reports whether an object of one of the kinds controls a pod.
func (k PodOwners) controls(pod client.Object) bool {
	return slices.ContainsFunc(k.Kinds, func(kind schema.GroupVersionKind) bool {
		_, ok := ControllerOfKind(pod, kind)
		return ok
	})
}

// ownerIndex is the cache's index of pods by the kind and the name of their controller.
const ownerIndex = "metadata.controller"

// Index makes a cache find pods by their controller. List needs it.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, ownerIndex, func(obj client.Object) []string {
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
			return []string{owner.Kind + "/" + owner.Name}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing Pods by their controller: %w", err)
	}
	return nil
}

// List returns the pods that owner, an object of a kind, controls, and the pods that a deleted object of the same kind
// and name controls. They belong to the cache and must not be modified.
func List(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind, owner client.Object) (own, older []*corev1.Pod, err error) {
	list := &corev1.PodList{}
	key := client.MatchingFields{ownerIndex: kind.Kind + "/" + owner.GetName()}
	if err := reader.List(ctx, list, client.InNamespace(owner.GetNamespace()), key, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing Pods: %w", err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if _, ok := ControllerOfKind(pod, kind); !ok { // a kind of another API group
			continue
		}
		if metav1.IsControlledBy(pod, owner) {
			own = append(own, pod)
		} else {
			older = append(older, pod)
		}
	}
	return own, older, nil
}

// ReadMissing reads pods from the API server until missing returns no more names. It passes the pods read so far,
// trimmed, with nil for a pod that does not exist. reader must not be a cache.
func (k PodOwners) ReadMissing(
	ctx context.Context, reader client.Reader, namespace string, missing func(read map[string]*corev1.Pod) []string,
) error {
	var read map[string]*corev1.Pod
	for {
		names := missing(read)
		if len(names) == 0 {
			return nil
		}
		if read == nil {
			read = map[string]*corev1.Pod{}
		}
		for _, name := range names {
			pod, err := k.Read(ctx, reader, namespace, name)
			if err != nil {
				return err
			}
			read[name] = pod
		}
	}
}

// Read reads a pod from the API server, trimmed, or returns nil if it does not exist. reader must not be a cache.
func (k PodOwners) Read(ctx context.Context, reader client.Reader, namespace, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); {
	case err == nil:
		return k.Trim(pod), nil
	case apierrors.IsNotFound(err):
		return nil, nil
	default:
		return nil, fmt.Errorf("reading Pod %s: %w", name, err)
	}
}

// ControllerOfKind returns the name of the object of a kind that controls a pod; ok is false if there is none.
func ControllerOfKind(pod client.Object, kind schema.GroupVersionKind) (owner types.NamespacedName, ok bool) {
	reference := metav1.GetControllerOfNoCopy(pod)
	if reference == nil || schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind() != kind.GroupKind() {
		return owner, false
	}
	return types.NamespacedName{Namespace: pod.GetNamespace(), Name: reference.Name}, true
}

// EnqueueController enqueues the object of a kind that controls a pod. The handler of controller-runtime calls the REST
// mapper for every event, which is a tenth of the operator's memory allocations.
func EnqueueController(kind schema.GroupVersionKind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
		owner, ok := ControllerOfKind(pod, kind)
		if !ok {
			return nil
		}
		return []reconcile.Request{{NamespacedName: owner}}
	})
}

// Changed drops updates of pods that no object of a kind controls, and updates that change no field that the
// controllers read. The pods in the cache are trimmed, so every field except the resource version is compared.
func Changed(kind schema.GroupVersionKind) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, both := e.ObjectNew.(*corev1.Pod)
		if !ok || !both {
			return true
		}
		_, was := ControllerOfKind(before, kind)
		if _, is := ControllerOfKind(after, kind); !was && !is {
			return false
		}
		compared := *after
		compared.ResourceVersion = before.ResourceVersion
		return !equality.Semantic.DeepEqual(before, &compared)
	}}
}
