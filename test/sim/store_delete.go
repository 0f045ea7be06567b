// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete deletes an object, or marks it as being deleted. It returns the object, which still exists if gone is false.
func (s *Store) Delete(resource, name string, options metav1.DeleteOptions) (object client.Object, gone bool, err error) {
	object, last, err := s.begin(resource, name, options)
	if !last {
		return object, false, err
	}
	return s.put(watch.Deleted, CopyOf(s.objects[storeKey{resource, name}])), true, nil
}

// begin is the first of the two steps of a deletion. last is true if nothing keeps the object, so that the second step removes it. Other
// requests can come between the steps.
func (s *Store) begin(resource, name string, options metav1.DeleteOptions) (object client.Object, last bool, err error) {
	current, ok := s.objects[storeKey{resource, name}]
	if !ok {
		return nil, false, apierrors.NewNotFound(groupResources[resource], name)
	}
	if err := checkPreconditions(current, options.Preconditions); err != nil {
		return nil, false, err
	}
	deleted := CopyOf(current)
	graceful, pending := s.shorten(deleted, options.GracePeriodSeconds)
	if pending {
		return deleted, false, nil // The finalizers stay, too.
	}
	deleted.SetFinalizers(finalizersFor(current.GetFinalizers(), options.PropagationPolicy))
	finalizers := len(deleted.GetFinalizers()) > 0
	if !graceful && finalizers {
		s.mark(deleted, 0)
	}
	if p := options.Preconditions; !graceful && !finalizers && len(current.GetFinalizers()) > 0 && p != nil && p.ResourceVersion != nil {
		return nil, false, conflict(resource, name, "the API server compares the version with that of an empty object when the policy removes the last finalizer")
	}
	// A pod that is removed at once is first changed and then deleted.
	if (graceful || finalizers) && !equality.Semantic.DeepEqual(current, deleted) {
		s.put(watch.Modified, deleted)
	}
	return CopyOf(deleted), !finalizers && (!graceful || *deleted.GetDeletionGracePeriodSeconds() == 0), nil
}

// finish is the second step of the deletion of a pod.
func (s *Store) finish(name string, uid types.UID) {
	pod, ok := s.objects[storeKey{pods, name}].(*corev1.Pod)
	if ok && pod.UID == uid && pod.DeletionTimestamp != nil && *pod.DeletionGracePeriodSeconds == 0 && len(pod.Finalizers) == 0 {
		s.put(watch.Deleted, CopyOf(pod))
	}
}

func checkPreconditions(current client.Object, p *metav1.Preconditions) error {
	kind, name := groupKinds[ResourceOf(current)], current.GetName()
	resource := schema.GroupResource{Group: kind.Group, Resource: kind.Kind} // sic
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != current.GetUID():
		return apierrors.NewConflict(resource, name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, current.GetUID()))
	case p.ResourceVersion != nil && *p.ResourceVersion != current.GetResourceVersion():
		return apierrors.NewConflict(resource, name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, current.GetResourceVersion()))
	}
	return nil
}

// shorten begins the deletion of a pod, or shortens its grace period. Other objects have none: graceful is false. pending is true if the
// deletion has begun with a grace period that is not longer.
func (s *Store) shorten(object client.Object, wanted *int64) (graceful, pending bool) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return false, false
	}
	if pod.DeletionTimestamp == nil {
		s.mark(pod, graceOf(pod, wanted))
		return true, false
	}
	before := ptr.Deref(pod.DeletionGracePeriodSeconds, 0)
	switch {
	case before == 0:
		return false, false
	case wanted == nil || *wanted >= before:
		return false, true
	}
	at := metav1.NewTime(pod.DeletionTimestamp.Add(time.Duration(*wanted-before) * time.Second))
	grace := *wanted
	if now := metav1.NewTime(s.now()).Rfc3339Copy(); at.Before(&now) {
		at = now
		grace = min(grace, 1)
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &grace
	return true, false
}

func (s *Store) mark(object client.Object, grace int64) {
	at := metav1.NewTime(s.now().Add(time.Duration(grace) * time.Second)).Rfc3339Copy()
	if before := object.GetDeletionTimestamp(); before == nil {
		object.SetGeneration(object.GetGeneration() + 1)
		object.SetDeletionTimestamp(&at)
	} else if at.Before(before) {
		object.SetDeletionTimestamp(&at)
	}
	object.SetDeletionGracePeriodSeconds(&grace)
}

// finalizersFor returns the finalizers of an object that is deleted with a policy. Without a policy they do not change.
func finalizersFor(present []string, policy *metav1.DeletionPropagation) []string {
	if policy == nil {
		return present
	}
	rest := slices.DeleteFunc(slices.Clone(present), func(finalizer string) bool {
		return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
	})
	switch *policy {
	case metav1.DeletePropagationForeground:
		return append(rest, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		return append(rest, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationBackground:
	}
	return rest
}

// graceOf returns the grace period of a deletion. Only a pod on a node that has not finished has one.
func graceOf(pod *corev1.Pod, wanted *int64) int64 {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	grace := ptr.Deref(wanted, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, defaultGrace))
	if grace < 0 {
		return 1
	}
	return grace
}
