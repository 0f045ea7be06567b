// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// deletions checks every request of the operator to delete, open, or stop a pod: P4.
func (c *Checker) deletions() {
	for _, w := range c.writes {
		if w.Resource != "pods" || w.Verb == "create" {
			continue
		}
		c.check("P4", w.Verb == "delete" || w.Opens || w.Stops, "pod "+w.Name, "changed by the operator: %s", w)
		c.check("P4", w.Precondition != "", "pod "+w.Name, "deleted, opened, or stopped without a UID precondition")
		// A pod whose identity admission changed at its create is deleted by its UID, and a pod that the operator created is opened by its UID,
		// or is the run if others have opened it, whatever users have done with them since.
		if pod, ok := c.state.Pods[w.UID]; ok && w.Committed() {
			created, ours := c.byUID[pod.UID]
			ours = ours && (created.Stripped || created.Renamed || c.ChangesIdentity && IsGated(pod) || w.Opens || c.isUngated(pod.UID))
			c.check("P4", ours || !c.wasForeign(pod, w), "foreign pod "+w.Name, "%s by the operator", w.Verb)
		}
	}
}

// noteOwner records since when a pod has no owner. A cache may still show an owner that controlled it before.
func (c *Checker) noteOwner(pod *corev1.Pod) {
	owned := c.owners[ControllerOf(pod)]
	since, known := c.foreign[pod.UID]
	switch {
	case owned:
		c.foreign[pod.UID] = time.Time{}
	case known && since.IsZero():
		c.foreign[pod.UID] = c.now.Seen
	}
}

// wasForeign reports whether a pod had no owner when the operator decided on a write.
func (c *Checker) wasForeign(pod *corev1.Pod, w Write) bool {
	since, owned := c.foreign[pod.UID]
	switch {
	case !owned:
		return true
	case since.IsZero() || !w.Uncached && (c.LaggingPods || w.StalePods):
		return false
	}
	return w.Sent.After(since)
}
