// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
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
	// Reason is a terminal reason of the API. Message describes what is known, and Remedy, if it is not empty, what to
	// do. Text has both, and says what is proven.
	Reason, Message, Remedy string
	// ExitCode is the exit code of the command, or nil if it is not proven. Output is its termination message, or "".
	ExitCode *int32
	Output   string
	// ByDeadline is true if the kubelet ended the pod because of its activeDeadlineSeconds. A stop by the operator
	// lowers them.
	ByDeadline bool
	// Stopped is true if the command may have ended because something had asked the pod to stop.
	Stopped bool
}

// Text returns what a user reads about an end. If there is no exit code, it says whether the command ran.
func (e End) Text() string {
	claim := map[Proof]string{NotRun: "the command did not run", Unknown: "the command may have run"}[e.Proof]
	if e.ExitCode != nil {
		claim = ""
	}
	return JoinNonEmpty(". ", JoinNonEmpty("; ", e.Message, claim), e.Remedy)
}

// RanAgain returns an end whose pod shows that its node has started the command a second time. No exit code speaks for
// both runs.
func (e End) RanAgain() End {
	e.Proof, e.Reason = Unknown, cnatv1alpha1.ReasonRanAgain
	e.Message = "the node started the command again in the same pod, so it ran, or began to run, more than once; " + e.Message
	return e
}

// EndOf returns how a pod of the At ended. Call it if the pod has finished or its command has ended. The exit code that
// the status has recorded for this pod takes precedence over what the pod shows later.
func EndOf(at *cnatv1alpha1.At, pod *corev1.Pod) End {
	command := CommandState(at, pod).Terminated
	e := End{Stopped: stoppedBy(pod, command) != "", ByDeadline: pod.Status.Reason == reasonDeadlineExceeded}
	recorded := at.Status.ExitCode != nil && at.Status.PodUID == pod.UID
	switch {
	case recorded: // It was seen before anything stopped the pod.
		e.ExitCode, e.Output = at.Status.ExitCode, at.Status.Output
	case hasEnded(at, command):
		e.ExitCode, e.Output = ptr.To(command.ExitCode), tail(command.Message)
	}
	switch init := failedInit(at, pod); {
	case e.ExitCode != nil && *e.ExitCode != 0:
		e.Proof = Failed
	case e.ExitCode != nil && (recorded || !e.Stopped):
		e.Proof, e.ByDeadline, e.Stopped = Succeeded, false, false
	case e.ExitCode == nil && init != nil:
		e.Proof, e.Output = NotRun, tail(init.State.Terminated.Message)
	case e.ExitCode == nil && isExecFailure(at, pod):
		e.Proof = NotRun
	}
	e.describe(pod, command)
	return e
}

// EndOfDeleted returns how a pod that no longer exists ended, from its last state. It returns false if the state does
// not prove it.
func EndOfDeleted(at *cnatv1alpha1.At, last *corev1.Pod) (End, bool) {
	if last == nil || !pods.IsFinished(last) && !CommandEnded(at, last) {
		return End{}, false
	}
	return EndOf(at, last), true
}

// EndOfUnbound returns the end of a pod that was deleted before it was bound to a node. No kubelet can start a
// container of it.
func EndOfUnbound(pod *corev1.Pod) End {
	return End{Proof: NotRun, Reason: cnatv1alpha1.ReasonNotStarted, Stopped: true, Message: JoinNonEmpty(": ",
		"pod "+pod.Name+" was deleted before it was bound to a node", Disruption(pod))}
}

// RecordedEnd returns the end of the newest attempt from the status, after its pod is gone. It returns false if the
// status does not record how the command ended.
func RecordedEnd(s *cnatv1alpha1.AtStatus) (End, bool) {
	if s.ExitCode == nil {
		return End{}, false
	}
	e := End{Proof: Failed, Reason: cnatv1alpha1.ReasonNonZeroExitCode, ExitCode: s.ExitCode, Output: s.Output}
	if *s.ExitCode == 0 {
		e.Proof, e.Reason = Succeeded, cnatv1alpha1.ReasonCompleted
	}
	e.Message = fmt.Sprintf("the command in pod %s ended with exit code %s", s.PodName, exitCode(*s.ExitCode))
	return e, true
}

// ExitSeen returns the exit code and the output of the command of a pod that has not ended. The status must record
// them, because later changes may hide them. It returns nil if the command has not ended, or if it ended with 0 after
// something had asked the pod to stop.
func ExitSeen(at *cnatv1alpha1.At, pod *corev1.Pod) (code *int32, output string) {
	command := CommandState(at, pod).Terminated
	pastDeadline := pod.Spec.ActiveDeadlineSeconds != nil && !endedBeforeDeadline(pod, command) // The kubelet shows the reason at the end.
	if !hasEnded(at, command) || command.ExitCode == 0 && (pastDeadline || stoppedBy(pod, command) != "") {
		return nil, ""
	}
	return ptr.To(command.ExitCode), tail(command.Message)
}

