// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase is the stage of an At. It only moves forward: PENDING, RUNNING, DONE.
// +kubebuilder:validation:Enum=PENDING;RUNNING;DONE
type Phase string

const (
	// PhasePending means that the At waits for its time.
	PhasePending Phase = "PENDING"
	// PhaseRunning means that the start of the command is recorded.
	PhaseRunning Phase = "RUNNING"
	// PhaseDone means that the At has ended, with a result.
	PhaseDone Phase = "DONE"
)

// Result is the outcome of an At.
// +kubebuilder:validation:Enum=Succeeded;Failed
type Result string

const (
	// ResultSucceeded means that the command exited with 0.
	ResultSucceeded Result = "Succeeded"
	// ResultFailed means that the command failed or was not run, with a reason.
	ResultFailed Result = "Failed"
)

// AtSpec is the desired state of an At.
// +kubebuilder:validation:XValidation:rule="!oldSelf.?cancel.orValue(false) || self.?cancel.orValue(false)",fieldPath=".cancel",message="spec.cancel cannot change from true to false, and cannot be removed: create another At to run the command"
// +kubebuilder:validation:XValidation:rule="has(self.command) || has(self.template)",fieldPath=".command",reason=FieldValueRequired,message="spec.command is required without a template: set spec.command to the program to run, or set spec.template, whose first container then runs its own command or the entrypoint of its image"
// +kubebuilder:validation:XValidation:rule="!has(self.command) || (!self.?template.?spec.?containers[?0].?command.hasValue() && !self.?template.?spec.?containers[?0].?args.hasValue())",fieldPath=".template",message="spec.template.spec.containers[0] must not set command or args, because it runs spec.command: remove them, or remove spec.command"
// +kubebuilder:validation:XValidation:rule="!self.?uninterrupted.orValue(false) || self.?activeDeadlineSeconds.orValue(86401) <= 86400",fieldPath=".activeDeadlineSeconds",message="spec.activeDeadlineSeconds must be at most 86400 (a day) with spec.uninterrupted, because the maintenance of a node waits until the run ends: set it to the number of seconds that the run may take"
type AtSpec struct {
	// schedule is when to run: an RFC 3339 time such as "2030-01-30T10:02:00Z" (any offset, fractions of a second), or "now", or
	// "now + N seconds|minutes|hours|days|weeks" (N up to 999999999; the singular is allowed) after metadata.creationTimestamp. If the
	// time has passed, the At runs at once. At most 64 characters. It can only be changed to an RFC 3339 time.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`self.matches('^(?:(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])|now(?: *[+] *([0-9]{1,9}) *(second|minute|hour|day|week)s?)?)$')`,message=`spec.schedule must be a time such as 2030-01-30T10:02:00Z (RFC 3339, a day of the calendar, with Z or an offset), or now, or now + 5 minutes (seconds, minutes, hours, days or weeks)`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || !self.startsWith('now')",message="spec.schedule can only be changed to a time such as 2030-01-30T10:02:00Z: now would count from the creation of the At, not from this change"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Schedule",xDescriptors={"urn:alm:descriptor:text"},order=1
	Schedule string `json:"schedule,omitempty"`

	// command is the program to run and its arguments, split into words as a POSIX shell does (quotes and backslashes), without
	// expansion. For pipes and variables, use sh -c '...'. 1 to 32768 characters. If absent, the first container of the template runs
	// its own command and args or the entrypoint of its image. Required without a template.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(?:[^\x5c\x27\x22\x00]|\x5c[^\x00]|\x27[^\x27\x00]*\x27|\x22(?:[^\x22\x5c\x00]|\x5c[^\x00])*\x22)*$')`,message=`spec.command must close every quote, end without a lone backslash and hold no NUL character: to pass a quote or a backslash itself, put a backslash before it`
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(?:[\x09\x0a\x20]|\x5c\x0a)*(?:\x27\x27|\x22(?:\x5c\x0a)*\x22|\x5c\x0a)*(?:[^\x5c\x27\x22\x09\x0a\x20]|\x5c[^\x0a]|\x27[^\x27]|\x22(?:\x5c\x0a)*(?:[^\x22\x5c]|\x5c[^\x0a]))')`,message=`spec.command must begin with the program to run: its first word is missing or empty`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Command",xDescriptors={"urn:alm:descriptor:text"},order=2
	Command string `json:"command,omitempty"`

	// template is the pod template. Its first container runs spec.command and determines the exit code. If spec.command is
	// given, this container must not set command or args. The restartPolicy of the pod and of its containers is Never or
	// absent, and no container has restartPolicyRules. Init containers may have any restartPolicy, so sidecars work. The pod must not set
	// nodeName: use nodeSelector. If absent, the pod has one busybox container, which gets the proxy variables of the operator.
	// +optional
	// +kubebuilder:validation:XValidation:rule="size(self.?spec.?containers.orValue([])) > 0",message="spec.template.spec.containers must name at least one container: the first one runs the command"
	// +kubebuilder:validation:XValidation:rule="self.?spec.?restartPolicy.orValue('Never') == 'Never'",message="spec.template.spec.restartPolicy must be Never, or absent: an At runs its command once"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || self.spec.containers.all(c, c.?restartPolicy.orValue('Never') == 'Never' && !has(c.restartPolicyRules))",message="spec.template.spec.containers must not set restartPolicy other than Never, nor restartPolicyRules: an At runs its command once"
	// +kubebuilder:validation:XValidation:rule="!self.?spec.?initContainers.hasValue() || self.spec.initContainers.all(c, !has(c.restartPolicyRules))",message="spec.template.spec.initContainers must not set restartPolicyRules, which can restart all containers: an At runs its command once"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.nodeName) || self.spec.nodeName == ''",message="spec.template.spec.nodeName must be absent, because the pod could start before its time: use nodeSelector with the label kubernetes.io/hostname"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// suspend prevents the start of the At, but does not affect an At that has started. An At that is resumed after its time runs at
	// once, within startingDeadlineSeconds. Default false.
	// +optional
	// +kubebuilder:default=false
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Suspend",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Suspend *bool `json:"suspend,omitempty"`

	// startingDeadlineSeconds is the number of whole seconds after its time within which the command may start, 0 or more. After
	// that, a pod that has not started it is stopped, and the At ends as Failed, with reason MissedDeadline if the command provably did not
	// run. A suspended At ends so when it is resumed. If absent, there is no deadline.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9000000000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Starting deadline (seconds)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// activeDeadlineSeconds is the number of seconds that the run may take, 1 or more, including the time to find a node and
	// to pull images. After that, the run is stopped and the At ends as Failed with reason DeadlineExceeded. If absent,
	// there is no deadline.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Active deadline (seconds)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// uninterrupted keeps drains, node upgrades, and autoscalers from evicting the pod while the command runs: a PodDisruptionBudget of the At
	// exists from before the start until the end. It requires activeDeadlineSeconds of at most a day, because maintenance waits until the run ends. It does
	// not prevent the loss of the node, preemption, an eviction for a lack of memory or disk, or the deletion of the pod. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Uninterrupted",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Uninterrupted *bool `json:"uninterrupted,omitempty"`

	// cancel stops the At and keeps its record: the At ends as Failed with reason Canceled, with the exit code and the output that its
	// pod reports. It prevents the start, or stops a command that runs and keeps its pod with the log, and prevents retries. A command that
	// exited with 0 before is Completed. Cancel takes precedence over suspend, has no effect on an At that is DONE, and cannot be changed back to
	// false. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cancel",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Cancel *bool `json:"cancel,omitempty"`

	// backoffLimit is the number of retries after a failure, 0 to 10. Each retry runs in a new pod; the older pods remain for their
	// logs. An attempt is retried only with proof that the command failed with an exit code, or did not run. A pod that disappeared or
	// a lost node is not proof. Default 0: the command runs at most once. docs/at-most-once.md of
	// https://github.com/redhat/podset-operator lists the exceptions.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Retries",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// retryExitCodes are the exit codes of the command after which it is retried, if backoffLimit allows it: 1 to 16 codes, each 1 to
	// 255. A failure with another or an unknown exit code is not retried. A pod that never started the command is always retried. If
	// absent, every failure is retried.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Exit codes to retry",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	RetryExitCodes []int32 `json:"retryExitCodes,omitempty"`

	// ttlSecondsAfterFinished is the number of seconds after its end when the At is deleted with its pods, 0 or more. If
	// absent, it is not deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Time to live after the end (seconds)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// AtStatus is the observed state of an At, and the record of its run.
type AtStatus struct {
	// phase is PENDING until the start of the command is recorded, then RUNNING, and DONE after success or failure.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"}
	Phase Phase `json:"phase,omitempty"`

	// result is Succeeded or Failed once the phase is DONE.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Result",xDescriptors={"urn:alm:descriptor:text"}
	Result Result `json:"result,omitempty"`

	// reason is the reason for the result in one word, such as Completed, NonZeroExitCode, or MissedDeadline.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Reason",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase:reason"}
	Reason string `json:"reason,omitempty"`

	// exitCode is the exit code of the command of the newest attempt, if it is proven.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Exit code",xDescriptors={"urn:alm:descriptor:text"}
	ExitCode *int32 `json:"exitCode,omitempty"`

	// output is the termination message of the command, or of an init container whose failure prevented it, at most 2 KiB: the content of its
	// termination log or, if that is empty and it failed, the end of its log.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Output",xDescriptors={"urn:alm:descriptor:text"}
	Output string `json:"output,omitempty"`

	// scheduledTime is the time that results from spec.schedule.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Scheduled time",xDescriptors={"urn:alm:descriptor:text"}
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`

	// startTime is when the first attempt was recorded, immediately before its pod could start.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Start time",xDescriptors={"urn:alm:descriptor:text"}
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the operator recorded the end.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Completion time",xDescriptors={"urn:alm:descriptor:text"}
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// podName is the name of the pod of the newest attempt.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pod",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"}
	PodName string `json:"podName,omitempty"`

	// podUID is the UID of that pod. The operator starts only the pod that is recorded here: the condition CommandRan
	// answers whether the command ran.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pod UID",xDescriptors={"urn:alm:descriptor:text"}
	PodUID types.UID `json:"podUID,omitempty"`

	// attempts is the number of attempts that have begun: 1, and one more for each retry. It is written with podUID, before the pod can start.
	// From then on the spec cannot change what runs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=11
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Attempts",xDescriptors={"urn:alm:descriptor:text"}
	Attempts int32 `json:"attempts,omitempty"`

	// retryTime is when the next attempt is due. It is set when the newest attempt has failed and retries are left.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Retry time",xDescriptors={"urn:alm:descriptor:text"}
	RetryTime *metav1.Time `json:"retryTime,omitempty"`

	// observedGeneration is the generation of the spec that this status was computed from. -1: the operator has not seen the
	// At yet.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:text"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Scheduled, Complete, Failed, Ready, and Stalled, each with a reason and a message.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// It is expensive to compare templates. The rules of At do not compare anything if the phase changes, because a request that changes the
// phase writes the status and cannot change the spec.

// At runs one command once, at one time, and reports the result: at(1) for Kubernetes.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`,description="When to run"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="PENDING, RUNNING, or DONE"
// +kubebuilder:printcolumn:name="Due",type=string,JSONPath=`.status.scheduledTime`,description="The time that results from the schedule"
// +kubebuilder:printcolumn:name="Result",type=string,JSONPath=`.status.result`,description="Succeeded or Failed"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="What the At waits for, or how it ended"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Exit",type=integer,JSONPath=`.status.exitCode`,priority=1,description="Exit code of the command"
// +kubebuilder:printcolumn:name="Pod",type=string,JSONPath=`.status.podName`,priority=1,description="Newest pod of the run"
// +kubebuilder:printcolumn:name="Started",type=date,JSONPath=`.status.startTime`,priority=1
// +kubebuilder:printcolumn:name="Finished",type=date,JSONPath=`.status.completionTime`,priority=1
// +kubebuilder:printcolumn:name="Command",type=string,JSONPath=`.spec.command`,priority=1
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.?attempts.orValue(0) == 0 || !has(oldSelf.status.phase) || self.?status.?phase.orValue('PENDING') != oldSelf.status.phase || self.spec.schedule == oldSelf.spec.schedule",fieldPath=".spec.schedule",message="spec.schedule cannot change once the At has started: delete it and create another"
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.?attempts.orValue(0) == 0 || !has(oldSelf.status.phase) || self.?status.?phase.orValue('PENDING') != oldSelf.status.phase || (has(self.spec.command) == has(oldSelf.spec.command) && (!has(self.spec.command) || self.spec.command == oldSelf.spec.command))",fieldPath=".spec.command",message="spec.command cannot change once the At has started: delete it and create another"
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.?attempts.orValue(0) == 0 || !has(oldSelf.status.phase) || self.?status.?phase.orValue('PENDING') != oldSelf.status.phase || (has(self.spec.template) == has(oldSelf.spec.template) && (!has(self.spec.template) || self.spec.template == oldSelf.spec.template))",fieldPath=".spec.template",message="spec.template cannot change once the At has started: delete it and create another"
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.?attempts.orValue(0) == 0 || !has(oldSelf.status.phase) || self.?status.?phase.orValue('PENDING') != oldSelf.status.phase || self.?spec.?backoffLimit.orValue(0) == oldSelf.?spec.?backoffLimit.orValue(0)",fieldPath=".spec.backoffLimit",message="spec.backoffLimit cannot change once the At has started: delete it and create another"
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.?attempts.orValue(0) == 0 || !has(oldSelf.status.phase) || self.?status.?phase.orValue('PENDING') != oldSelf.status.phase || (has(self.spec.retryExitCodes) == has(oldSelf.spec.retryExitCodes) && (!has(self.spec.retryExitCodes) || self.spec.retryExitCodes == oldSelf.spec.retryExitCodes))",fieldPath=".spec.retryExitCodes",message="spec.retryExitCodes cannot change once the At has started: delete it and create another"
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.?attempts.orValue(0) == 0 || !has(oldSelf.status.phase) || self.?status.?phase.orValue('PENDING') != oldSelf.status.phase || (has(self.spec.activeDeadlineSeconds) == has(oldSelf.spec.activeDeadlineSeconds) && (!has(self.spec.activeDeadlineSeconds) || self.spec.activeDeadlineSeconds == oldSelf.spec.activeDeadlineSeconds))",fieldPath=".spec.activeDeadlineSeconds",message="spec.activeDeadlineSeconds cannot change once the At has started, because its pod has the deadline already: delete it and create another"
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.?attempts.orValue(0) == 0 || !has(oldSelf.status.phase) || self.?status.?phase.orValue('PENDING') != oldSelf.status.phase || self.?spec.?uninterrupted.orValue(false) == oldSelf.?spec.?uninterrupted.orValue(false)",fieldPath=".spec.uninterrupted",message="spec.uninterrupted cannot change once the At has started: delete it and create another"
// +operator-sdk:csv:customresourcedefinitions:displayName="At",resources={{Pod,v1},{PodDisruptionBudget,v1},{Event,v1}}
type At struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state. schedule, command, template, activeDeadlineSeconds, uninterrupted, backoffLimit, and retryExitCodes can be changed until
	// the At has started, which is when status.attempts becomes 1.
	// +required
	Spec AtSpec `json:"spec,omitzero"`

	// status is the observed state, and the record of the run.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1,"conditions":{{"type":"Ready","status":"Unknown","reason":"AwaitingOperator","message":"no operator has seen this object: check that podset-operator runs, and that it serves this namespace","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status AtStatus `json:"status,omitzero"`
}

// AtList is a list of Ats.
// +kubebuilder:object:root=true
type AtList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []At `json:"items"`
}
