// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// State has the latest version of every object that the observer has seen, including objects that were removed.
type State struct {
	// Sets, Ats, and Pods are the objects by UID. Removed has those that do not exist anymore.
	Sets    map[types.UID]*appv1alpha1.PodSet
	Ats     map[types.UID]*cnatv1alpha1.At
	Pods    map[types.UID]*corev1.Pod
	Removed map[types.UID]bool
	// owned has the pods by the UID of their controller.
	owned map[types.UID]map[types.UID]*corev1.Pod
	// Version is the resource version of each object. Deleting has the objects whose deletion has begun.
	Version  map[types.UID]uint64
	Deleting map[types.UID]bool
}

// NewState returns an empty State.
func NewState() *State {
	return &State{
		Sets: map[types.UID]*appv1alpha1.PodSet{}, Ats: map[types.UID]*cnatv1alpha1.At{},
		Pods: map[types.UID]*corev1.Pod{}, Removed: map[types.UID]bool{},
		owned:   map[types.UID]map[types.UID]*corev1.Pod{},
		Version: map[types.UID]uint64{}, Deleting: map[types.UID]bool{},
	}
}

// Apply applies a change.
func (s *State) Apply(e Event) {
	uid := e.Object.GetUID()
	switch object := e.Object.(type) {
	case *appv1alpha1.PodSet:
		s.Sets[uid] = object
	case *cnatv1alpha1.At:
		s.Ats[uid] = object
	case *corev1.Pod:
		if before, ok := s.Pods[uid]; ok {
			delete(s.owned[ControllerOf(before)], uid)
		}
		s.Pods[uid] = object
		owner := ControllerOf(object)
		if s.owned[owner] == nil {
			s.owned[owner] = map[types.UID]*corev1.Pod{}
		}
		s.owned[owner][uid] = object
	}
	s.Version[uid] = e.Version
	if e.Kind == watch.Deleted {
		s.Removed[uid] = true
	}
	if e.Kind == watch.Deleted || e.Object.GetDeletionTimestamp() != nil {
		s.Deleting[uid] = true
	}
}

// ControllerOf returns the UID of a pod's controller, or "" if it has none.
func ControllerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}

// isNeverBound reports whether no node has or can get a pod: the API server rejects the binding of a pod that is being deleted.
func (s *State) isNeverBound(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && s.Deleting[pod.UID]
}

// IsActive is the second rule of PodSet, and also applies to a pod of an At. The checker intentionally implements it again.
func (s *State) IsActive(pod *corev1.Pod) bool {
	return !s.Removed[pod.UID] && pod.DeletionTimestamp == nil &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Active returns the active pods that a PodSet or an At controls, by name.
func (s *State) Active(owner types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range s.owned[owner] {
		if s.IsActive(pod) {
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

// NotDeleting returns the PodSets that exist and are not being deleted.
func (s *State) NotDeleting() []*appv1alpha1.PodSet {
	return slices.DeleteFunc(slices.Collect(maps.Values(s.Sets)), func(set *appv1alpha1.PodSet) bool {
		return s.Removed[set.UID] || set.DeletionTimestamp != nil
	})
}

func replicas(set *appv1alpha1.PodSet) int { return int(ptr.Deref(set.Spec.Replicas, 1)) }

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// isAvailable reports whether an active pod is included in availableReplicas.
func isAvailable(pod *corev1.Pod) bool { return pod.Status.Phase != corev1.PodUnknown }

func count(pods []*corev1.Pod, matches func(*corev1.Pod) bool) int {
	n := 0
	for _, pod := range pods {
		if matches(pod) {
			n++
		}
	}
	return n
}

func names(pods []*corev1.Pod) []string {
	var list []string
	for _, pod := range pods {
		list = append(list, pod.Name)
	}
	return list
}

// converged reports whether a PodSet has as many active pods as it asks for and its status lists them, in any order. If the operator fills
// the whole status, observedGeneration must also be current: the pods of an older spec may be as many by chance.
func (s *State) converged(set *appv1alpha1.PodSet, full bool) bool {
	active := s.Active(set.UID)
	known := !full || set.Status.ObservedGeneration == set.Generation
	return known && len(active) == replicas(set) && slices.Equal(names(active), slices.Sorted(slices.Values(set.Status.PodNames)))
}
