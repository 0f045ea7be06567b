// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// readiness returns the condition Ready and, if the At cannot go on by itself, Stalled. because is the condition that decides:
// Complete or Failed once the At is done, and Scheduled before; temporary says that it changes by itself. Tools that wait for
// resources stop waiting when a resource is Stalled.
func readiness(phase cnatv1alpha1.Phase, because metav1.Condition, temporary bool) []metav1.Condition {
	ready := metav1.Condition{Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: because.Reason, Message: because.Message}
	stalled := ready
	stalled.Type, stalled.Status = cnatv1alpha1.ConditionStalled, metav1.ConditionTrue
	isTrue := because.Status == metav1.ConditionTrue
	switch {
	case because.Type == cnatv1alpha1.ConditionFailed:
		return []metav1.Condition{ready, stalled}
	case isTrue && phase == cnatv1alpha1.PhaseRunning:
		ready.Reason = cnatv1alpha1.ReasonRunning
	case isTrue, because.Reason == cnatv1alpha1.ReasonSuspended, because.Reason == cnatv1alpha1.ReasonPaused:
		ready.Status = metav1.ConditionTrue
	case !temporary:
		return []metav1.Condition{ready, stalled}
	}
	return []metav1.Condition{ready}
}
