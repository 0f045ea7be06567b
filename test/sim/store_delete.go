// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaultGrace is the grace period of a pod that sets none.
const defaultGrace = 30

// Delete deletes an object, or marks it as being deleted. It returns the object, which exists still if gone is false.
func (s *Store) Delete(resource, name string, options metav1.DeleteOptions) (object client.Object, gone bool, err error) {
	current, ok := s.objects[storeKey{resource, name}]
	if !ok {
		return nil, false, apierrors.NewNotFound(groupResources[resource], name)
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != current.GetUID() {
			return nil, false, conflict(resource, name, fmt.Sprintf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, current.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != current.GetResourceVersion() {
			return nil, false, conflict(resource, name, fmt.Sprintf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, current.GetResourceVersion()))
		}
	}
	deleted := copyOf(current)
	deleted.SetFinalizers(finalizersFor(current.GetFinalizers(), ptr.Deref(options.PropagationPolicy, metav1.DeletePropagationBackground)))
	grace := graceOf(current, options.GracePeriodSeconds)
	if grace == 0 && len(deleted.GetFinalizers()) == 0 {
		return s.put(watch.Deleted, deleted), true, nil
	}
	if before := current.GetDeletionTimestamp(); before != nil && !shortens(current, grace) {
		if slices.Equal(deleted.GetFinalizers(), current.GetFinalizers()) {
			return copyOf(current), false, nil
		}
		return s.put(watch.Modified, deleted), false, nil
	}
	at := metav1.NewTime(s.now().Add(time.Duration(grace) * time.Second)).Rfc3339Copy()
	deleted.SetDeletionTimestamp(&at)
	deleted.SetDeletionGracePeriodSeconds(&grace)
	if current.GetDeletionTimestamp() == nil {
		deleted.SetGeneration(current.GetGeneration() + 1)
	}
	return s.put(watch.Modified, deleted), false, nil
}

// finalizersFor returns the finalizers of an object that is deleted with a policy.
func finalizersFor(present []string, policy metav1.DeletionPropagation) []string {
	rest := slices.DeleteFunc(slices.Clone(present), func(finalizer string) bool {
		return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
	})
	switch policy {
	case metav1.DeletePropagationForeground:
		return append(rest, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		return append(rest, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationBackground:
	}
	return rest
}

// graceOf returns the grace period of a deletion. Only a pod on a node that has not finished has one.
func graceOf(object client.Object, wanted *int64) int64 {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	return ptr.Deref(wanted, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, defaultGrace))
}

// shortens tells whether a grace period is shorter than that of the deletion which has begun.
func shortens(object client.Object, grace int64) bool {
	before := object.GetDeletionGracePeriodSeconds()
	return before != nil && grace < *before
}
