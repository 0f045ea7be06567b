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
)

// Reasons of the condition Ready while the At waits or runs. Otherwise the condition has the reason of Scheduled or, after the end, of
// Complete or Failed.
const (
	// ReasonWouldBeRejected: the At waits, and the API server would reject its pod now, or admission would change the identity of the pod.
	// The message says why. The operator checks the pod again after 1 minute, doubling to 1 hour.
	ReasonWouldBeRejected = "WouldBeRejected"
	// ReasonNotChecked: the At waits, and the API server could not say whether it accepts the pod. The message says why: an admission
	// webhook does not respond, or does not support dry runs.
	ReasonNotChecked = "NotChecked"
	// ReasonAdmissionWarning: the At waits, and the API server would accept its pod with a warning, for example of Pod Security or of a policy,
	// or admission would shorten its activeDeadlineSeconds, or a pod of a deleted At has its name now.
	ReasonAdmissionWarning = "AdmissionWarning"
	// ReasonFailedStart: the attempt is recorded, and the API server rejected the removal of the scheduling gate of its pod. The command has
	// not started. The operator retries with back-off until startingDeadlineSeconds.
	ReasonFailedStart = "FailedStart"
	// ReasonRunning: the pod of the At exists.
	ReasonRunning = "Running"
	// ReasonPodWaiting: the pod has not started, and the message says what it waits for, such as ImagePullBackOff or Unschedulable.
	ReasonPodWaiting = "PodWaiting"
	// ReasonPodTerminating: the pod is being deleted, and its node has not confirmed that the command ended, for example because the node does
	// not respond. The command may still run.
	ReasonPodTerminating = "PodTerminating"
	// ReasonContainersRunning: the command has ended, and other containers of the pod still run.
	ReasonContainersRunning = "ContainersRunning"
)

// Reasons of the condition Scheduled.
const (
	// ReasonWaiting: the At waits for its time.
	ReasonWaiting = "Waiting"
	// ReasonStarted: the At was due and its pod was created.
	ReasonStarted = "Started"
	// ReasonSuspended: spec.suspend prevents the start.
	ReasonSuspended = "Suspended"
	// ReasonInvalidSchedule: spec.schedule is not a valid time. The message shows valid forms.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonInvalidCommand: spec.command cannot be split into words, or there is neither a command nor a template. The message
	// says where the error is.
	ReasonInvalidCommand = "InvalidCommand"
	// ReasonInvalidTemplate: no pod can be created from spec.template. The message names the field and the remedy. The condition Ready also
	// has this reason while the At waits, if the API server's own validation rejects the pod.
	ReasonInvalidTemplate = "InvalidTemplate"
	// ReasonFailedCreate: the API server rejected the creation of the pod. The operator retries with back-off.
	ReasonFailedCreate = "FailedCreate"
	// ReasonRequestFailed: requests about the pod have failed for at least 5 s, but were not rejected: the API server or an admission webhook
	// does not work or does not respond. The operator retries with back-off. Once an attempt is recorded, the condition Ready has this reason.
	ReasonRequestFailed = "RequestFailed"
	// ReasonNamespaceTerminating: the namespace is being deleted, so no pod can be created in it.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonNameTaken: the pod of an older At of this name, or a pod of this At that is being deleted, still exists. This At starts when that
	// pod is gone.
	ReasonNameTaken = "NameTaken"
)

// Reasons of status.reason and of the conditions Complete and Failed.
const (
	// ReasonCompleted: the command exited with 0.
	ReasonCompleted = "Completed"
	// ReasonNonZeroExitCode: the command exited with a code other than 0.
	ReasonNonZeroExitCode = "NonZeroExitCode"
	// ReasonOOMKilled: the command was killed because it used more memory than its limit.
	ReasonOOMKilled = "OOMKilled"
	// ReasonStartError: the container runtime reported that the start of the command failed, for example because the program does not exist.
	// Runtimes also report this if the start fails after the command has begun, so it is not retried.
	ReasonStartError = "StartError"
	// ReasonEvicted: the node evicted the pod.
	ReasonEvicted = "Evicted"
	// ReasonPodFailed: the pod failed for a reason other than the exit code of the command: the node was lost or shut down, or
	// it rejected the pod.
	ReasonPodFailed = "PodFailed"
	// ReasonPodLost: the pod of the run, which could start, disappeared before the operator saw its end. The command may have run, and is not
	// run again.
	ReasonPodLost = "PodLost"
	// ReasonNotStarted: the pod of the run was deleted before it was bound to a node, so the command did not run.
	ReasonNotStarted = "NotStarted"
	// ReasonPodModified: admission changed the name of the pod, its controller reference, the name of the container that runs the command, a
	// restartPolicy, or removed its scheduling gate. The operator deleted the pod before it could start; otherwise the message says that the
	// command may have run.
	ReasonPodModified = "PodModified"
	// ReasonCanceled: spec.cancel stopped the At.
	ReasonCanceled = "Canceled"
	// ReasonPodNameConflict: a pod that the operator did not create for this At has the name of the pod of this At.
	ReasonPodNameConflict = "PodNameConflict"
	// ReasonMissedDeadline: the At could not start within startingDeadlineSeconds.
	ReasonMissedDeadline = "MissedDeadline"
	// ReasonDeadlineExceeded: the run took longer than activeDeadlineSeconds.
	ReasonDeadlineExceeded = "DeadlineExceeded"
)
