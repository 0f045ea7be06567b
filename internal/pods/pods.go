// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods answers the questions that PodSets and Ats both ask about their pods, and builds what their pods and
// statuses have in common.
package pods

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Reasons from the kubelet for a waiting container, for which Kubernetes has no constants.
const (
	reasonContainerCreating          = "ContainerCreating"
	reasonPodInitializing            = "PodInitializing"
	reasonErrImagePull               = "ErrImagePull"
	reasonCreateContainerConfigError = "CreateContainerConfigError"
	reasonImagePullBackOff           = "ImagePullBackOff"
	reasonCrashLoopBackOff           = "CrashLoopBackOff"
)

// TerminationTarget is the condition that Kueue sets on a pod before it preempts or evicts it.
const TerminationTarget corev1.PodConditionType = "TerminationTarget"

// OwnerUID returns the UID of the object that controls pod, or "" if there is none.
func OwnerUID(pod metav1.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}

// ByUID returns the pod of a list with a UID, or nil if there is none.
func ByUID(list []*corev1.Pod, uid types.UID) *corev1.Pod {
	for _, pod := range list {
		if pod.UID == uid {
			return pod
		}
	}
	return nil
}

// Contains reports whether a pod with a UID is in list.
func Contains(list []*corev1.Pod, uid types.UID) bool { return ByUID(list, uid) != nil }

// IsFinished reports whether all containers of pod have terminated for good.
func IsFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsTerminating reports whether pod is being deleted. deleted are pods that were deleted and that a cache still shows
// without a deletion timestamp.
func IsTerminating(pod *corev1.Pod, deleted sets.Set[types.UID]) bool {
	return pod.DeletionTimestamp != nil || deleted.Has(pod.UID)
}

// IsPaused reports whether an annotation that pauses object is true.
func IsPaused(object metav1.Object, annotation string) bool {
	paused, err := strconv.ParseBool(object.GetAnnotations()[annotation])
	return err == nil && paused
}

// HasRestartRules reports whether the exit of a container may restart it or, with the action RestartAllContainers,
// every container of the pod.
func HasRestartRules(container corev1.Container) bool { return len(container.RestartPolicyRules) > 0 }

// IsSidecar reports whether an init container runs as long as its pod.
func IsSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// IsReady reports whether pod has the condition Ready.
func IsReady(pod *corev1.Pod) bool {
	c := readyCondition(pod)
	return c != nil && c.Status == corev1.ConditionTrue
}

// ReadySince returns when the condition Ready of pod last changed, or zero if that is not known.
func ReadySince(pod *corev1.Pod) time.Time {
	if c := readyCondition(pod); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// readyCondition returns the condition Ready of pod, or nil if there is none.
func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c
		}
	}
	return nil
}

// ContainerStatuses returns the states of the init containers and then of the containers of pod.
func ContainerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// WaitingReason returns why pod cannot start or keep running, or "" while it may be just starting. It omits messages,
// which count nodes or attempts and change all the time.
func WaitingReason(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && !isOpened(pod, c) {
			return c.Reason
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			waiting := statuses[i].State.Waiting
			if waiting == nil {
				continue
			}
			switch waiting.Reason {
			case "", reasonContainerCreating, reasonPodInitializing:
			case reasonErrImagePull:
				// The kubelet alternates between these two reasons. One name for both keeps the status unchanged.
				return reasonImagePullBackOff
			default:
				return waiting.Reason
			}
		}
	}
	return ""
}

// isOpened reports whether a condition shows gates that the pod no longer has. The scheduler has not looked at it
// since.
func isOpened(pod *corev1.Pod, c *corev1.PodCondition) bool {
	return c.Reason == corev1.PodReasonSchedulingGated && len(pod.Spec.SchedulingGates) == 0
}

// WaitingMessage returns what the scheduler, the kubelet, or the container runtime says about the reason that
// WaitingReason returns, or "". For a gate, it returns the names of the gates.
func WaitingMessage(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || isOpened(pod, &c):
		case c.Reason == corev1.PodReasonSchedulingGated:
			return "scheduling gate " + gateNames(pod)
		default:
			return c.Message
		}
	}
	for _, status := range ContainerStatuses(pod) {
		waiting := status.State.Waiting
		if waiting == nil || slices.Contains([]string{"", reasonContainerCreating, reasonPodInitializing}, waiting.Reason) {
			continue
		}
		if waiting.Reason == reasonCrashLoopBackOff { // Its message counts.
			return ""
		}
		if _, cause, found := strings.Cut(waiting.Message, reasonErrImagePull+": "); found {
			return cause // The kubelet repeats the error during its back-off.
		}
		return waiting.Message
	}
	return ""
}

func gateNames(pod *corev1.Pod) string {
	var names []string
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return strings.Join(names, ", ")
}

// CreatingReason returns what the kubelet is doing with a pod whose containers have not started.
func CreatingReason(pod *corev1.Pod) string {
	for _, status := range ContainerStatuses(pod) {
		if waiting := status.State.Waiting; waiting != nil && waiting.Reason != "" {
			return waiting.Reason
		}
	}
	return reasonContainerCreating
}

// startGrace is how long a pod may take to start without an explanation.
const startGrace = time.Minute

// SlowStart returns what the kubelet has been doing with a pod for more than a minute before any container has started
// its work, or "". It also returns when that will be, or zero.
func SlowStart(pod *corev1.Pod, now time.Time) (reason string, at time.Time) {
	if pod.Status.Phase != corev1.PodPending {
		return "", time.Time{}
	}
	if at = pod.CreationTimestamp.Add(startGrace); now.Before(at) {
		return "", at
	}
	return CreatingReason(pod), time.Time{}
}

// NotReadyReason returns what a pod that is on its node needs before its containers can start, or "" if that is not
// known.
func NotReadyReason(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionFalse:
		case c.Type == corev1.PodReadyToStartContainers:
			return "a volume cannot be mounted, or the network is not ready; see the events of the pod"
		case c.Type == corev1.PodInitialized:
			return c.Message
		}
	}
	return ""
}

// Earliest returns the first of some times, seen from now, or zero if all are zero. It ignores zero times. A time that
// this process measured differs from now by the monotonic clock, and a time from an object by the wall clock, so a jump
// of the wall clock does not change which of two delays is shorter.
func Earliest(now time.Time, times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Sub(now) < first.Sub(now) {
			first = t
		}
	}
	return first
}

// FailedInit returns the init container that failed, or nil if there is none. The kubelet starts no other one after it.
func FailedInit(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.InitContainerStatuses {
		if status := &pod.Status.InitContainerStatuses[i]; status.State.Terminated != nil && status.State.Terminated.ExitCode != 0 {
			return status
		}
	}
	return nil
}
