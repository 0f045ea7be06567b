// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Keys of labels and annotations that the operator sets on pods of a PodSet.
const (
	// LabelPodSet is the name of the PodSet that a pod was created for. It is only for users and selectors: a pod belongs to
	// the PodSet whose UID is in its controller reference.
	LabelPodSet = "app.example.com/podset"
	// LabelSlot is the number of the slot that the pod fills, from 0. A pod that replaces another one fills the same slot. A
	// container can read it through the downward API.
	LabelSlot = "app.example.com/slot"
	// LabelTemplateHash is the hash of the spec.template that the pod was created from.
	LabelTemplateHash = "app.example.com/template-hash"
	// AnnotationSlot is the number of the slot that the pod fills, from 0. The operator reads the slot from the name of the pod, else
	// from this annotation, else from the label.
	AnnotationSlot = "app.example.com/slot"
	// AnnotationAttempt is the number of pod names of the slot that were in use when the pod was created, from 0.
	AnnotationAttempt = "app.example.com/attempt"
	// AnnotationTemplateHash is the hash of the spec.template that the pod was created from. The operator reads the label if an
	// admission webhook has removed the annotation.
	AnnotationTemplateHash = "app.example.com/template-hash"
	// AnnotationPaused pauses a PodSet while its value is true: the operator creates and deletes no pods for it.
	AnnotationPaused = "app.example.com/paused"
)

// UpdateStrategyType determines how pods of an older template are replaced.
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
type UpdateStrategyType string

const (
	// RollingUpdate replaces pods of an older template, a few at a time.
	RollingUpdate UpdateStrategyType = "RollingUpdate"
	// OnDelete keeps pods of an older template until a user deletes them.
	OnDelete UpdateStrategyType = "OnDelete"
)

