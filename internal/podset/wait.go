// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CanWait tells whether an update of a pod asks for nothing but newer counts in the status, so that it may wait a
// moment for others (rule 11).
func CanWait(before, after *corev1.Pod) bool {
	return controllerOf(before) == controllerOf(after) &&
		(after.DeletionTimestamp == nil || before.DeletionTimestamp != nil) &&
		(!isFinished(after) || isFinished(before)) &&
		(!isReady(before) || isReady(after)) &&
		waitingReason(before) == waitingReason(after)
}

func controllerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}
