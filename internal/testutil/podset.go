// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testutil

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// Created is when the PodSets and pods of this package were created.
var Created = time.Date(2030, 1, 30, 10, 0, 0, 0, time.UTC)

// PodSetBuilder builds a PodSet.
type PodSetBuilder struct{ set appv1alpha1.PodSet }

// MakePodSet starts a PodSet as the API server defaults it: one replica, rolling update.
func MakePodSet(name string) *PodSetBuilder {
	return &PodSetBuilder{appv1alpha1.PodSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name + "-uid"), Generation: 1,
			CreationTimestamp: metav1.NewTime(Created),
		},
		Spec: appv1alpha1.PodSetSpec{
			Replicas:       ptr.To[int32](1),
			UpdateStrategy: appv1alpha1.UpdateStrategy{Type: appv1alpha1.RollingUpdate},
		},
	}}
}

// Obj returns the PodSet; each call returns another copy.
func (b *PodSetBuilder) Obj() *appv1alpha1.PodSet { return b.set.DeepCopy() }

// Replicas sets spec.replicas.
func (b *PodSetBuilder) Replicas(n int32) *PodSetBuilder { b.set.Spec.Replicas = &n; return b }

// Generation sets the generation.
func (b *PodSetBuilder) Generation(n int64) *PodSetBuilder { b.set.Generation = n; return b }

// Image sets spec.template to one container with an image.
func (b *PodSetBuilder) Image(image string) *PodSetBuilder {
	return b.Template(func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	})
}

// Template edits spec.template.
func (b *PodSetBuilder) Template(edit func(*corev1.PodTemplateSpec)) *PodSetBuilder {
	if b.set.Spec.Template == nil {
		b.set.Spec.Template = &corev1.PodTemplateSpec{}
	}
	edit(b.set.Spec.Template)
	return b
}

// MinReadySeconds sets spec.minReadySeconds.
func (b *PodSetBuilder) MinReadySeconds(n int32) *PodSetBuilder {
	b.set.Spec.MinReadySeconds = n
	return b
}

// ProgressDeadlineSeconds sets spec.progressDeadlineSeconds.
func (b *PodSetBuilder) ProgressDeadlineSeconds(n int32) *PodSetBuilder {
	b.set.Spec.ProgressDeadlineSeconds = n
	return b
}

// ReplacementPolicy sets spec.podReplacementPolicy.
func (b *PodSetBuilder) ReplacementPolicy(policy appv1alpha1.PodReplacementPolicy) *PodSetBuilder {
	b.set.Spec.PodReplacementPolicy = policy
	return b
}

// OnDelete sets the update strategy.
func (b *PodSetBuilder) OnDelete() *PodSetBuilder {
	b.set.Spec.UpdateStrategy.Type = appv1alpha1.OnDelete
	return b
}

// MaxUnavailable sets the bound of the rolling update, a number or a percentage.
func (b *PodSetBuilder) MaxUnavailable(value string) *PodSetBuilder {
	b.set.Spec.UpdateStrategy.RollingUpdate = &appv1alpha1.RollingUpdateStrategy{MaxUnavailable: ptr.To(intstr.Parse(value))}
	return b
}

// Annotation sets an annotation.
func (b *PodSetBuilder) Annotation(key, value string) *PodSetBuilder {
	metav1.SetMetaDataAnnotation(&b.set.ObjectMeta, key, value)
	return b
}

// Deleting marks the PodSet as being deleted.
func (b *PodSetBuilder) Deleting() *PodSetBuilder {
	b.set.DeletionTimestamp = ptr.To(metav1.NewTime(Created))
	return b
}

// Status sets the status.
func (b *PodSetBuilder) Status(status appv1alpha1.PodSetStatus) *PodSetBuilder {
	b.set.Status = status
	return b
}

// PodBuilder builds a pod.
type PodBuilder struct{ pod corev1.Pod }

// MakePod starts a pod without a controller, as it is right after its creation: Pending, without a node.
func MakePod(name string) *PodBuilder {
	return &PodBuilder{corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name + "-uid"), CreationTimestamp: metav1.NewTime(Created),
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}}
}

// Obj returns the pod; each call returns another copy.
func (b *PodBuilder) Obj() *corev1.Pod { return b.pod.DeepCopy() }

// OwnedBy makes set the pod's controller.
func (b *PodBuilder) OwnedBy(set *appv1alpha1.PodSet) *PodBuilder {
	b.pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appv1alpha1.GroupVersion.WithKind("PodSet"))}
	return b
}

// UID sets the UID.
func (b *PodBuilder) UID(uid types.UID) *PodBuilder { b.pod.UID = uid; return b }

// Created sets the creation time.
func (b *PodBuilder) Created(t time.Time) *PodBuilder {
	b.pod.CreationTimestamp = metav1.NewTime(t)
	return b
}

