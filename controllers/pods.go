// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// ownerUIDIndex is the cache's index of pods by the UID of their controller.
const ownerUIDIndex = "metadata.controller.uid"

// IndexPods makes the cache find pods by the UID of their controller. Both controllers need it.
func IndexPods(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, ownerUIDIndex, func(obj client.Object) []string {
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing Pods by their controller: %w", err)
	}
	return nil
}

// podsOf lists the pods that uid controls. They are the cache's own: read them only.
func podsOf(ctx context.Context, reader client.Reader, namespace string, uid types.UID) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{ownerUIDIndex: string(uid)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// trimPod is the transform of the pod cache: see trim.
func trimPod(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		return trim(pod), nil
	}
	return obj, nil
}

// trim keeps of a pod what the controllers read, which is about a tenth.
func trim(pod *corev1.Pod) *corev1.Pod {
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              pod.Name,
			Namespace:         pod.Namespace,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp,
			DeletionTimestamp: pod.DeletionTimestamp,
			OwnerReferences:   pod.OwnerReferences,
			Annotations:       trimAnnotations(pod.Annotations),
		},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                pod.Status.Reason,
			Message:               pod.Status.Message,
			StartTime:             pod.Status.StartTime,
			InitContainerStatuses: trimContainers(pod.Status.InitContainerStatuses),
			ContainerStatuses:     trimContainers(pod.Status.ContainerStatuses),
		},
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			trimmed.Status.Conditions = append(trimmed.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
	}
	return trimmed
}

func trimAnnotations(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		return key != corev1.PodDeletionCost &&
			!strings.HasPrefix(key, appv1alpha1.GroupVersion.Group+"/") &&
			!strings.HasPrefix(key, cnatv1alpha1.GroupVersion.Group+"/")
	})
	return kept
}

// trimContainers keeps names, restarts and why a container waits or ended; that one runs, and since when, says nothing
// that readiness does not say.
func trimContainers(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	trimmed := slices.Clone(statuses)
	for i := range trimmed {
		trimmed[i] = corev1.ContainerStatus{
			Name:         statuses[i].Name,
			RestartCount: statuses[i].RestartCount,
			State:        corev1.ContainerState{Waiting: statuses[i].State.Waiting, Terminated: statuses[i].State.Terminated},
		}
	}
	return trimmed
}

// controllerOf names the object of a kind that controls a pod; ok is false when none does.
func controllerOf(pod client.Object, kind schema.GroupVersionKind) (owner types.NamespacedName, ok bool) {
	reference := metav1.GetControllerOfNoCopy(pod)
	if reference == nil || schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind() != kind.GroupKind() {
		return owner, false
	}
	return types.NamespacedName{Namespace: pod.GetNamespace(), Name: reference.Name}, true
}

// enqueueController queues the object of a kind that controls a pod. The handler of controller-runtime asks the mapper of
// kinds at every event, which is a tenth of all that the operator allocates.
func enqueueController(kind schema.GroupVersionKind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
		owner, ok := controllerOf(pod, kind)
		if !ok {
			return nil
		}
		return []reconcile.Request{{NamespacedName: owner}}
	})
}

// podChanged drops updates of pods that no object of a kind controls, and those that change nothing which the controllers
// read: the cache holds trimmed pods, so all but the resource version counts.
func podChanged(kind schema.GroupVersionKind) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, both := e.ObjectNew.(*corev1.Pod)
		if !ok || !both {
			return true
		}
		_, was := controllerOf(before, kind)
		if _, is := controllerOf(after, kind); !was && !is {
			return false
		}
		compared := *after
		compared.ResourceVersion = before.ResourceVersion
		return !equality.Semantic.DeepEqual(before, &compared)
	}}
}
