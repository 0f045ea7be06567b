// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of an At. Complete and Failed are those of a Job.
const (
	// ConditionScheduled is False while the At cannot wait for its time: it is suspended, or its schedule, command or
	// template is unusable, or something stops its pod from being made; the reason says which.
	ConditionScheduled = "Scheduled"
	// ConditionComplete is True once the command has succeeded.
	ConditionComplete = "Complete"
	// ConditionFailed is True once the At has ended without success.
	ConditionFailed = "Failed"
)

// Reasons of the condition Scheduled.
const (
	// ReasonWaiting: the At waits for its time.
	ReasonWaiting = "Waiting"
	// ReasonStarted: the time came and the pod was made.
	ReasonStarted = "Started"
	// ReasonEditedTooLate: the time came and the pod was created, and schedule, command, or template were edited before the
	// run was recorded. The pod runs an earlier generation of the spec; the message names it.
	ReasonEditedTooLate = "EditedTooLate"
	// ReasonSuspended: spec.suspend holds the At.
	ReasonSuspended = "Suspended"
	// ReasonPaused: the pause annotation holds the At.
	ReasonPaused = "Paused"
	// ReasonInvalidSchedule: spec.schedule is no time; the message says what would be one.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonInvalidCommand: spec.command cannot be split into words; the message says where it breaks.
	ReasonInvalidCommand = "InvalidCommand"
	// ReasonInvalidTemplate: spec.template cannot make a pod; the message names the field and the remedy.
	ReasonInvalidTemplate = "InvalidTemplate"
	// ReasonFailedCreate: the API server refused to create the pod; it is tried again with back-off.
	ReasonFailedCreate = "FailedCreate"
	// ReasonNameTaken: the pod of an older At of this name is still going; this At starts when it is gone.
	ReasonNameTaken = "NameTaken"
)

// Reasons of status.reason and of the conditions Complete and Failed.
const (
	// ReasonCompleted: the command exited with 0.
	ReasonCompleted = "Completed"
	// ReasonNonZeroExitCode: the command exited with another code than 0.
	ReasonNonZeroExitCode = "NonZeroExitCode"
	// ReasonOOMKilled: the command was killed because it used more memory than its limit.
	ReasonOOMKilled = "OOMKilled"
	// ReasonStartError: the command could not be started: no such program, or one that cannot be run.
	ReasonStartError = "StartError"
	// ReasonEvicted: the node evicted the pod.
	ReasonEvicted = "Evicted"
	// ReasonPodFailed: the pod failed and no exit code of the command decides (node lost or shut down, pod refused by the node).
	ReasonPodFailed = "PodFailed"
	// ReasonPodLost: the pod of the run disappeared before its end was seen; the command is not run again.
	ReasonPodLost = "PodLost"
	// ReasonPodNameConflict: a pod that is not this At's has the name that this At's pod must have.
	ReasonPodNameConflict = "PodNameConflict"
	// ReasonMissedDeadline: startingDeadlineSeconds had passed when the At could have started.
	ReasonMissedDeadline = "MissedDeadline"
	// ReasonDeadlineExceeded: the run took longer than activeDeadlineSeconds.
	ReasonDeadlineExceeded = "DeadlineExceeded"
)
