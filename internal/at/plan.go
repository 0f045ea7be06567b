// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Plan is what to do next. Carrying it out needs no further decision.
type Plan struct {
	// Check is a pod that the API server checks without creating it, or nil if there is none.
	Check *corev1.Pod
	// Create is the pod to create, or nil if there is none.
	Create *corev1.Pod
	// Delete is the pod to delete, or nil if there is none.
	Delete *corev1.Pod
	// DeleteAt is true if the At itself is to be deleted: its ttlSecondsAfterFinished have passed.
	DeleteAt bool
	// RequeueAt is when to reconcile again although nothing has changed, or zero if that is not needed.
	RequeueAt time.Time
}

// MakePlan returns what an At needs.
func MakePlan(o Observation) Plan {
	d := o.decision
	p := Plan{Delete: d.delete, DeleteAt: d.deleteAt, RequeueAt: d.requeueAt}
	switch {
	case d.creates:
		p.Create = newPod(o, d.attempt)
		p.RequeueAt = time.Time{}
	case d.checks:
		p.Check = newPod(o, 0)
	}
	return p
}
