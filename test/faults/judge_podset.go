// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// window is what the judge remembers of a PodSet since it last converged.
type window struct {
	most int // the largest replicas
	// unready are the pods that were unready when replicas last shrank and have been since; they must die first.
	unready map[types.UID]bool
	// sacrificed is a Ready pod that the operator deleted since; "": none.
	sacrificed string
	// edited is when replicas last changed.
	edited time.Time
}

// calm is how long replicas must have been the same before they shrink for P6 to be judged: what the operator deletes
// right after may have been decided on what was asked for before.
const calm = time.Second

func (j *judge) window(set *appv1alpha1.PodSet) *window {
	w, ok := j.windows[set.UID]
	if !ok {
		w = &window{most: replicas(set), unready: map[types.UID]bool{}}
		j.windows[set.UID] = w
	}
	return w
}

// podSet judges a change of a PodSet: P7, and the windows of P2 and P6.
func (j *judge) podSet(before, set *appv1alpha1.PodSet) {
	w := j.window(set)
	w.most = max(w.most, replicas(set))
	if before != nil && replicas(set) != replicas(before) {
		w.sacrificed = ""
		clear(w.unready)
		calm := j.now.seen.Sub(w.edited) > calm
		w.edited = j.now.seen
		if replicas(set) > replicas(before) || !calm {
			j.converge(set)
			return
		}
		for _, pod := range j.state.active(set.UID) {
			if !isReady(pod) {
				w.unready[pod.UID] = true
			}
		}
	}
	if j.ours[set.ResourceVersion] {
		j.check("P7", slices.IsSorted(set.Status.PodNames), "PodSet "+set.Name, "podNames are not sorted: %v", set.Status.PodNames)
		j.check("P7", set.Status.ObservedGeneration <= set.Generation, "PodSet "+set.Name, "observedGeneration is of the future")
	}
	j.converge(set)
}

// podOfSet judges a change of a pod that a PodSet controls: P2, P6.
func (j *judge) podOfSet(set *appv1alpha1.PodSet, before, pod *corev1.Pod, wasActive bool) {
	w := j.window(set)
	active := j.state.active(set.UID)
	j.check("P2", len(active) <= w.most, "PodSet "+set.Name, "%d active pods, and no more than %d were asked for: %v", len(active), w.most, names(active))
	if isReady(pod) || !j.state.isActive(pod) {
		delete(w.unready, pod.UID)
	}
	if wasActive && !j.state.isActive(pod) && j.deletes[pod.UID] && isReady(before) && w.sacrificed == "" {
		w.sacrificed = pod.Name
	}
	j.converge(set)
}

// converge ends the window of a PodSet that has converged.
func (j *judge) converge(set *appv1alpha1.PodSet) {
	if !j.state.converged(set, j.full) {
		return
	}
	w := j.window(set)
	if w.sacrificed != "" {
		var alive []string
		for uid := range w.unready {
			alive = append(alive, j.state.pods[uid].Name)
		}
		j.check("P6", len(alive) == 0, "PodSet "+set.Name, "Ready pod %s was deleted, unready ones live on: %v", w.sacrificed, alive)
	}
	w.most, w.sacrificed = replicas(set), ""
	clear(w.unready)
}

// settled says what keeps a PodSet from rest: P3 and P7; "" when nothing does.
func (s *state) settled(set *appv1alpha1.PodSet, full bool) string {
	active, status := s.active(set.UID), set.Status
	switch {
	case len(active) != replicas(set):
		return "active pods are not what spec.replicas asks for"
	case !s.converged(set, false):
		return "podNames are not the active pods"
	case !full:
		return ""
	case status.ObservedGeneration != set.Generation:
		return "observedGeneration is old"
	case int(status.Replicas) != len(active):
		return "status.replicas is wrong"
	case int(status.ReadyReplicas) != len(slices.DeleteFunc(slices.Clone(active), func(p *corev1.Pod) bool { return !isReady(p) })):
		return "status.readyReplicas is wrong"
	case set.Spec.UpdateStrategy.Type != appv1alpha1.OnDelete && status.UpdatedReplicas != status.Replicas:
		return "pods of an older template"
	}
	terminating := int32(0)
	for _, pod := range s.owned[set.UID] {
		if !s.gone[pod.UID] && pod.DeletionTimestamp != nil {
			terminating++
		}
	}
	if status.TerminatingReplicas != terminating {
		return "status.terminatingReplicas is wrong"
	}
	return ""
}
