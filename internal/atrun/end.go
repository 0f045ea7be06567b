// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package atrun

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
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/pods"
)

// maxOutput bounds status.output, in bytes.
const maxOutput = 2048

// Reasons from the kubelet and container runtimes, for which Kubernetes has no constants.
const (
	reasonDeadlineExceeded   = "DeadlineExceeded" // of a pod: its activeDeadlineSeconds are over
	reasonEvicted            = "Evicted"          // of a pod
	reasonError              = "Error"            // of a container: its process ended with a code other than 0
	reasonCompleted          = "Completed"        // of a container: its process ended with code 0
	reasonOOMKilled          = "OOMKilled"        // of a container
	reasonStartError         = "StartError"       // of a container, containerd: its start failed
	reasonContainerCannotRun = "ContainerCannotRun"
)

// Proof is what the end of a pod proves about the command.
type Proof int

const (
	// Unknown means that the command may have run, may have succeeded, or may still run.
	Unknown Proof = iota
	// NotRun means that the command did not run.
	NotRun
	// Failed means that the command ended with an exit code other than 0.
	Failed
	// Succeeded means that the command ended with exit code 0.
	Succeeded
)

// End is how an attempt ended.
type End struct {
	// Proof is what is proven about the command.
	Proof Proof
	// Reason is a terminal reason of the API, and Message describes what is known and what is not.
	Reason, Message string
	// ExitCode is the exit code of the command, or nil if it is not proven. Output is its termination message, or "".
	ExitCode *int32
	Output   string
	// Finished is when the last container ended according to the kubelet, or zero if that is not known.
	Finished time.Time
	// ByDeadline is true if the kubelet ended the pod because of its activeDeadlineSeconds, from the At or from the template.
	ByDeadline bool
	// Stopped is true if the command may have ended because its pod was deleted.
	Stopped bool
}

// EndOf returns how a pod of the At ended. Call it if the pod has finished or its command has ended. The exit code that the status has
// recorded for this pod takes precedence over what the pod shows later.
func EndOf(at *cnatv1alpha1.At, pod *corev1.Pod) End {
	command := CommandState(at, pod).Terminated
	byKubelet := pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != ""
	e := End{
		Finished: finishTime(pod), Stopped: isStopped(pod, command),
		ByDeadline: byKubelet && pod.Status.Reason == reasonDeadlineExceeded,
	}
	recorded := at.Status.ExitCode != nil && at.Status.PodUID == pod.UID
	switch {
	case recorded: // It was seen.
		e.ExitCode, e.Output = at.Status.ExitCode, at.Status.Output
		e.Stopped = e.Stopped && *e.ExitCode != 0
	case hasEnded(command): // 1 and 2
		e.ExitCode, e.Output = ptr.To(command.ExitCode), tail(command.Message)
	case initFailed(at, pod): // 3
		e.Proof = NotRun
	}
	switch {
	case e.ExitCode == nil:
	case *e.ExitCode != 0:
		e.Proof = Failed
	case recorded || !e.ByDeadline || endedBeforeDeadline(pod, command): // Otherwise the kubelet may have stopped it.
		e.Proof, e.ByDeadline = Succeeded, false
	}
	e.describe(pod, command, byKubelet)
	return e
}

// EndOfDeleted returns how a pod that no longer exists ended, from its last state. It returns false if the state does not prove it.
func EndOfDeleted(at *cnatv1alpha1.At, last *corev1.Pod) (End, bool) {
	switch {
	case pods.IsFinished(last) || CommandEnded(at, last):
		return EndOf(at, last), true
	case last.Spec.NodeName == "": // 4: no kubelet can start a container of a pod that was deleted before it was bound.
		return End{Proof: NotRun, Reason: cnatv1alpha1.ReasonNotStarted, Stopped: true, Message: JoinNonEmpty(": ",
			"pod "+last.Name+" was deleted before it was bound to a node: the command did not run", pods.WaitingReason(last), Disruption(last))}, true
	}
	return End{}, false
}

// RecordedEnd returns the end of the newest attempt from the status, after its pod is gone. It returns false if the status does not record
// how the command ended.
func RecordedEnd(s *cnatv1alpha1.AtStatus) (End, bool) {
	if s.ExitCode == nil {
		return End{}, false
	}
	e := End{Proof: Failed, Reason: cnatv1alpha1.ReasonNonZeroExitCode, ExitCode: s.ExitCode, Output: s.Output}
	if *s.ExitCode == 0 {
		e.Proof, e.Reason = Succeeded, cnatv1alpha1.ReasonCompleted
	}
	e.Message = fmt.Sprintf("the command in pod %s ended with exit code %d", s.PodName, *s.ExitCode)
	return e, true
}

// ExitSeen returns the exit code and the output of the command of a pod that has not ended. The status must record them, because later
// changes may hide them. It returns nil if the command has not ended, or if it ended with 0 after its deadline: the kubelet may have
// stopped it.
func ExitSeen(at *cnatv1alpha1.At, pod *corev1.Pod) (code *int32, output string) {
	command := CommandState(at, pod).Terminated
	if !hasEnded(command) || command.ExitCode == 0 && pod.Spec.ActiveDeadlineSeconds != nil && !endedBeforeDeadline(pod, command) {
		return nil, ""
	}
	return ptr.To(command.ExitCode), tail(command.Message)
}

// CommandEnded reports whether the container of the command has terminated, for whatever reason.
func CommandEnded(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	return CommandState(at, pod).Terminated != nil
}

// CommandState returns the state of the container that runs the command, or an empty state if the pod does not show it.
func CommandState(at *cnatv1alpha1.At, pod *corev1.Pod) corev1.ContainerState {
	if s := commandStatus(at, pod); s != nil {
		return s.State
	}
	return corev1.ContainerState{}
}

