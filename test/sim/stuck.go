// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/test/invariants"
)

// mayStick reports whether a pod may be not Ready, or may not end, for longer than the progress deadline of its PodSet.
func (e *env) mayStick(pod *corev1.Pod) bool {
	return e.scenario.has(Stuck) && pod.Spec.NodeName != "" && invariants.OwnerKind(pod) == "PodSet"
}

// holds reports whether something delays the end of a pod that is being deleted, such as a node that is cut off.
func (e *env) holds(pod *corev1.Pod) bool {
	cutOff := e.scenario.has(Purge) && pod.Spec.NodeName != "" && isOfAt(pod)
	if pod.DeletionTimestamp == nil || !cutOff && !e.mayStick(pod) || hash(e.scenario.Seed, string(pod.UID))>>32%4 != 0 {
		return false
	}
	return e.store.now().Before(pod.DeletionTimestamp.Add(hangTime))
}
