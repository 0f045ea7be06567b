// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// state has the latest version of every object that the observer has seen, including objects that were removed.
type state struct {
	sets    map[types.UID]*appv1alpha1.PodSet
	ats     map[types.UID]*cnatv1alpha1.At
	pods    map[types.UID]*corev1.Pod
	removed map[types.UID]bool
	// owned has the pods by the UID of their controller.
	owned map[types.UID]map[types.UID]*corev1.Pod
	// version is the resource version of each object. deleting has the objects whose deletion has begun.
	version  map[types.UID]uint64
	deleting map[types.UID]bool
}

func newState() *state {
	return &state{
		sets: map[types.UID]*appv1alpha1.PodSet{}, ats: map[types.UID]*cnatv1alpha1.At{},
		pods: map[types.UID]*corev1.Pod{}, removed: map[types.UID]bool{},
		owned:   map[types.UID]map[types.UID]*corev1.Pod{},
		version: map[types.UID]uint64{}, deleting: map[types.UID]bool{},
	}
}

func (s *state) apply(e event) {
	uid := e.object.GetUID()
	switch object := e.object.(type) {
	case *appv1alpha1.PodSet:
		s.sets[uid] = object
	case *cnatv1alpha1.At:
		s.ats[uid] = object
	case *corev1.Pod:
		if before, ok := s.pods[uid]; ok {
			delete(s.owned[controller(before)], uid)
		}
		s.pods[uid] = object
		owner := controller(object)
		if s.owned[owner] == nil {
			s.owned[owner] = map[types.UID]*corev1.Pod{}
		}
		s.owned[owner][uid] = object
	}
	s.version[uid] = e.version
	if e.kind == watch.Deleted {
		s.removed[uid] = true
	}
	if e.kind == watch.Deleted || e.object.GetDeletionTimestamp() != nil {
		s.deleting[uid] = true
	}
}

// watched tells whether the observer watches objects of this kind.
func watched(object client.Object) bool {
	switch object.(type) {
	case *appv1alpha1.PodSet, *cnatv1alpha1.At, *corev1.Pod:
		return true
	}
	return false
}

// ofKind returns the objects of a list's kind that exist.
func (s *state) ofKind(kind client.ObjectList) []client.Object {
	var objects []client.Object
	add := func(object client.Object) {
		if !s.removed[object.GetUID()] {
			objects = append(objects, object)
		}
	}
	switch kind.(type) {
	case *appv1alpha1.PodSetList:
		for _, set := range s.sets {
			add(set)
		}
	case *cnatv1alpha1.AtList:
		for _, at := range s.ats {
			add(at)
		}
	case *corev1.PodList:
		for _, pod := range s.pods {
			add(pod)
		}
	}
	return objects
}

// controller returns the UID of a pod's controller; "" if it has none.
func controller(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}

// isActive is the second rule of PodSet. It is implemented again on purpose: the checker shares no code with the operator.
func (s *state) isActive(pod *corev1.Pod) bool {
	return !s.removed[pod.UID] && pod.DeletionTimestamp == nil &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// active returns the active pods that a PodSet controls, by name.
func (s *state) active(owner types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range s.owned[owner] {
		if s.isActive(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return pods
}

// notDeleting returns the PodSets that exist and are not being deleted.
func (s *state) notDeleting() []*appv1alpha1.PodSet {
	return slices.DeleteFunc(slices.Collect(maps.Values(s.sets)), func(set *appv1alpha1.PodSet) bool {
		return s.removed[set.UID] || set.DeletionTimestamp != nil
	})
}

func replicas(set *appv1alpha1.PodSet) int { return int(ptr.Deref(set.Spec.Replicas, 1)) }

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func names(pods []*corev1.Pod) []string {
	var list []string
	for _, pod := range pods {
		list = append(list, pod.Name)
	}
	return list
}

// converged tells whether a PodSet has as many active pods as it asks for and its status names them, in any order. If the
// operator fills the whole status, observedGeneration must also be current: the pods of an older spec may be as many by chance.
func (s *state) converged(set *appv1alpha1.PodSet, full bool) bool {
	active := s.active(set.UID)
	known := !full || set.Status.ObservedGeneration == set.Generation
	return known && len(active) == replicas(set) && slices.Equal(names(active), slices.Sorted(slices.Values(set.Status.PodNames)))
}
