// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

// Plan is what to do next. Carrying it out needs no further decision.
type Plan struct {
	// Create are the pods to create, in this order.
	Create []*corev1.Pod
	// Delete are the pods to delete.
	Delete []*corev1.Pod
	// Cleanup are the finished pods to delete.
	Cleanup []*corev1.Pod
	// RequeueAt is when to reconcile again although nothing has changed, or zero if that is not needed.
	RequeueAt time.Time
}

// IsEmpty reports whether the plan contains no write.
func (p Plan) IsEmpty() bool { return len(p.Create)+len(p.Delete)+len(p.Cleanup) == 0 }

// MakePlan decides what a PodSet needs.
func MakePlan(o Observation) Plan {
	switch {
	case len(o.Modified) > 0: // rule 13
		return Plan{Delete: o.Modified}
	case o.readOnly(): // rule 3
		return Plan{}
	}
	var p Plan
	c := classify(o)
	hash := o.templateHash()
	p.planCleanup(o, c)
	p.planDeletes(o, c, hash)
	p.planCreates(o, c, hash)
	return p
}

// planCleanup deletes finished pods once their delay is over (rule 8).
func (p *Plan) planCleanup(o Observation, c classes) {
	if len(c.finished) == 0 {
		return
	}
	if o.Now.Before(o.CleanupAt) {
		p.RequeueAt = o.CleanupAt
		return
	}
	p.Cleanup = c.finished
}

// planDeletes deletes surplus pods, and pods of an older template (rules 7, 9, and 12).
func (p *Plan) planDeletes(o Observation, c classes, hash string) {
	sorted := byDeletionPriority(o, c.active, hash)
	surplus := max(len(sorted)-o.desired(), 0)
	p.Delete = sorted[:surplus:surplus]
	if o.Set.Spec.UpdateStrategy.Type == appv1alpha1.OnDelete {
		return
	}
	kept := sorted[surplus:]
	// How many more pods may become unavailable. Pods that are missing or unavailable already are subtracted.
	budget := count(kept, o.isAvailable) - (o.desired() - o.maxUnavailable())
	for _, pod := range kept {
		if !isOutdated(pod, hash) {
			continue
		}
		if o.isAvailable(pod) {
			if budget <= 0 {
				continue
			}
			budget--
		}
		p.Delete = append(p.Delete, pod)
	}
}

// planCreates creates the missing pods (rules 4, 5, 8, 12, and 14).
func (p *Plan) planCreates(o Observation, c classes, hash string) {
	missing := o.desired() - len(c.active)
	if ahead := len(c.finished) - len(p.Cleanup); ahead > o.desired() {
		missing -= ahead - o.desired()
	}
	if missing <= 0 {
		return
	}
	if o.Rejection != nil && o.Now.Before(o.Rejection.Until) {
		p.RequeueAt = pods.Earliest(o.Now, p.RequeueAt, o.Rejection.Until)
		return
	}
	for _, slot := range freeSlots(o, c.active, missing) {
		if o.waitsForTermination() && slices.ContainsFunc(o.Pods, func(pod *corev1.Pod) bool { return fills(pod, slot.slot) }) {
			continue // The pod is terminating or has finished. The cache will show that it is gone.
		}
		p.Create = append(p.Create, newPod(o, slot, hash))
	}
}
