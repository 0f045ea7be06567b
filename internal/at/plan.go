// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Plan is what to do next. Carrying it out takes no further decision.
type Plan struct {
	// Lookup is the name of a pod to ask the API server for, "" for none: the cache does not show this pod, and the
	// decision depends on whether it exists. The answer belongs in the observation (Pods or Absent), from which the plan is
	// made again.
	Lookup string
	// Create is the pod to create, nil for none.
	Create *corev1.Pod
	// Delete are the pods to delete.
	Delete []*corev1.Pod
	// DeleteAt says that the At itself is to be deleted: its ttlSecondsAfterFinished are over.
	DeleteAt bool
	// WakeAt is when to look again though nothing has changed; zero: not needed.
	WakeAt time.Time
}

// IsEmpty tells whether the plan asks for nothing now.
func (p Plan) IsEmpty() bool {
	return p.Lookup == "" && p.Create == nil && len(p.Delete) == 0 && !p.DeleteAt
}

// MakePlan decides what an At needs.
func MakePlan(o Observation) Plan {
	return judge(o).plan
}
