// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Condition types of a PodSet. Each carries the generation that it was computed from.
const (
	// ConditionAvailable is True while at least spec.replicas pods are Ready.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while pods are being created, deleted, replaced or awaited.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while something keeps the set from what its spec asks for; the reason and the message say what.
	ConditionDegraded = "Degraded"
)

// Reasons of the condition Available.
const (
	// ReasonEnoughReady: as many pods are Ready as spec.replicas asks for.
	ReasonEnoughReady = "EnoughReady"
	// ReasonTooFewReady: fewer pods are Ready than spec.replicas asks for.
	ReasonTooFewReady = "TooFewReady"
)

// Reasons of the condition Progressing.
const (
	// ReasonStable: the pods are what the spec asks for.
	ReasonStable = "Stable"
	// ReasonScaling: pods are being created or deleted to reach spec.replicas.
	ReasonScaling = "Scaling"
	// ReasonUpdating: pods of an older template are being replaced.
	ReasonUpdating = "Updating"
	// ReasonAwaitingReady: all pods exist and some are not Ready yet.
	ReasonAwaitingReady = "AwaitingReady"
	// ReasonTerminating: the PodSet is being deleted; nothing is created or deleted for it.
	ReasonTerminating = "Terminating"
	// ReasonPaused: the pause annotation holds the PodSet.
	ReasonPaused = "Paused"
)

// Reasons of the condition Degraded.
const (
	// ReasonAsExpected: nothing is known to be wrong.
	ReasonAsExpected = "AsExpected"
	// ReasonInvalidTemplate: spec.template cannot keep pods running; the message names the field and the remedy.
	ReasonInvalidTemplate = "InvalidTemplate"
	// ReasonFailedCreate: the API server refused to create a pod; it is tried again with back-off.
	ReasonFailedCreate = "FailedCreate"
	// ReasonFailedDelete: the API server refused to delete a pod; it is tried again with back-off.
	ReasonFailedDelete = "FailedDelete"
	// ReasonPodsFinished: pods ended (Failed, Evicted or Succeeded) and are replaced.
	ReasonPodsFinished = "PodsFinished"
	// ReasonPodsWaiting: containers cannot start or cannot stay up; the message aggregates why.
	ReasonPodsWaiting = "PodsWaiting"
)

// Keys of labels and annotations that the operator sets on pods of a PodSet.
const (
	// LabelPodSet names the PodSet that a pod was made for. It is for people and selectors: a pod belongs to the
	// PodSet whose UID is in its controller reference.
	LabelPodSet = "app.example.com/podset"
	// AnnotationSlot is the number of the place that the pod fills, from 0.
	AnnotationSlot = "app.example.com/slot"
	// AnnotationAttempt counts the pods of one slot whose names were taken when this one was made, from 0.
	AnnotationAttempt = "app.example.com/attempt"
	// AnnotationTemplateHash is the hash of the spec.template that the pod was made from.
	AnnotationTemplateHash = "app.example.com/template-hash"
	// AnnotationPaused holds a PodSet while its value is true: nothing is created, deleted or updated for it.
	AnnotationPaused = "app.example.com/paused"
)

// UpdateStrategyType says what happens to pods of an older template.
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
type UpdateStrategyType string

const (
	// RollingUpdate replaces pods of an older template, a few at a time.
	RollingUpdate UpdateStrategyType = "RollingUpdate"
	// OnDelete leaves pods of an older template alone until somebody deletes them.
	OnDelete UpdateStrategyType = "OnDelete"
)

