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

// end is how an attempt or an At ended.
type end struct {
	reason   string // a terminal reason of the API
	message  string
	exitCode *int32 // nil if it is not known
	output   string
	finished time.Time // zero if it is not known
	// byDeadline is true if the kubelet ended the pod because of its activeDeadlineSeconds, which come from the At or from the
	// template.
	byDeadline bool
	// stopped is true if the command ended after a deletion of its pod was requested.
	stopped bool
	// retryable is true if the command is known to have failed, or not to have run. Another attempt could otherwise run it twice.
	// notStarted is true if the command is known not to have run.
	retryable, notStarted bool
}

func (e end) succeeded() bool { return e.reason == cnatv1alpha1.ReasonCompleted }

// canceledEnd returns the end of an At that was canceled after an attempt ended so. The zero end is that of an At without a pod.
func canceledEnd(e end) end {
	e.message = joinNonEmpty("; ", "spec.cancel stopped the At", e.message)
	e.reason = cnatv1alpha1.ReasonCanceled
	return e
}

// endOf returns how a pod of the At ended, and false if it has not. A pod ends in the phase Succeeded or Failed, after all its containers
// have ended. A terminating pod ends with the command, because the pod can be gone before its phase changes. Otherwise the pod also ends
// with the command, after containers that admission added have had some time to end.
func endOf(o Observation, pod *corev1.Pod) (end, bool) {
	command := commandState(o.At, pod).Terminated
	lingers := !pods.IsTerminating(pod, o.Deleted) && !o.isCanceled()
	if !pods.IsFinished(pod) && (command == nil || lingers && o.Now.Before(lingersUntil(pod, command, o.Now))) {
		return end{}, false
	}
	return describeEnd(o.At, pod), true
}

// endOfDeleted returns how a pod ended that does not exist anymore, from its last state. It returns false if the state does not tell.
func endOfDeleted(o Observation, pod *corev1.Pod) (end, bool) {
	switch {
	case pods.IsFinished(pod) || commandState(o.At, pod).Terminated != nil:
		return describeEnd(o.At, pod), true
	case pod.Spec.NodeName == "": // No kubelet can start a container of a pod that was deleted before it was bound.
		return end{reason: cnatv1alpha1.ReasonNotStarted, retryable: true, notStarted: true, stopped: true, message: joinNonEmpty(": ",
			"pod "+pod.Name+" was deleted before it was bound to a node: the command did not run", pods.WaitingReason(pod), disruption(pod))}, true
	}
	return end{}, false
}

// lingerGrace is how long other containers may run after the command has ended: the default grace period of Kubernetes.
const lingerGrace = 30 * time.Second

// endGrace is how long the kubelet may take to end a pod whose last container has ended.
const endGrace = 5 * time.Second

// lingersUntil returns until when the other containers of a pod may run after its command has ended. If the clock of the node is ahead,
// they may run no longer than the pod has existed.
func lingersUntil(pod *corev1.Pod, command *corev1.ContainerStateTerminated, now time.Time) time.Time {
	from := command.FinishedAt.Time
	if from.After(now) {
		from = pod.CreationTimestamp.Time
	}
	return from.Add(lingerGrace)
}

// describeEnd returns how a pod of the At ended. The exit code of the command decides, and other containers do not count. An exit code
// of 0 is a success, whatever ended the pod afterwards, unless the pod was at its deadline. Otherwise the reason in the status of the pod
// decides, if the kubelet itself failed the pod.
func describeEnd(at *cnatv1alpha1.At, pod *corev1.Pod) end {
	state := commandState(at, pod)
	command := state.Terminated
	phase := pod.Status.Phase
	e := end{finished: finishTime(pod), notStarted: neverStarted(pod, state), stopped: isStopped(pod, command)}
	e.retryable = e.notStarted || command != nil && command.ExitCode != 0 && !isLost(command)
	if command != nil && !isLost(command) {
		e.exitCode = ptr.To(command.ExitCode)
		e.output = tail(command.Message)
	}
	byKubelet := phase == corev1.PodFailed && pod.Status.Reason != ""
	e.byDeadline = byKubelet && pod.Status.Reason == reasonDeadlineExceeded
	switch {
	case command != nil && command.ExitCode == 0 && !isLost(command) && (!e.byDeadline || endedBeforeDeadline(pod, command)),
		command == nil && phase == corev1.PodSucceeded: // The API documents this phase as "all containers have terminated with an exit code of 0".
		e.reason, e.exitCode, e.byDeadline = cnatv1alpha1.ReasonCompleted, ptr.To[int32](0), false
		e.message = fmt.Sprintf("the command in pod %s ended with exit code 0", pod.Name)
		return e
	case byKubelet:
		e.reason = cnatv1alpha1.ReasonPodFailed
		if pod.Status.Reason == reasonEvicted {
			e.reason = cnatv1alpha1.ReasonEvicted
		}
		e.message = fmt.Sprintf("pod %s failed: %s", pod.Name, joinNonEmpty(": ", pod.Status.Reason, pod.Status.Message))
	case isLost(command):
		e.reason = cnatv1alpha1.ReasonPodFailed
		e.message = fmt.Sprintf("the kubelet does not know how the command in pod %s ended: %s", pod.Name, command.Message)
	case command == nil:
		e.reason = cnatv1alpha1.ReasonPodFailed
		e.message = joinNonEmpty(": ", fmt.Sprintf("pod %s failed before its command was seen to end", pod.Name), otherFailure(pod))
	default:
		e.reason, e.message = failureOf(pod, command)
	}
	if e.notStarted {
		e.message += "; the command did not run"
	}
	e.message = joinNonEmpty("; ", e.message, disruption(pod))
	return e
}

