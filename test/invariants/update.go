// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// transition is when a pod of a PodSet became Ready, stopped being Ready, or ended. by is the delete by the operator, or zero if there was none.
type transition struct {
	seen time.Time
	by   Write
}

// noteTransition records a transition of an active pod, and checks P16. deletes is true if the operator has deleted the pod.
func (c *Checker) noteTransition(set *appv1alpha1.PodSet, before, pod *corev1.Pod, deletes bool) {
	w, deletion := c.window(set), c.deletes[pod.UID]
	switch {
	case deletes && !c.now.Seen.Before(deletion.Sent):
		w.transitions = append(w.transitions, transition{c.now.Seen, deletion})
		if !c.modified(c.byUID[pod.UID]) { // Such a pod must be removed: P15.
			c.keepsAvailable(set, before, deletion)
		}
	case isReady(before) != isReady(pod) || !c.state.IsActive(pod):
		w.transitions = append(w.transitions, transition{seen: c.now.Seen})
	}
}

// isOutdated reports whether the operator may not have seen the last state of a PodSet and its pods when it decided on a write: its caches
// were behind, or a pod has changed in this way since then, other than by writes of the same reconcile.
func (c *Checker) isOutdated(set *appv1alpha1.PodSet, write Write) bool {
	return c.LaggingPods || write.StalePods || write.isStale() || slices.ContainsFunc(c.window(set).transitions, func(t transition) bool {
		return !t.seen.Before(write.Sent) && (t.by.Process != write.Process || !t.by.Sent.Equal(write.Sent))
	})
}

// keepsAvailable checks that the deletion of an available pod of an older template leaves enough available pods: P16. It cannot be judged if
// something else has changed the PodSet or its pods since the operator decided.
func (c *Checker) keepsAvailable(set *appv1alpha1.PodSet, before *corev1.Pod, deletion Write) {
	availableBy := func(pod *corev1.Pod, now time.Time) bool {
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		return isReady(pod) && (set.Spec.MinReadySeconds == 0 || now.Sub(pod.Status.Conditions[i].LastTransitionTime.Time) >= time.Duration(set.Spec.MinReadySeconds)*time.Second)
	}
	current, now := c.revisions[set.UID][set.Generation], deletion.Sent.Add(c.ahead(deletion.Sent))
	if c.isOutdated(set, deletion) || !c.window(set).changed.Before(deletion.Sent) || current.image == CommandContainer(before).Image || !availableBy(before, now.Add(-c.clockError())) {
		return
	}
	unavailable := 1
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil {
		unavailable = rolling.MaxUnavailable.IntValue()
	}
	left := count(c.state.Active(set.UID), func(pod *corev1.Pod) bool { return availableBy(pod, now.Add(clockError)) })
	c.check("P16", left >= replicas(set)-unavailable, "PodSet "+set.Name, "pod %s was deleted although only %d of %d pods are available without it", before.Name, left, replicas(set))
}
