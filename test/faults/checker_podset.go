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
	// deletedReady is a Ready pod that the operator deleted since; "": none.
	deletedReady string
	// edited is when replicas last changed.
	edited time.Time
}

// stablePeriod is how long replicas must have been the same before they shrink for P6 to be judged: what the operator deletes
// right after may have been decided on what was asked for before.
const stablePeriod = time.Second

func (c *checker) window(set *appv1alpha1.PodSet) *window {
	w, ok := c.windows[set.UID]
	if !ok {
		w = &window{most: replicas(set), unready: map[types.UID]bool{}}
		c.windows[set.UID] = w
	}
	return w
}

// podSet judges a change of a PodSet: P7, and the windows of P2 and P6.
func (c *checker) podSet(before, set *appv1alpha1.PodSet) {
	w := c.window(set)
	w.most = max(w.most, replicas(set))
	if before != nil && replicas(set) != replicas(before) {
		w.deletedReady = ""
		clear(w.unready)
		stable := c.now.seen.Sub(w.edited) > stablePeriod
		w.edited = c.now.seen
		if replicas(set) > replicas(before) || !stable {
			c.converge(set)
			return
		}
		for _, pod := range c.state.active(set.UID) {
			if !isReady(pod) {
				w.unready[pod.UID] = true
			}
		}
	}
	if c.ours[set.ResourceVersion] {
		c.check("P7", slices.IsSorted(set.Status.PodNames), "PodSet "+set.Name, "podNames are not sorted: %v", set.Status.PodNames)
		c.check("P7", set.Status.ObservedGeneration <= set.Generation, "PodSet "+set.Name, "observedGeneration is of the future")
	}
	c.converge(set)
}

// podOfSet judges a change of a pod that a PodSet controls: P2, P6.
func (c *checker) podOfSet(set *appv1alpha1.PodSet, before, pod *corev1.Pod, wasActive bool) {
	w := c.window(set)
	active := c.state.active(set.UID)
	c.check("P2", len(active) <= w.most, "PodSet "+set.Name, "%d active pods, and no more than %d were asked for: %v", len(active), w.most, names(active))
	if isReady(pod) || !c.state.isActive(pod) {
		delete(w.unready, pod.UID)
	}
	if wasActive && !c.state.isActive(pod) && c.deletes[pod.UID] && isReady(before) && w.deletedReady == "" {
		w.deletedReady = pod.Name
	}
	c.converge(set)
}

// converge ends the window of a PodSet that has converged.
func (c *checker) converge(set *appv1alpha1.PodSet) {
	if !c.state.converged(set, c.full) {
		return
	}
	w := c.window(set)
	if w.deletedReady != "" {
		var alive []string
		for uid := range w.unready {
			alive = append(alive, c.state.pods[uid].Name)
		}
		c.check("P6", len(alive) == 0, "PodSet "+set.Name, "Ready pod %s was deleted, unready ones live on: %v", w.deletedReady, alive)
	}
	w.most, w.deletedReady = replicas(set), ""
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
		if !s.removed[pod.UID] && pod.DeletionTimestamp != nil {
			terminating++
		}
	}
	if status.TerminatingReplicas != terminating {
		return "status.terminatingReplicas is wrong"
	}
	return ""
}