// RollingUpdateStrategy limits a rolling update.
type RollingUpdateStrategy struct {
	// maxUnavailable is the number of pods that may be unavailable during a rolling update: a number from 1 to 10, or a
	// percentage of spec.replicas from "1%" to "100%", rounded up. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 10 : self.matches('^(100|[1-9][0-9]?)%$')",message="spec.updateStrategy.rollingUpdate.maxUnavailable must be a number from 1 to 10, or a percentage from 1% to 100%"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum unavailable",xDescriptors={"urn:alm:descriptor:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// UpdateStrategy determines how pods of an older template are replaced.
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || self.type == 'RollingUpdate'",message="spec.updateStrategy.rollingUpdate goes with type RollingUpdate only: remove it, or set type to RollingUpdate"
type UpdateStrategy struct {
	// type is RollingUpdate or OnDelete. RollingUpdate replaces pods of an older template, a few at a time. OnDelete keeps
	// them until a user deletes them. Default RollingUpdate.
	// +optional
	// +kubebuilder:default=RollingUpdate
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Update strategy type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:RollingUpdate","urn:alm:descriptor:com.tectonic.ui:select:OnDelete","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Type UpdateStrategyType `json:"type,omitempty"`

	// rollingUpdate limits the rolling update. It is allowed only with type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdateStrategy `json:"rollingUpdate,omitempty"`
}

// PodReplacementPolicy determines when a pod that ends is replaced.
// +kubebuilder:validation:Enum=TerminationStarted;TerminationComplete
type PodReplacementPolicy string

const (
	// TerminationStarted replaces a pod as soon as it is being deleted or has finished.
	TerminationStarted PodReplacementPolicy = "TerminationStarted"
	// TerminationComplete replaces a pod once it is gone, so that a slot never has two pods.
	TerminationComplete PodReplacementPolicy = "TerminationComplete"
)

// PodSetSpec is the desired state of a PodSet.
// +kubebuilder:validation:XValidation:rule="self.?progressDeadlineSeconds.orValue(600) > self.?minReadySeconds.orValue(0)",message="spec.progressDeadlineSeconds, or its default 600, must be greater than spec.minReadySeconds"
type PodSetSpec struct {
	// replicas is the number of pods to keep running, 1 to 10. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Replicas *int32 `json:"replicas,omitempty"`

	// minReadySeconds is how many seconds a pod must be Ready before it is available, 0 to 86400. The condition Available and rolling
	// updates depend on this. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Minimum ready seconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// progressDeadlineSeconds is how many seconds the PodSet may go without progress before Progressing is False, and Degraded and
	// Stalled are True. It must be greater than minReadySeconds. Progress is a pod that is created or deleted, or becomes Ready or
	// available. The operator continues in any case. 2147483647 means no deadline. Default 600, also if it is absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Progress deadline seconds",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"}
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`

	// podReplacementPolicy is TerminationStarted, which replaces a pod as soon as it is being deleted or has finished, or
	// TerminationComplete, which replaces it once it is gone, so that a slot never has two pods. Default TerminationStarted.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod replacement policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:TerminationStarted","urn:alm:descriptor:com.tectonic.ui:select:TerminationComplete","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodReplacementPolicy PodReplacementPolicy `json:"podReplacementPolicy,omitempty"`

	// template is the pod template. If absent, pods have one busybox container that runs "sleep 3600". The operator adds its own
	// labels and annotations. A template must not end its pods: the restartPolicy of the pod and of its containers is Always or
	// absent, the restartPolicy of init containers is not Never, no container has restartPolicyRules, and activeDeadlineSeconds is
	// absent.
	// +optional
	// +kubebuilder:validation:XValidation:rule="size(self.?spec.?containers.orValue([])) > 0",message="spec.template.spec.containers must name at least one container"
	// +kubebuilder:validation:XValidation:rule="self.?spec.?restartPolicy.orValue('Always') == 'Always'",message="spec.template.spec.restartPolicy must be Always, or absent: a PodSet keeps its pods running"
	// +kubebuilder:validation:XValidation:rule="!self.?spec.?activeDeadlineSeconds.hasValue()",message="spec.template.spec.activeDeadlineSeconds must be absent: a PodSet keeps its pods running"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || self.spec.containers.all(c, c.?restartPolicy.orValue('Always') == 'Always' && !has(c.restartPolicyRules))",message="spec.template.spec.containers must not set restartPolicy other than Always, nor restartPolicyRules: a PodSet keeps its pods running"
	// +kubebuilder:validation:XValidation:rule="!self.?spec.?initContainers.hasValue() || self.spec.initContainers.all(c, c.?restartPolicy.orValue('') != 'Never' && !has(c.restartPolicyRules))",message="spec.template.spec.initContainers must not set restartPolicy Never, nor restartPolicyRules: a PodSet keeps its pods running"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// updateStrategy determines how pods are replaced when the template changes. Default: RollingUpdate, one pod at a time.
	// +optional
	// +kubebuilder:default={}
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitzero"`
}

// The operator computes the whole status from the pods each time. Only a process that has just started reads podNames: it asks the API
// server for the pods in this list that its cache does not show.

// PodSetStatus is the observed state of a PodSet.
type PodSetStatus struct {
	// podNames are the names of the active pods, sorted. A pod is active if this PodSet controls it, and it is not terminating,
	// succeeded, or failed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pod names",xDescriptors={"urn:alm:descriptor:text"}
	PodNames []string `json:"podNames"`

	// replicas is the number of active pods in any phase. The scale subresource shows it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replicas",xDescriptors={"urn:alm:descriptor:text"}
	Replicas int32 `json:"replicas"`

	// availableReplicas is the number of active pods that are Pending or Running. Unlike that of a ReplicaSet, it includes pods that
	// are not Ready. The condition Available depends on how long pods have been Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Available replicas",xDescriptors={"urn:alm:descriptor:text"}
	AvailableReplicas int32 `json:"availableReplicas"`

	// readyReplicas is the number of active pods whose condition Ready is True.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready replicas",xDescriptors={"urn:alm:descriptor:text"}
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of active pods that were created from the current template.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Updated replicas",xDescriptors={"urn:alm:descriptor:text"}
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// terminatingReplicas is the number of pods of this PodSet that are being deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Terminating replicas",xDescriptors={"urn:alm:descriptor:text"}
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// selector is the label selector of the pods, as a string, for the scale subresource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",xDescriptors={"urn:alm:descriptor:text"}
	Selector string `json:"selector,omitempty"`

	// observedGeneration is the generation of the spec that this status was computed from. -1: the operator has not seen the
	// PodSet yet.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:text"}
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Available (at least spec.replicas pods have been Ready for spec.minReadySeconds), Progressing, Degraded, Ready, and
	// Stalled, each with a reason and a message.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PodSet keeps 1 to 10 pods running and lists their names.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=pset,categories=all
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="Desired number of pods"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="Active pods that are Ready"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why the PodSet is not Ready, or Stable"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,priority=1,description="Active pods that are Pending or Running, also if they are not Ready"
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,priority=1,description="Active pods in any phase"
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`,priority=1,description="Active pods of the current template"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label on every pod"
// +operator-sdk:csv:customresourcedefinitions:displayName="PodSet",resources={{Pod,v1},{Event,v1}}
type PodSet struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata. The name has at most 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	// +kubebuilder:default={}
	Spec PodSetSpec `json:"spec,omitzero"`

	// status is the observed state.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1,"conditions":{{"type":"Ready","status":"Unknown","reason":"AwaitingOperator","message":"no operator has seen this object: check that podset-operator runs, and that it serves this namespace","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status PodSetStatus `json:"status,omitzero"`
}

// PodSetList is a list of PodSets.
// +kubebuilder:object:root=true
type PodSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodSet `json:"items"`
}