// failureOf returns the reason and the message of a command that ended with an exit code other than 0.
func failureOf(pod *corev1.Pod, command *corev1.ContainerStateTerminated) (reason, message string) {
	switch command.Reason {
	case reasonOOMKilled:
		return cnatv1alpha1.ReasonOOMKilled, fmt.Sprintf("the command in pod %s was killed with exit code %d: it used more memory than its limit",
			pod.Name, command.ExitCode)
	case reasonStartError, reasonContainerCannotRun:
		return cnatv1alpha1.ReasonStartError, fmt.Sprintf("the command in pod %s could not be started (exit code %d): %s",
			pod.Name, command.ExitCode, command.Message)
	}
	return cnatv1alpha1.ReasonNonZeroExitCode, fmt.Sprintf("the command in pod %s ended with exit code %d", pod.Name, command.ExitCode)
}

// endedBeforeDeadline reports whether a command ended before the kubelet could stop it because of the activeDeadlineSeconds of the pod.
// Both times are of the kubelet.
func endedBeforeDeadline(pod *corev1.Pod, command *corev1.ContainerStateTerminated) bool {
	start, limit := pod.Status.StartTime, pod.Spec.ActiveDeadlineSeconds
	return start != nil && limit != nil && command.FinishedAt.Time.Before(start.Add(seconds(*limit)))
}

// isStopped reports whether a command ended after the deletion of its pod was requested, or its end is not known and the pod was deleted.
func isStopped(pod *corev1.Pod, command *corev1.ContainerStateTerminated) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	requested := pod.DeletionTimestamp.Add(-seconds(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)))
	return command == nil || !command.FinishedAt.Time.Before(requested)
}

// disruption returns why Kubernetes ended a pod, from the condition DisruptionTarget, or "" if it did not: a preemption, an eviction, a
// taint, the end of the node, or the pod garbage collector.
func disruption(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return joinNonEmpty(": ", "Kubernetes disrupted the pod", c.Reason, c.Message)
		}
	}
	return ""
}

// isLost reports whether the kubelet does not know how a container ended.
func isLost(command *corev1.ContainerStateTerminated) bool {
	return command != nil && command.Reason == reasonContainerStatusUnknown
}

// neverStarted reports whether the command of a pod that has failed is known not to have run. state is that of its container. A kubelet
// that fails a pod before it starts the container says so by a reason and a container that waits or has no status. It reports
// ContainerStatusUnknown for a container that ran and was lost. If a node is lost, others end its pods, while the commands may run there.
func neverStarted(pod *corev1.Pod, state corev1.ContainerState) bool {
	if pod.Status.Phase != corev1.PodFailed || state.Running != nil || state.Terminated != nil {
		return false
	}
	byKubelet := pod.Status.Reason != "" && pod.Status.Reason != reasonNodeLost
	initFailed := slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
	})
	return byKubelet || initFailed || pod.Spec.NodeName == "" && len(pod.Status.ContainerStatuses) == 0 && disruption(pod) != ""
}

// commandState returns the state of the container that runs the command, or an empty one if it is not known. The container is found by
// the name that the pod was created with: admission webhooks may insert containers before it, and the template may have been edited
// before the run was recorded. If admission gave it another name, it is found by what it runs, or is the only container.
func commandState(at *cnatv1alpha1.At, pod *corev1.Pod) corev1.ContainerState {
	name := cmp.Or(pod.Annotations[cnatv1alpha1.AnnotationContainer], containerName(at))
	for _, candidate := range []string{name, renamedContainer(at, pod.Spec.Containers)} {
		for i := range pod.Status.ContainerStatuses {
			if s := &pod.Status.ContainerStatuses[i]; s.Name == candidate {
				return s.State
			}
		}
	}
	return corev1.ContainerState{}
}

// finishTime returns when the last container of a pod ended, zero if that is not known.
func finishTime(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range pods.ContainerStatuses(pod) {
		if t := status.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

// otherFailure describes why a pod failed whose command did not end, "" if that is not known.
func otherFailure(pod *corev1.Pod) string {
	for _, status := range pods.ContainerStatuses(pod) {
		if t := status.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("container %s ended with exit code %d (%s)", status.Name, t.ExitCode, cmp.Or(t.Reason, "Error"))
		}
	}
	return pod.Status.Message
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
