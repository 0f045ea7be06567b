// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testutil builds objects for tests. Everything that a test does not set has a default.
package testutil

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// AtCreated is when the Ats of MakeAt were created. AtDue is the time for which they are scheduled.
var (
	AtCreated = time.Date(2030, 1, 30, 10, 0, 0, 0, time.UTC)
	AtDue     = time.Date(2030, 1, 30, 10, 2, 0, 0, time.UTC)
)

// AtBuilder builds an At.
type AtBuilder struct{ at cnatv1alpha1.At }

// MakeAt starts an At that prints YAY at AtDue.
func MakeAt(name string) *AtBuilder {
	return &AtBuilder{cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name + "-uid"), Generation: 1,
			CreationTimestamp: metav1.NewTime(AtCreated),
		},
		Spec: cnatv1alpha1.AtSpec{Schedule: AtDue.Format(time.RFC3339), Command: "echo YAY"},
	}}
}

// Obj returns the At; each call returns another copy.
func (b *AtBuilder) Obj() *cnatv1alpha1.At { return b.at.DeepCopy() }

// Schedule sets spec.schedule.
func (b *AtBuilder) Schedule(schedule string) *AtBuilder { b.at.Spec.Schedule = schedule; return b }

// Command sets spec.command.
func (b *AtBuilder) Command(command string) *AtBuilder { b.at.Spec.Command = command; return b }

// Suspend sets spec.suspend.
func (b *AtBuilder) Suspend() *AtBuilder { b.at.Spec.Suspend = ptr.To(true); return b }

// Cancel sets spec.cancel.
func (b *AtBuilder) Cancel() *AtBuilder { b.at.Spec.Cancel = ptr.To(true); return b }

// RetryExitCodes sets spec.retryExitCodes.
func (b *AtBuilder) RetryExitCodes(codes ...int32) *AtBuilder {
	b.at.Spec.RetryExitCodes = codes
	return b
}

// StartingDeadline sets spec.startingDeadlineSeconds.
func (b *AtBuilder) StartingDeadline(seconds int64) *AtBuilder {
	b.at.Spec.StartingDeadlineSeconds = &seconds
	return b
}

// ActiveDeadline sets spec.activeDeadlineSeconds.
func (b *AtBuilder) ActiveDeadline(seconds int64) *AtBuilder {
	b.at.Spec.ActiveDeadlineSeconds = &seconds
	return b
}

// Uninterrupted sets spec.uninterrupted and the deadline that it requires.
func (b *AtBuilder) Uninterrupted() *AtBuilder {
	b.at.Spec.Uninterrupted = ptr.To(true)
	return b.ActiveDeadline(3600)
}

// BackoffLimit sets spec.backoffLimit.
func (b *AtBuilder) BackoffLimit(limit int32) *AtBuilder { b.at.Spec.BackoffLimit = &limit; return b }

// TTL sets spec.ttlSecondsAfterFinished.
func (b *AtBuilder) TTL(seconds int32) *AtBuilder {
	b.at.Spec.TTLSecondsAfterFinished = &seconds
	return b
}

// Deleting marks the At as being deleted.
func (b *AtBuilder) Deleting() *AtBuilder {
	b.at.DeletionTimestamp = ptr.To(metav1.NewTime(AtDue))
	return b
}

// Template gives the At a template with these containers and lets edit change it, unless edit is nil.
func (b *AtBuilder) Template(edit func(*corev1.PodTemplateSpec), containers ...string) *AtBuilder {
	template := &corev1.PodTemplateSpec{}
	for _, name := range containers {
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: name, Image: name + ":1"})
	}
	if edit != nil {
		edit(template)
	}
	b.at.Spec.Template = template
	return b
}

// Status sets the status.
func (b *AtBuilder) Status(status cnatv1alpha1.AtStatus) *AtBuilder { b.at.Status = status; return b }

// Recorded sets a status that records these attempts, the newest of them with podName and podUID.
func (b *AtBuilder) Recorded(attempts int32, podName string, podUID types.UID) *AtBuilder {
	return b.Status(cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseRunning, StartTime: ptr.To(metav1.NewTime(AtDue)),
		PodName: podName, PodUID: podUID, Attempts: attempts,
	})
}

// AtPodBuilder builds a pod of an At.
type AtPodBuilder struct{ pod corev1.Pod }

// Generation sets the generation of the spec.
func (b *AtBuilder) Generation(generation int64) *AtBuilder {
	b.at.Generation = generation
	return b
}

