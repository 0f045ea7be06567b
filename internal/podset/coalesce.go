// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/pods"
)

// CanCoalesce reports whether an update of a pod changes only counts in the status, so that it can wait for other
// updates (rule 11).
func CanCoalesce(before, after *corev1.Pod) bool {
	return pods.OwnerUID(before) == pods.OwnerUID(after) &&
		(after.DeletionTimestamp == nil || before.DeletionTimestamp != nil) &&
		(!pods.IsFinished(after) || pods.IsFinished(before)) &&
		(!pods.IsReady(before) || pods.IsReady(after)) &&
		pods.WaitingReason(before) == pods.WaitingReason(after)
}