// RollingUpdateStrategy bounds a rolling update.
type RollingUpdateStrategy struct {
	// maxUnavailable is how many pods may be unready while rolling: a number from 1 to 10, or a percentage of
	// spec.replicas from "1%" to "100%", rounded up. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 10 : self.matches('^(100|[1-9][0-9]?)%$')",message="must be a number from 1 to 10, or a percentage from 1% to 100%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// UpdateStrategy says what happens to pods of an older template.
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || self.type == 'RollingUpdate'",message="rollingUpdate goes with type RollingUpdate only: remove it, or set type to RollingUpdate"
type UpdateStrategy struct {
	// type is RollingUpdate (pods of an older template are replaced, a few at a time) or OnDelete (they stay until
	// somebody deletes them). Default RollingUpdate.
	// +optional
	// +kubebuilder:default=RollingUpdate
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Update strategy type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:RollingUpdate","urn:alm:descriptor:com.tectonic.ui:select:OnDelete","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Type UpdateStrategyType `json:"type,omitempty"`

	// rollingUpdate bounds the rolling update. Only with type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdateStrategy `json:"rollingUpdate,omitempty"`
}

// PodSetSpec is what the user asks for.
type PodSetSpec struct {
	// replicas is the number of pods to keep running, 1 to 10. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// template is the pod to run. Absent: one container busybox that runs "sleep 3600". Its labels and annotations are
	// kept; the operator adds its own. What would end its pods is rejected: the restartPolicy of the pod and of its
	// containers is Always or absent, that of init containers is not Never, no container has restartPolicyRules, and
	// activeDeadlineSeconds is absent.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.spec) && has(self.spec.containers) && size(self.spec.containers) > 0",message="template.spec.containers must name at least one container"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.restartPolicy) || self.spec.restartPolicy == 'Always'",message="template.spec.restartPolicy must be Always, or absent: a PodSet keeps its pods running"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.activeDeadlineSeconds)",message="template.spec.activeDeadlineSeconds must be absent: a PodSet keeps its pods running"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.containers) || self.spec.containers.all(c, (!has(c.restartPolicy) || c.restartPolicy == 'Always') && !has(c.restartPolicyRules))",message="template.spec.containers must not set restartPolicy other than Always, nor restartPolicyRules: a PodSet keeps its pods running"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.initContainers) || self.spec.initContainers.all(c, (!has(c.restartPolicy) || c.restartPolicy != 'Never') && !has(c.restartPolicyRules))",message="template.spec.initContainers must not set restartPolicy Never, nor restartPolicyRules: a PodSet keeps its pods running"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// updateStrategy says what happens to running pods when the template changes. Default: RollingUpdate, one at a time.
	// +optional
	// +kubebuilder:default={}
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitzero"`
}

// PodSetStatus is what the operator sees. It is computed as a whole from the pods each time and never read back.
type PodSetStatus struct {
	// podNames are the names of the active pods, sorted. A pod is active when this PodSet controls it, it is not
	// terminating and it has neither succeeded nor failed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pod names",xDescriptors={"urn:alm:descriptor:text"}
	PodNames []string `json:"podNames"`

	// replicas is the number of active pods, in any phase; the scale subresource shows it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replicas",xDescriptors={"urn:alm:descriptor:text"}
	Replicas int32 `json:"replicas"`

	// availableReplicas is the number of active pods that are Pending or Running.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Available replicas",xDescriptors={"urn:alm:descriptor:text"}
	AvailableReplicas int32 `json:"availableReplicas"`

	// readyReplicas is the number of active pods whose condition Ready is True.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready replicas",xDescriptors={"urn:alm:descriptor:text"}
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of active pods that were made from the present template.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Updated replicas",xDescriptors={"urn:alm:descriptor:text"}
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// terminatingReplicas is the number of pods of this PodSet that are being deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Terminating replicas",xDescriptors={"urn:alm:descriptor:text"}
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// selector selects the pods of this PodSet, as a string, for the scale subresource and the horizontal pod autoscaler.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",xDescriptors={"urn:alm:descriptor:text"}
	Selector string `json:"selector,omitempty"`

	// observedGeneration is the generation of the spec that this status was computed from.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:text"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Available (ready >= replicas), Progressing and Degraded; each says why in its reason and message.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PodSet keeps 1 to 10 pods running and lists their names.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=pset,categories=all
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="Pods asked for"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Active pods that are Pending or Running"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="Active pods that are Ready"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,priority=1,description="Active pods in any phase"
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`,priority=1,description="Active pods of the present template"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].reason`,priority=1,description="Why the set is degraded, or AsExpected"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label on every pod"
// +operator-sdk:csv:customresourcedefinitions:displayName="PodSet",resources={{Pod,v1},{Event,v1}}
type PodSet struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata; the name has at most 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user asks for.
	// +optional
	// +kubebuilder:default={}
	Spec PodSetSpec `json:"spec,omitzero"`

	// status is what the operator sees.
	// +optional
	Status PodSetStatus `json:"status,omitempty"`
}

// PodSetList is a list of PodSets.
// +kubebuilder:object:root=true
type PodSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodSet `json:"items"`
}
