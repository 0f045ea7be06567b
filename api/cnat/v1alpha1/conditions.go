// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of an At. Complete and Failed have the same meaning as in a Job. Ready and Stalled follow the conventions of
// kstatus (https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus).
const (
	// ConditionScheduled is False while the At cannot start at its time: it is suspended, its schedule, command, or
	// template is invalid, or its pod cannot be created. The reason says which.
	ConditionScheduled = "Scheduled"
	// ConditionComplete is True once the command has succeeded.
	ConditionComplete = "Complete"
	// ConditionFailed is True once the At has ended without success.
	ConditionFailed = "Failed"
	// ConditionReady is True while nothing has to be done: the At waits for its time, is suspended, or has succeeded. It is
	// False while the At runs, and after it has failed. Tools that wait for resources read it, such as Flux and Helm.
	ConditionReady = "Ready"
	// ConditionStalled is True while the At cannot go on without a change by a user or an administrator: it has failed, it is
	// invalid, or its pod is, or would be, rejected. It is absent otherwise. The same tools read it to stop waiting.
	ConditionStalled = "Stalled"
	// ConditionFinished is True once the At has ended, with the reason of the end: kubectl wait --for=condition=Finished returns at each end.
	ConditionFinished = "Finished"
	// ConditionCommandRan answers whether the command ran in any attempt: True, False, or Unknown. It is absent until that is known, at the
	// latest until the end.
	ConditionCommandRan = "CommandRan"
)

// Reasons of the condition CommandRan.
const (
	ReasonCommandEnded   = "CommandEnded"
	ReasonCommandNotRun  = "CommandNotRun"
	ReasonCommandUnknown = "CommandUnknown"
)

// Reasons of the condition Ready while the At waits or runs. Otherwise the condition has the reason of Scheduled or, after the end, of
// Complete or Failed. docs/reference.md of https://github.com/redhat/podset-operator explains all reasons.
const (
	ReasonAwaitingOperator  = "AwaitingOperator" // No operator has seen the At: the condition is Unknown.
	ReasonWouldBeRejected   = "WouldBeRejected"
	ReasonNotChecked        = "NotChecked"
	ReasonAdmissionWarning  = "AdmissionWarning"
	ReasonFailedStart       = "FailedStart"
	ReasonRunning           = "Running"
	ReasonBackOff           = "BackOff"
	ReasonFailedStop        = "FailedStop"
	ReasonFailedDelete      = "FailedDelete"
	ReasonPodWaiting        = "PodWaiting"
	ReasonPodTerminating    = "PodTerminating"
	ReasonContainersRunning = "ContainersRunning"
)

// Reasons of the condition Scheduled.
const (
	ReasonWaiting              = "Waiting"
	ReasonStarted              = "Started"
	ReasonSuspended            = "Suspended"
	ReasonInvalidSchedule      = "InvalidSchedule"
	ReasonInvalidCommand       = "InvalidCommand"
	ReasonInvalidTemplate      = "InvalidTemplate"
	ReasonFailedCreate         = "FailedCreate"
	ReasonRequestFailed        = "RequestFailed"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	ReasonNameTaken            = "NameTaken"
	ReasonPodNameConflict      = "PodNameConflict"
)

// Reasons of status.reason and of the conditions Complete and Failed.
const (
	ReasonCompleted        = "Completed"
	ReasonNonZeroExitCode  = "NonZeroExitCode"
	ReasonOOMKilled        = "OOMKilled"
	ReasonStartError       = "StartError"
	ReasonEvicted          = "Evicted"
	ReasonRanAgain         = "RanAgain"
	ReasonPodFailed        = "PodFailed"
	ReasonPodLost          = "PodLost"
	ReasonNotStarted       = "NotStarted"
	ReasonPodModified      = "PodModified"
	ReasonCanceled         = "Canceled"
	ReasonMissedDeadline   = "MissedDeadline"
	ReasonDeadlineExceeded = "DeadlineExceeded"
)