// Annotation sets an annotation.
func (b *PodBuilder) Annotation(key, value string) *PodBuilder {
	metav1.SetMetaDataAnnotation(&b.pod.ObjectMeta, key, value)
	return b
}

// Label sets a label.
func (b *PodBuilder) Label(key, value string) *PodBuilder {
	metav1.SetMetaDataLabel(&b.pod.ObjectMeta, key, value)
	return b
}

// Slot sets the annotation with the slot of the pod.
func (b *PodBuilder) Slot(n int) *PodBuilder {
	return b.Annotation(appv1alpha1.AnnotationSlot, strconv.Itoa(n))
}

// Hash sets the annotation with the hash of the template.
func (b *PodBuilder) Hash(hash string) *PodBuilder {
	return b.Annotation(appv1alpha1.AnnotationTemplateHash, hash)
}

// On puts the pod on a node.
func (b *PodBuilder) On(node string) *PodBuilder { b.pod.Spec.NodeName = node; return b }

// Phase sets the phase.
func (b *PodBuilder) Phase(phase corev1.PodPhase) *PodBuilder { b.pod.Status.Phase = phase; return b }

// Running puts the pod on a node, and makes it run and Ready.
func (b *PodBuilder) Running() *PodBuilder {
	if b.pod.Spec.NodeName == "" {
		b.On("node")
	}
	return b.Phase(corev1.PodRunning).Condition(corev1.PodReady, corev1.ConditionTrue, "")
}

// Unready makes the pod not Ready.
func (b *PodBuilder) Unready() *PodBuilder {
	return b.Condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady")
}

// ReadySince makes the pod run and Ready since a time.
func (b *PodBuilder) ReadySince(t time.Time) *PodBuilder {
	b.Running()
	for i := range b.pod.Status.Conditions {
		b.pod.Status.Conditions[i].LastTransitionTime = metav1.NewTime(t)
	}
	return b
}

// Condition sets a condition.
func (b *PodBuilder) Condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) *PodBuilder {
	for i := range b.pod.Status.Conditions {
		if b.pod.Status.Conditions[i].Type == kind {
			b.pod.Status.Conditions[i].Status, b.pod.Status.Conditions[i].Reason = status, reason
			return b
		}
	}
	b.pod.Status.Conditions = append(b.pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason})
	return b
}

// Finished sets a final phase, with a reason such as Evicted or none.
func (b *PodBuilder) Finished(phase corev1.PodPhase, reason string) *PodBuilder {
	b.pod.Status.Reason = reason
	return b.Phase(phase)
}

// Terminating marks the pod as being deleted.
func (b *PodBuilder) Terminating() *PodBuilder {
	b.pod.DeletionTimestamp = ptr.To(metav1.NewTime(Created))
	return b
}

// TerminatingSince marks the pod as being deleted since a time, with a grace period of 30 s and with finalizers.
func (b *PodBuilder) TerminatingSince(t time.Time, finalizers ...string) *PodBuilder {
	b.pod.DeletionTimestamp, b.pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(t.Add(30*time.Second))), ptr.To[int64](30)
	b.pod.Finalizers = finalizers
	return b
}

// Restarts gives the pod a container that was restarted n times.
func (b *PodBuilder) Restarts(n int32) *PodBuilder {
	b.pod.Status.ContainerStatuses = append(b.pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "main", RestartCount: n})
	return b
}

// Init gives the pod an init container with a restart policy, or none if it is "", that was restarted n times.
func (b *PodBuilder) Init(name string, policy corev1.ContainerRestartPolicy, n int32) *PodBuilder {
	c := corev1.Container{Name: name}
	if policy != "" {
		c.RestartPolicy = &policy
	}
	b.pod.Spec.InitContainers = append(b.pod.Spec.InitContainers, c)
	b.pod.Status.InitContainerStatuses = append(b.pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, RestartCount: n})
	return b
}

// Waiting gives the pod a container that waits for a reason.
func (b *PodBuilder) Waiting(reason string) *PodBuilder {
	b.pod.Status.ContainerStatuses = append(b.pod.Status.ContainerStatuses, corev1.ContainerStatus{
		Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	})
	return b
}

// CrashLooping makes the pod run, with a container that runs since a time and has ended twice before, after a second
// each.
func (b *PodBuilder) CrashLooping(since time.Time) *PodBuilder {
	b.Running()
	b.pod.Status.ContainerStatuses = append(b.pod.Status.ContainerStatuses, corev1.ContainerStatus{
		Name: "main", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			StartedAt: metav1.NewTime(since.Add(-12 * time.Second)), FinishedAt: metav1.NewTime(since.Add(-11 * time.Second)), ExitCode: 1,
		}},
	})
	return b
}

// FromPodSet starts with a copy of a PodSet.
func FromPodSet(set *appv1alpha1.PodSet) *PodSetBuilder { return &PodSetBuilder{*set.DeepCopy()} }