func commandStatus(at *cnatv1alpha1.At, pod *corev1.Pod) *corev1.ContainerStatus {
	name := atspec.ContainerName(&at.Spec)
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// hasEnded reports whether a container has ended with the exit code of its process.
func hasEnded(c *corev1.ContainerStateTerminated) bool {
	return c != nil && c.ContainerID != "" && c.ExitCode >= 0 && c.ExitCode <= 255 &&
		slices.Contains([]string{reasonError, reasonCompleted, reasonOOMKilled}, c.Reason)
}

// initFailed reports whether an init container has failed the pod before the container of the command was created.
func initFailed(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	command := commandStatus(at, pod)
	if pod.Status.Phase != corev1.PodFailed || command == nil || command.State.Waiting == nil || command.RestartCount > 0 ||
		command.ContainerID != "" || command.LastTerminationState != (corev1.ContainerState{}) {
		return false
	}
	return slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		sidecar := slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == s.Name && pods.IsSidecar(&c) })
		return !sidecar && hasEnded(s.State.Terminated) && s.State.Terminated.ExitCode != 0
	})
}

// describe sets the reason and the message. If the kubelet itself failed the pod, the reason in the status of the pod decides.
func (e *End) describe(pod *corev1.Pod, command *corev1.ContainerStateTerminated, byKubelet bool) {
	switch {
	case e.Proof == Succeeded:
		e.Reason, e.Message = cnatv1alpha1.ReasonCompleted, fmt.Sprintf("the command in pod %s ended with exit code 0", pod.Name)
		return
	case byKubelet:
		e.Reason = cnatv1alpha1.ReasonPodFailed
		if pod.Status.Reason == reasonEvicted {
			e.Reason = cnatv1alpha1.ReasonEvicted
		}
		e.Message = fmt.Sprintf("pod %s failed: %s", pod.Name, JoinNonEmpty(": ", pod.Status.Reason, strings.TrimSpace(pod.Status.Message)))
	case e.ExitCode != nil && command != nil && command.Reason == reasonOOMKilled:
		e.Reason = cnatv1alpha1.ReasonOOMKilled
		e.Message = fmt.Sprintf("the command in pod %s exceeded its memory limit and was killed with exit code %d", pod.Name, *e.ExitCode)
	case e.ExitCode != nil:
		e.Reason, e.Message = cnatv1alpha1.ReasonNonZeroExitCode, fmt.Sprintf("the command in pod %s ended with exit code %d", pod.Name, *e.ExitCode)
	case command != nil && (command.Reason == reasonStartError || command.Reason == reasonContainerCannotRun):
		e.Reason = cnatv1alpha1.ReasonStartError
		e.Message = fmt.Sprintf("the command in pod %s failed to start (code %d): %s", pod.Name, command.ExitCode, command.Message)
	case command != nil:
		e.Reason = cnatv1alpha1.ReasonPodFailed
		e.Message = fmt.Sprintf("it is unknown how the command in pod %s ended: %s", pod.Name,
			JoinNonEmpty(": ", fmt.Sprintf("code %d", command.ExitCode), command.Reason, command.Message))
	default:
		e.Reason = cnatv1alpha1.ReasonPodFailed
		e.Message = JoinNonEmpty(": ", fmt.Sprintf("pod %s ended before the operator saw its command end", pod.Name), otherFailure(pod))
	}
	e.Message += map[Proof]string{NotRun: "; the command did not run", Unknown: "; the command may have run"}[e.Proof]
	e.Message = JoinNonEmpty("; ", e.Message, Disruption(pod))
}

// endedBeforeDeadline reports whether a command ended before the kubelet could stop it because of the activeDeadlineSeconds of the pod.
// Both times come from the kubelet.
func endedBeforeDeadline(pod *corev1.Pod, command *corev1.ContainerStateTerminated) bool {
	start, limit := pod.Status.StartTime, pod.Spec.ActiveDeadlineSeconds
	return start != nil && limit != nil && command.FinishedAt.Time.Before(start.Add(atspec.Seconds(*limit)))
}

// isStopped reports whether a command may have ended because its pod was deleted. The times have whole seconds: a command that ended in the
// second of the deletion may have been stopped.
func isStopped(pod *corev1.Pod, command *corev1.ContainerStateTerminated) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	requested := pod.DeletionTimestamp.Add(-atspec.Seconds(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)))
	return command == nil || !command.FinishedAt.Time.Before(requested)
}

// Disruption returns why Kubernetes ended a pod, from the condition DisruptionTarget, or "" if it did not. The reason is a preemption, an
// eviction, a taint, the end of the node, or the pod garbage collector.
func Disruption(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return JoinNonEmpty(": ", "Kubernetes disrupted the pod", c.Reason, c.Message)
		}
	}
	return ""
}

// finishTime returns when the last container of a pod ended, or zero if that is not known.
func finishTime(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range pods.ContainerStatuses(pod) {
		if t := status.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

// otherFailure describes why a pod failed whose command did not end, or returns "" if that is not known.
func otherFailure(pod *corev1.Pod) string {
	for _, status := range pods.ContainerStatuses(pod) {
		if t := status.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("container %s ended with exit code %d (%s)", status.Name, t.ExitCode, cmp.Or(t.Reason, reasonError))
		}
	}
	return pod.Status.Message
}

// tail returns the last maxOutput bytes of a text as valid UTF-8 that begins with a whole character. The kubelet also keeps the end of a
// log.
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

// JoinNonEmpty joins the parts that are not empty.
func JoinNonEmpty(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}
