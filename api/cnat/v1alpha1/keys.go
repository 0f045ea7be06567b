// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Keys of labels and annotations.
const (
	// LabelAt is the name of the At that a pod was created for. It is only for users and selectors: a pod belongs to the At
	// whose UID is in its controller reference.
	LabelAt = "cnat.d2iq.com/at"
	// LabelUID is the UID of the At that a pod was created for.
	LabelUID = "cnat.d2iq.com/at-uid"
	// LabelRehearsal has the name of the At that a pod rehearses. Such a pod has no other label, because Services and workloads may select by
	// those of the template.
	LabelRehearsal = "cnat.d2iq.com/rehearsal"
	// AnnotationAttempt is the number of the attempt that the pod runs, from 1.
	AnnotationAttempt = "cnat.d2iq.com/attempt"
	// AnnotationContainer is the name of the container that runs the command.
	AnnotationContainer = "cnat.d2iq.com/container"
	// AnnotationGeneration is the generation of the At that the pod was created from.
	AnnotationGeneration = "cnat.d2iq.com/generation"
	// AnnotationRequestedBy is the name of the user who created the At, as kubectl at writes it. The operator only logs it.
	AnnotationRequestedBy = "cnat.d2iq.com/requested-by"
	// AnnotationApprovedBy is the name of the user who approved the At. The admission policy of two keys checks it.
	AnnotationApprovedBy = "cnat.d2iq.com/approved-by"
)

// StartGate is the scheduling gate of a pod whose attempt has not started. No scheduler binds a pod that has a gate. The operator removes the
// gate to start the command, after it has recorded the UID of the pod in the status.
const StartGate = "cnat.d2iq.com/start"
