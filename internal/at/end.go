// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

// maxOutput bounds status.output, in bytes.
const maxOutput = 2048

// Reasons that the kubelet and container runtimes give; Kubernetes has no constants for them.
const (
	reasonDeadlineExceeded       = "DeadlineExceeded" // of a pod: its activeDeadlineSeconds are over
	reasonEvicted                = "Evicted"          // of a pod
	reasonNodeLost               = "NodeLost"         // of a pod, not from its kubelet: the node does not respond
	reasonOOMKilled              = "OOMKilled"        // of a container
	reasonStartError             = "StartError"       // of a container, containerd: the command cannot be started
	reasonContainerCannotRun     = "ContainerCannotRun"
	reasonContainerStatusUnknown = "ContainerStatusUnknown" // of a container: the kubelet lost it, and has made up the exit code
)

// end is how a run ended.
type end struct {
	reason   string // a terminal reason of the API
	message  string
	exitCode *int32
	output   string
	finished time.Time // zero: not known
	// byDeadline says that the kubelet ended the pod because of its activeDeadlineSeconds, which come from the At or from the
	// template.
	byDeadline bool
	// retryable says that the command is known to have failed, or not to have run. Another attempt could otherwise run it twice.
	retryable bool
}

func (e end) succeeded() bool { return e.reason == cnatv1alpha1.ReasonCompleted }

// endOf returns how a pod of the At ended, and false if it has not. A pod ends in the phase Succeeded or Failed, after all
// its containers have ended. A terminating pod ends with the command, because the pod can be gone before its phase changes.
//
// The exit code of the command decides, and other containers do not count. If the kubelet itself failed the pod, the reason
// in the status of the pod decides.
func endOf(o Observation, pod *corev1.Pod) (end, bool) {
	state := containerState(o.At, pod)
	command := state.Terminated
	phase := pod.Status.Phase
	if !pods.IsFinished(pod) && (command == nil || !pods.IsTerminating(pod, o.Deleted)) {
		return end{}, false
	}
	e := end{finished: finishTime(pod), retryable: isRetryable(pod, state)}
	if command != nil && !isLost(command) {
		e.exitCode = ptr.To(command.ExitCode)
		e.output = tail(command.Message)
	}
	switch {
	case phase == corev1.PodFailed && pod.Status.Reason != "":
		e.reason = cnatv1alpha1.ReasonPodFailed
		if pod.Status.Reason == reasonEvicted {
			e.reason = cnatv1alpha1.ReasonEvicted
		}
		e.byDeadline = pod.Status.Reason == reasonDeadlineExceeded
		e.message = fmt.Sprintf("pod %s failed: %s", pod.Name, joinNonEmpty(": ", pod.Status.Reason, pod.Status.Message))
	case isLost(command):
		e.reason = cnatv1alpha1.ReasonPodFailed
		e.message = fmt.Sprintf("the kubelet does not know how the command in pod %s ended: %s", pod.Name, command.Message)
	case command == nil && phase == corev1.PodSucceeded:
		// The API documents this phase as "all containers have terminated with an exit code of 0".
		e.reason, e.exitCode = cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)
	case command == nil:
		e.reason = cnatv1alpha1.ReasonPodFailed
		e.message = joinNonEmpty(": ", fmt.Sprintf("pod %s failed before its command was seen to end", pod.Name), otherFailure(pod))
	case command.ExitCode == 0:
		e.reason = cnatv1alpha1.ReasonCompleted
	case command.Reason == reasonOOMKilled:
		e.reason = cnatv1alpha1.ReasonOOMKilled
		e.message = fmt.Sprintf("the command in pod %s was killed with exit code %d: it used more memory than its limit", pod.Name, command.ExitCode)
	case command.Reason == reasonStartError || command.Reason == reasonContainerCannotRun:
		e.reason = cnatv1alpha1.ReasonStartError
		e.message = fmt.Sprintf("the command in pod %s could not be started (exit code %d): %s", pod.Name, command.ExitCode, command.Message)
	default:
		e.reason = cnatv1alpha1.ReasonNonZeroExitCode
		e.message = fmt.Sprintf("the command in pod %s ended with exit code %d", pod.Name, command.ExitCode)
	}
	if e.succeeded() {
		e.message = fmt.Sprintf("the command in pod %s ended with exit code 0", pod.Name)
	}
	return e, true
}

// isLost tells whether the kubelet does not know how a container ended.
func isLost(command *corev1.ContainerStateTerminated) bool {
	return command != nil && command.Reason == reasonContainerStatusUnknown
}

// isRetryable tells whether the command of a pod that has ended is known to have failed, or not to have run. state is that of its
// container. A command that was told to stop can end with exit code 0. If a node is lost, others end its pods, while the commands
// may still run there.
func isRetryable(pod *corev1.Pod, state corev1.ContainerState) bool {
	if command := state.Terminated; command != nil {
		return command.ExitCode != 0 && !isLost(command)
	}
	endedByKubelet := pod.Status.Reason != "" && pod.Status.Reason != reasonNodeLost
	initFailed := slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
	})
	return endedByKubelet || initFailed && state.Running == nil
}

// containerState returns the state of the container that runs the command, empty if it is not known. The container is found by the
// name that the pod was created with: admission webhooks may insert containers before it, and the template may have been edited
// before the run was recorded.
func containerState(at *cnatv1alpha1.At, pod *corev1.Pod) corev1.ContainerState {
	name := cmp.Or(pod.Annotations[cnatv1alpha1.AnnotationContainer], containerName(at))
	statuses := pod.Status.ContainerStatuses
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return corev1.ContainerState{}
	}
	return statuses[i].State
}

// finishTime returns when the last container of a pod ended, zero if that is not known.
func finishTime(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range allContainers(pod) {
		if t := status.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

// otherFailure describes why a pod failed whose command did not end, "" if that is not known.
func otherFailure(pod *corev1.Pod) string {
	for _, status := range allContainers(pod) {
		if t := status.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("container %s ended with exit code %d (%s)", status.Name, t.ExitCode, cmp.Or(t.Reason, "Error"))
		}
	}
	return pod.Status.Message
}

func allContainers(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// tail returns the last maxOutput bytes of a text as valid UTF-8 that begins with a whole character. The kubelet also keeps
// the end of a log.
func tail(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= maxOutput {
		return text
	}
	text = text[len(text)-maxOutput:]
	for !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

func joinNonEmpty(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

func deadlineMessage(at *cnatv1alpha1.At) string {
	return fmt.Sprintf("the run took longer than %d seconds", ptr.Deref(at.Spec.ActiveDeadlineSeconds, 0))
}
