// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/pods"
)

// byDeletionPriority sorts active pods in the order in which they are deleted (rule 7). A pod comes before another one when
//
//  1. it has no node and the other has one,
//  2. else when its phase comes earlier in Pending, Unknown, Running,
//  3. else when it is not Ready and the other is,
//  4. else when it is not available and the other is,
//  5. else when it is of an older template and the other is not,
//  6. else when its annotation controller.kubernetes.io/pod-deletion-cost is lower,
//  7. else when more pods of the set share its node,
//  8. else when it is younger,
//  9. else when its containers have restarted more often,
//  10. else by its name, so that the order is total.
//
// These are the ranks of the ReplicaSet controller (ActivePodsWithRanks in kubernetes/pkg/controller), with rules 4 and 5
// added. Apart from rule 4, it does not matter for how long a pod has been Ready.
func byDeletionPriority(o Observation, active []*corev1.Pod, hash string) []*corev1.Pod {
	onNode := map[string]int{}
	for _, pod := range active {
		onNode[pod.Spec.NodeName]++
	}
	sorted := slices.Clone(active)
	slices.SortFunc(sorted, func(a, b *corev1.Pod) int {
		return cmp.Or(
			trueFirst(a.Spec.NodeName == "", b.Spec.NodeName == ""),
			cmp.Compare(progress(a), progress(b)),
			trueFirst(!pods.IsReady(a), !pods.IsReady(b)),
			trueFirst(!o.isAvailable(a), !o.isAvailable(b)),
			trueFirst(isOutdated(a, hash), isOutdated(b, hash)),
			cmp.Compare(deletionCost(a), deletionCost(b)),
			cmp.Compare(onNode[b.Spec.NodeName], onNode[a.Spec.NodeName]),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			cmp.Compare(restarts(b), restarts(a)),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return sorted
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// progress ranks the phases of an active pod.
func progress(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	default: // Pending, or not set yet
		return 0
	}
}

// deletionCost reads the annotation; a value that is not a 32-bit integer counts as 0, as in a ReplicaSet.
func deletionCost(pod *corev1.Pod) int {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int(cost)
}

func restarts(pod *corev1.Pod) int32 {
	var n int32
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	return n
}
