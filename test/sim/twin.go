// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// counts are the pods that were created for PodSets or opened for Ats, and those of them that the operator deleted. P8: with faults, they are
// as many as in a twin without faults.
type counts struct{ creates, deletes int }

func (e *env) counts() counts {
	opened := map[types.UID]bool{}
	for _, change := range e.store.log {
		if pod, ok := change.Object.(*corev1.Pod); ok && invariants.ControllerOf(pod) != "" && !invariants.IsGated(pod) {
			opened[pod.UID] = true
		}
	}
	deleted := map[types.UID]bool{}
	for _, w := range e.writes {
		if w.Verb == "delete" && w.Resource == pods && w.Committed() && opened[w.UID] {
			deleted[w.UID] = true
		}
	}
	return counts{len(opened), len(deleted)}
}

// createLasting creates an At without deadlines: a fault can delay it, but not end it.
func (e *env) createLasting(random *rand.Rand) {
	at := &cnatv1alpha1.At{Spec: cnatv1alpha1.AtSpec{Schedule: schedule(random, e.now()), Command: command(random)}}
	at.Name, at.Spec.BackoffLimit = "x", ptr.To(random.Int32N(3))
	e.create(at, " for "+at.Spec.Schedule)
}

// endOfPod decides how a pod ends in a scenario that has a twin. It depends only on the pod's attempt and slot, which no fault changes. The
// pod of an At ends with an exit code. The first pods of some slots of a PodSet fail.
func (e *env) endOfPod(pod *corev1.Pod) (code int32, ends bool) {
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return int32(hash(e.scenario.Seed, pod.Annotations[cnatv1alpha1.AnnotationAttempt]) >> 32 % 2), true //nolint:gosec // 0 or 1
	}
	slot := pod.Annotations[appv1alpha1.AnnotationSlot]
	failed := slices.ContainsFunc(e.store.log, func(change invariants.Event) bool {
		earlier, ok := change.Object.(*corev1.Pod)
		return ok && earlier.Status.Phase == corev1.PodFailed && earlier.Annotations[appv1alpha1.AnnotationSlot] == slot
	})
	return 1, !failed && hash(e.scenario.Seed, "slot "+slot)>>32%4 == 0
}
