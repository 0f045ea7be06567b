// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a PodSet. Each carries the generation that it was computed from. Ready and Stalled follow the conventions
// of kstatus (https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus).
const (
	// ConditionAvailable is True while at least spec.replicas pods are available: Ready for spec.minReadySeconds.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while pods are being created, deleted, or replaced, or are not Ready yet. It becomes False if that makes
	// no progress for spec.progressDeadlineSeconds.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while something keeps the PodSet from reaching its spec. The reason and the message explain it.
	ConditionDegraded = "Degraded"
	// ConditionReady is True while all pods exist, are available, and, unless the update strategy is OnDelete, match the template.
	// Its reason and message are those of Degraded if that keeps the PodSet from being Ready, and otherwise those of Progressing.
	// Tools that wait for resources read it, such as Flux and Helm.
	ConditionReady = "Ready"
	// ConditionStalled is True while the PodSet probably cannot reach its spec without a change by a user or an administrator: the
	// template is invalid, the API server rejects the pods, or nothing has changed for spec.progressDeadlineSeconds. It is absent
	// otherwise. The same tools read it to stop waiting.
	ConditionStalled = "Stalled"
)

// Reasons of the condition Available.
const (
	// ReasonEnoughReady: at least spec.replicas pods are available.
	ReasonEnoughReady = "EnoughReady"
	// ReasonTooFewReady: fewer than spec.replicas pods are available.
	ReasonTooFewReady = "TooFewReady"
)

// Reasons of the condition Progressing.
const (
	// ReasonStable: the pods match the spec.
	ReasonStable = "Stable"
	// ReasonTemplateUnknown: all pods are Ready, but it is not known whether they match the template, because their label and their
	// annotation template-hash were removed. The condition is Unknown.
	ReasonTemplateUnknown = "TemplateUnknown"
	// ReasonScaling: pods are being created or deleted to reach spec.replicas.
	ReasonScaling = "Scaling"
	// ReasonUpdating: pods of an older template are being replaced.
	ReasonUpdating = "Updating"
	// ReasonAwaitingReady: all pods exist and some are not available yet.
	ReasonAwaitingReady = "AwaitingReady"
	// ReasonTerminating: the PodSet is being deleted. The operator creates and deletes no pods for it.
	ReasonTerminating = "Terminating"
	// ReasonPaused: the pause annotation pauses the PodSet.
	ReasonPaused = "Paused"
	// ReasonProgressDeadlineExceeded: no pod was created, was deleted, or became available for spec.progressDeadlineSeconds, although the
	// pods do not match the spec. It is also a reason of the condition Degraded. The message names what the PodSet waits for.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons of the condition Ready, besides those of Degraded and Progressing.
const (
	// ReasonAwaitingOperator: no operator has seen the PodSet yet. The condition is Unknown.
	ReasonAwaitingOperator = "AwaitingOperator"
)

// Reasons of the condition Degraded.
const (
	// ReasonAsExpected: no problem is known.
	ReasonAsExpected = "AsExpected"
	// ReasonFailedCreate: the API server rejected the creation of a pod, or returned an error. The operator retries with back-off.
	ReasonFailedCreate = "FailedCreate"
	// ReasonFailedDelete: the API server rejected the deletion of a pod, or returned an error. The operator retries with back-off.
	ReasonFailedDelete = "FailedDelete"
	// ReasonPodsFinished: pods have finished (Failed, Evicted, or Succeeded) and are replaced.
	ReasonPodsFinished = "PodsFinished"
	// ReasonPodsWaiting: containers cannot start or do not keep running. The message summarizes the reasons.
	ReasonPodsWaiting = "PodsWaiting"
)
