// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/pods"
)

// IsStartFailure reports whether a container runtime could not start a container.
func IsStartFailure(c *corev1.ContainerStateTerminated) bool {
	return c.Reason == reasonStartError || c.Reason == reasonContainerCannotRun
}

// execFailure matches what runc, and before the colon containerd, say if they could not execute the program of a
// container. They say so only of its first process, before it runs. The start can also fail after the process has
// begun, for example in a hook: with another text.
var execFailure = regexp.MustCompile(`(?:unable to start container process|starting container process caused): (?:error during container init: )?` +
	`exec: "([^"]*)": (?:stat [^:]*: )?(?:no such file or directory|executable file not found in \$PATH|permission denied|is a directory|not a directory|exec format error)`)

// isExecFailure reports whether the runtime has refused to execute the program of the command, and the node has not
// started the command before.
func isExecFailure(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	s := commandStatus(at, pod)
	if s == nil || s.RestartCount > 0 || s.State.Terminated == nil || !IsStartFailure(s.State.Terminated) {
		return false
	}
	match := execFailure.FindStringSubmatch(s.State.Terminated.Message)
	words, _ := spec.CommandWords(&at.Spec)
	return match != nil && (len(words) == 0 || match[1] == words[0])
}

// StartedAgain reports whether pod shows that its node has started the container of the command after that container
// had started before, as pod or an earlier state of it, or nil, shows. The number of restarts alone proves nothing: the
// kubelet also counts containers that never ran.
func StartedAgain(at *cnatv1alpha1.At, before, pod *corev1.Pod) bool {
	s := commandStatus(at, pod)
	if s == nil || s.RestartCount == 0 || s.State.Running == nil && !isExit(s.State.Terminated) {
		return false
	}
	if isExit(s.LastTerminationState.Terminated) {
		return true
	}
	return before != nil && CommandStarted(at, before) && restarts(at, before) < s.RestartCount
}

func restarts(at *cnatv1alpha1.At, pod *corev1.Pod) int32 {
	if s := commandStatus(at, pod); s != nil {
		return s.RestartCount
	}
	return 0
}

// AnyStarted reports whether a container of a pod has started, so that there can be a log. The cache shows no
// containers of a pod that runs.
func AnyStarted(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "" {
		return true
	}
	return slices.ContainsFunc(pods.ContainerStatuses(pod), func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.RestartCount > 0 || s.LastTerminationState.Terminated != nil
	})
}

// LostOwner reports whether admission has taken the owner and the gate of a pod that was created for the At. The label
// with the UID proves it.
func LostOwner(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	return isFree(pod) && pod.Labels[cnatv1alpha1.LabelUID] == string(at.UID)
}

// MayBeRun reports whether admission may have taken the owner, the gate, and the label with the UID of a pod that was
// created for an At.
func MayBeRun(pod *corev1.Pod) bool {
	return isFree(pod) && pod.Labels[cnatv1alpha1.LabelUID] == "" && (pod.Labels[cnatv1alpha1.LabelAt] != "" || pod.Annotations[cnatv1alpha1.AnnotationGeneration] != "")
}

// isFree reports whether a pod has no gate, and nothing controls it.
func isFree(pod *corev1.Pod) bool { return !IsGated(pod) && metav1.GetControllerOfNoCopy(pod) == nil }

// SameImages reports whether the containers of two states of a pod have the same images. A user can change them.
func SameImages(a, b *corev1.Pod) bool {
	same := func(a, b corev1.Container) bool { return a.Name == b.Name && a.Image == b.Image }
	return slices.EqualFunc(a.Spec.InitContainers, b.Spec.InitContainers, same) && slices.EqualFunc(a.Spec.Containers, b.Spec.Containers, same)
}
