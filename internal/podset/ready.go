// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// readiness returns the condition Ready and, if the PodSet cannot reach its spec by itself, Stalled. Both repeat the
// conditions Progressing and Degraded for tools that do not read those.
func readiness(o Observation, s appv1alpha1.PodSetStatus, available int, outcome Outcome, progressing, degraded metav1.Condition) []metav1.Condition {
	ready := metav1.Condition{Type: appv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: progressing.Reason, Message: progressing.Message}
	if isComplete(o, s, available) {
		ready.Status = metav1.ConditionTrue
		return []metav1.Condition{ready}
	}
	if progressing.Status == metav1.ConditionUnknown {
		ready.Status = metav1.ConditionUnknown
		return []metav1.Condition{ready}
	}
	if degraded.Status != metav1.ConditionTrue || o.readOnly() {
		return []metav1.Condition{ready}
	}
	ready.Reason, ready.Message = degraded.Reason, degraded.Message
	if !isStalled(o, s, outcome, progressing, degraded) {
		return []metav1.Condition{ready}
	}
	stalled := ready
	stalled.Type, stalled.Status = appv1alpha1.ConditionStalled, metav1.ConditionTrue
	return []metav1.Condition{ready, stalled}
}

// isComplete reports whether all pods exist, are available, and are of the current template. With OnDelete, pods of an
// older template remain until a user deletes them.
func isComplete(o Observation, s appv1alpha1.PodSetStatus, available int) bool {
	updated := s.UpdatedReplicas == s.Replicas || o.Set.Spec.UpdateStrategy.Type == appv1alpha1.OnDelete
	return o.Set.DeletionTimestamp == nil && int(s.Replicas) == o.desired() && available == o.desired() && updated
}

// isStalled reports whether only a change by a user or an administrator is likely to help: the API server rejects the
// pods, or the progress deadline has passed. While pods are terminating, a rejection may be temporary, because a
// terminating pod still uses quota. An error other than a rejection may be temporary, too.
func isStalled(o Observation, s appv1alpha1.PodSetStatus, outcome Outcome, progressing, degraded metav1.Condition) bool {
	switch {
	case progressing.Reason == appv1alpha1.ReasonProgressDeadlineExceeded:
		return true
	case degraded.Reason == appv1alpha1.ReasonFailedCreate:
		return s.TerminatingReplicas == 0 && (outcome.Rejected != nil || outcome.CreateError == nil && !o.Rejection.Failed)
	}
	return false
}