// CommandStarted reports whether the container of the command has started. The cache does not show a container that
// runs in a pod that runs, unless it was restarted.
func CommandStarted(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	s := commandStatus(at, pod)
	if s == nil {
		return pod.Status.Phase != corev1.PodPending && pod.Status.Phase != ""
	}
	return s.State.Running != nil || s.State.Terminated != nil
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
	name := spec.ContainerName(&at.Spec)
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// madeUpCode is the exit code that CRI-O reports, with the reason Error and an ID, for a container whose exit file is
// gone, and containerd for a container whose shim died. It proves nothing, unless the user has said that the command
// itself exits with it.
const madeUpCode = 255

// hasEnded reports whether a container has ended with the exit code of its process.
func hasEnded(at *cnatv1alpha1.At, c *corev1.ContainerStateTerminated) bool {
	return isExit(c) && (c.ExitCode != madeUpCode || slices.Contains(at.Spec.RetryExitCodes, madeUpCode))
}

func isExit(c *corev1.ContainerStateTerminated) bool {
	return c != nil && c.ContainerID != "" && c.ExitCode >= 0 && c.ExitCode <= madeUpCode &&
		slices.Contains([]string{reasonError, reasonCompleted, reasonOOMKilled}, c.Reason)
}

// failedInit returns the init container that has failed the pod before any container of the pod proper was created, or
// nil. It counts only if it can never be restarted, and if nothing else ended the pod.
func failedInit(at *cnatv1alpha1.At, pod *corev1.Pod) *corev1.ContainerStatus {
	if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != "" || Disruption(pod) != "" || commandStatus(at, pod) == nil {
		return nil
	}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.State.Waiting == nil || s.RestartCount > 0 || s.ContainerID != "" || s.LastTerminationState != (corev1.ContainerState{}) {
			return nil
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		restarts := slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == s.Name && spec.MayRestart(c) })
		if t := s.State.Terminated; !restarts && isExit(t) && t.ExitCode != 0 && t.ExitCode != madeUpCode {
			return s
		}
	}
	return nil
}

// describe sets the reason and the message. If the kubelet itself failed the pod, the reason in the status of the pod
// decides.
func (e *End) describe(pod *corev1.Pod, command *corev1.ContainerStateTerminated) {
	e.Reason = cnatv1alpha1.ReasonPodFailed
	stopped, ofCommand := stoppedBy(pod, command), "the command in pod "+pod.Name
	outOfMemory := command != nil && command.Reason == reasonOOMKilled
	switch {
	case e.Proof == Succeeded:
		e.Reason, e.Message = cnatv1alpha1.ReasonCompleted, ofCommand+" ended with exit code 0"
		if outOfMemory {
			e.Message += "; a process of its container was killed at the memory limit"
		}
		return
	case e.ExitCode != nil && *e.ExitCode == 0:
		e.Message = ofCommand + " ended with exit code 0, but was interrupted and may not have finished: " + stopped
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		e.Message = fmt.Sprintf("pod %s failed: %s", pod.Name, JoinNonEmpty(": ", pod.Status.Reason, strings.TrimSpace(pod.Status.Message)))
		if e.ExitCode != nil {
			e.Message += "; exit code " + exitCode(*e.ExitCode)
		}
	case e.ExitCode != nil && outOfMemory:
		e.Reason = cnatv1alpha1.ReasonOOMKilled
		e.Message = fmt.Sprintf("%s exceeded its memory limit and was killed with exit code %d", ofCommand, *e.ExitCode)
	case e.ExitCode != nil:
		e.Reason, e.Message = cnatv1alpha1.ReasonNonZeroExitCode, JoinNonEmpty("; ", ofCommand+" ended with exit code "+exitCode(*e.ExitCode), stopped)
	case command != nil && IsStartFailure(command):
		e.Reason = cnatv1alpha1.ReasonStartError
		e.Message = fmt.Sprintf("%s failed to start (code %d): %s", ofCommand, command.ExitCode, command.Message)
	case isExit(command):
		e.Message = fmt.Sprintf("the container runtime reported exit code %d for %s, which it also does if it does not know the exit code", command.ExitCode, ofCommand)
	case command != nil:
		e.Message = fmt.Sprintf("it is unknown how %s ended: %s", ofCommand,
			JoinNonEmpty(": ", fmt.Sprintf("code %d", command.ExitCode), command.Reason, command.Message))
	default:
		e.Message = JoinNonEmpty(": ", fmt.Sprintf("pod %s ended before the operator saw its command end", pod.Name), otherFailure(pod))
	}
	e.disrupt(pod)
}

// disrupt adds what disrupted a pod, which is the reason if it ended the command.
func (e *End) disrupt(pod *corev1.Pod) {
	disruption := Disruption(pod)
	if pod.Status.Reason == reasonEvicted || disruption != "" && e.ExitCode != nil && *e.ExitCode > signalCode {
		e.Reason = cnatv1alpha1.ReasonEvicted
	}
	if !strings.Contains(e.Message, disruption) {
		e.Message = JoinNonEmpty("; ", e.Message, disruption)
	}
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

// tail returns the last maxOutput bytes of a text as valid UTF-8 that begins with a whole character. The kubelet also
// keeps the end of a log.
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
