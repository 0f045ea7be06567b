// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/redhat/podset-operator/internal/pods"
)

// byDeletionPriority sorts active pods in the order in which they are deleted (rule 7). A pod comes before another one
// when
//
//  1. it has no node and the other has one,
//  2. else when its phase comes earlier in Pending, Unknown, Running,
//  3. else when it is not Ready and the other is,
//  4. else when it is not available and the other is,
//  5. else when it is of an older template and the other is not,
//  6. else when its annotation controller.kubernetes.io/pod-deletion-cost is lower,
//  7. else when more pods of the set share its node,
//  8. else when its deletion was requested and not answered,
//  9. else when both are Ready, and it has been so for a shorter time,
//  10. else when one of its containers has restarted more often than all of the other pod,
//  11. else when one of its sidecars has,
//  12. else when it is younger,
//  13. else by its UID, which is random, and then by its name, so that the order is total.
//
// These are the ranks of the ReplicaSet controller of Kubernetes 1.37 (ActivePodsWithRanks in
// kubernetes/pkg/controller), with rules 4, 5, and 8 added. The order by rules 9 to 12 changes with time, so without
// rule 8 a repeated deletion could delete a second pod. Times are compared as there, by the logarithm of how long ago
// they are, so that pods of about the same age are equal. There, two pods that have been Ready for about the same time
// are compared by their UID alone. This is not an order for three pods, so here rules 10 to 12 come first.
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
			trueFirst(o.MaybeDeleted.Has(a.UID), o.MaybeDeleted.Has(b.UID)),
			cmp.Compare(o.ageRank(readySince(a)), o.ageRank(readySince(b))),
			cmp.Compare(restarts(b), restarts(a)),
			cmp.Compare(sidecarRestarts(b), sidecarRestarts(a)),
			cmp.Compare(o.ageRank(a.CreationTimestamp.Time), o.ageRank(b.CreationTimestamp.Time)),
			cmp.Compare(a.UID, b.UID),
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

// deletionCost reads the annotation. A value that is not a 32-bit integer means 0, as in a ReplicaSet.
func deletionCost(pod *corev1.Pod) int {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int(cost)
}

// readySince returns since when a pod is Ready. It is zero for all pods that are not, so that they are equal.
func readySince(pod *corev1.Pod) time.Time {
	if !pods.IsReady(pod) {
		return time.Time{}
	}
	return pods.ReadySince(pod)
}

// ageRank ranks a time by its age: the base 2 logarithm of the nanoseconds. An unknown time comes first, then one in
// the future.
func (o Observation) ageRank(t time.Time) int {
	switch age := o.Now.Sub(t); {
	case t.IsZero():
		return -2
	case age <= 0:
		return -1
	default:
		return int(math.Log2(float64(age)))
	}
}

// restarts returns the largest number of restarts among the containers of a pod.
func restarts(pod *corev1.Pod) int32 {
	most := int32(0)
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}

// sidecarRestarts returns the largest number of restarts among the sidecars of a pod.
func sidecarRestarts(pod *corev1.Pod) int32 {
	sidecars, most := sets.New[string](), int32(0)
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; pods.IsSidecar(c) {
			sidecars.Insert(c.Name)
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		if s := &pod.Status.InitContainerStatuses[i]; sidecars.Has(s.Name) {
			most = max(most, s.RestartCount)
		}
	}
	return most
}