// RetryRecorded sets a status that records the failure of the newest attempt, and when the next one is due, relative to
// AtDue.
func (b *AtBuilder) RetryRecorded(attempts int32, podName string, next time.Duration) *AtBuilder {
	b.Recorded(attempts, podName, types.UID(podName+"-uid"))
	b.at.Status.StartTime = ptr.To(metav1.NewTime(AtDue))
	b.at.Status.RetryTime, b.at.Status.ExitCode = ptr.To(metav1.NewTime(AtDue.Add(next))), ptr.To[int32](3)
	return b
}

// MakeAtPod starts a Pending pod of the At that was created at AtDue.
func MakeAtPod(at *cnatv1alpha1.At, name string) *AtPodBuilder {
	return &AtPodBuilder{corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: at.Namespace, UID: types.UID(name + "-uid"),
			Labels:            map[string]string{cnatv1alpha1.LabelUID: string(at.UID)},
			CreationTimestamp: metav1.NewTime(AtDue),
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(at, cnatv1alpha1.GroupVersion.WithKind("At"))},
		},
		Spec:   corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}}
}

// Obj returns the pod; each call returns another copy.
func (b *AtPodBuilder) Obj() *corev1.Pod { return b.pod.DeepCopy() }

// UID sets the UID.
func (b *AtPodBuilder) UID(uid types.UID) *AtPodBuilder { b.pod.UID = uid; return b }

// Annotation sets an annotation.
func (b *AtPodBuilder) Annotation(key, value string) *AtPodBuilder {
	metav1.SetMetaDataAnnotation(&b.pod.ObjectMeta, key, value)
	return b
}

// Gated gives the pod the gate of the operator, and the generation of the spec that it was created from.
func (b *AtPodBuilder) Gated(generation int64) *AtPodBuilder {
	b.pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: cnatv1alpha1.StartGate}}
	return b.Annotation(cnatv1alpha1.AnnotationGeneration, strconv.FormatInt(generation, 10))
}

// Image gives the pod a container with an image.
func (b *AtPodBuilder) Image(image string) *AtPodBuilder {
	b.pod.Spec.Containers = []corev1.Container{{Name: "busybox", Image: image}}
	return b
}

// Unowned removes the controller reference.
func (b *AtPodBuilder) Unowned() *AtPodBuilder { b.pod.OwnerReferences = nil; return b }

// Terminating marks the pod as being deleted.
func (b *AtPodBuilder) Terminating() *AtPodBuilder {
	b.pod.DeletionTimestamp = ptr.To(metav1.NewTime(AtDue))
	return b
}

// Phase sets the phase.
func (b *AtPodBuilder) Phase(phase corev1.PodPhase) *AtPodBuilder {
	b.pod.Status.Phase = phase
	return b
}

// Because sets the reason and the message of the pod's phase.
func (b *AtPodBuilder) Because(reason, message string) *AtPodBuilder {
	b.pod.Status.Reason, b.pod.Status.Message = reason, message
	return b
}

// Unschedulable makes the pod fit on no node.
func (b *AtPodBuilder) Unschedulable() *AtPodBuilder {
	b.pod.Status.Conditions = append(b.pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/3 nodes are available",
	})
	return b
}

// Condition adds a condition.
func (b *AtPodBuilder) Condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) *AtPodBuilder {
	b.pod.Status.Conditions = append(b.pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message})
	return b
}

// Waiting adds a container that waits.
func (b *AtPodBuilder) Waiting(container, reason string) *AtPodBuilder {
	return b.container(container, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}})
}

// Runs adds a container that runs.
func (b *AtPodBuilder) Runs(container string) *AtPodBuilder {
	return b.container(container, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
}

// OnNode binds the pod to a node.
func (b *AtPodBuilder) OnNode() *AtPodBuilder { b.pod.Spec.NodeName = "node"; return b }

// Exited adds a container that ended.
func (b *AtPodBuilder) Exited(container string, code int32, reason, message string, finished time.Time) *AtPodBuilder {
	return b.container(container, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, FinishedAt: metav1.NewTime(finished), ContainerID: "containerd://" + container,
	}})
}

// InitExited adds an init container that ended.
func (b *AtPodBuilder) InitExited(container string, code int32) *AtPodBuilder {
	b.pod.Status.InitContainerStatuses = append(b.pod.Status.InitContainerStatuses, corev1.ContainerStatus{
		Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: "Error", ContainerID: "containerd://" + container,
		}},
	})
	return b
}

// Restarted makes the last container one that ended before in this way.
func (b *AtPodBuilder) Restarted(before corev1.ContainerStateTerminated) *AtPodBuilder {
	s := &b.pod.Status.ContainerStatuses[len(b.pod.Status.ContainerStatuses)-1]
	s.RestartCount, s.LastTerminationState.Terminated = 1, &before
	return b
}

func (b *AtPodBuilder) container(name string, state corev1.ContainerState) *AtPodBuilder {
	b.pod.Status.ContainerStatuses = append(b.pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	return b
}
