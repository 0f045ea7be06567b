// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/pods"
)

// Plan is what to do next. Carrying it out needs no further decision.
type Plan struct {
	// Create is the pod to create, nil for none.
	Create *corev1.Pod
	// Delete are the pods to delete.
	Delete []*corev1.Pod
	// DeleteAt says that the At itself is to be deleted: its ttlSecondsAfterFinished have passed.
	DeleteAt bool
	// RequeueAt is when to reconcile again although nothing has changed; zero: not needed.
	RequeueAt time.Time
}

// requeue requests a reconcile at due, unless an earlier one is requested already.
func (p *Plan) requeue(due time.Time) { p.RequeueAt = pods.Earliest(p.RequeueAt, due) }

// MakePlan decides what an At needs.
func MakePlan(o Observation) Plan {
	d := decide(o)
	if d.creates {
		d.plan.Create = newPod(o, d.run, d.attempt)
	}
	return d.plan
}

// lookup returns the name of a pod that the caller must get from the API server first, "" for none: the cache does not show
// this pod, and the decision depends on whether it exists. The answer belongs in the observation, in Pods or in Absent.
// Until then the plan is empty.
func lookup(o Observation) string {
	return decide(o).lookup
}
