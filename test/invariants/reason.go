// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// ended checks that the run which a status names ended as the reason says: A11. An operator that gives no reason needs a pod that
// has finished: A4.
func (c *Checker) ended(at *cnatv1alpha1.At) {
	s := &at.Status
	if s.Reason == "" {
		finished := false
		for uid := range c.setPods[at.UID] {
			phase := c.state.Pods[uid].Status.Phase
			finished = finished || phase == corev1.PodSucceeded || phase == corev1.PodFailed
		}
		c.check("A4", finished, "At "+at.Name, "the phase is DONE without a finished pod and without a reason")
		return
	}
	ran := c.setPods[at.UID][s.PodUID] != nil
	c.check("A11", ran && c.endedAs(s.Reason, at, c.state.Pods[s.PodUID]), "At "+at.Name, "the reason is %s, but no run ended so; podUID is %q", s.Reason, s.PodUID)
}

// endedAs reports whether the end of a pod of an At agrees with a reason.
func (c *Checker) endedAs(reason string, at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	exit := exitCode(pod)
	failed := exit != nil && *exit != 0
	switch reason {
	case cnatv1alpha1.ReasonCompleted:
		return pod.Status.Phase == corev1.PodSucceeded || exit != nil && *exit == 0
	case cnatv1alpha1.ReasonNonZeroExitCode, cnatv1alpha1.ReasonOOMKilled, cnatv1alpha1.ReasonStartError:
		return failed
	case cnatv1alpha1.ReasonEvicted:
		return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted"
	case cnatv1alpha1.ReasonPodFailed: // A pod that was deleted after its command had failed, or before it was bound, may not be Failed.
		return pod.Status.Phase == corev1.PodFailed || failed || c.state.Removed[pod.UID] && pod.Spec.NodeName == ""
	case cnatv1alpha1.ReasonPodLost:
		return c.state.Removed[pod.UID] || c.ownerOf(pod) != at.UID
	}
	return false
}

// exitCode returns the exit code of the command of a pod, or nil if it has not ended, or its kubelet does not know how.
func exitCode(pod *corev1.Pod) *int32 {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == CommandContainer(pod).Name && s.State.Terminated != nil && s.State.Terminated.Reason != LostContainer {
			return &s.State.Terminated.ExitCode
		}
	}
	return nil
}

// hidesPod reports whether admission has given the pod of an At another name and no owner. After a crash, nothing tells of such a pod: see
// docs/at-most-once.md.
func (c *Checker) hidesPod(at *cnatv1alpha1.At) bool {
	for _, pod := range c.state.Pods {
		if ControllerOf(pod) == "" && pod.Name == ChangedName+at.Name+"-pod" {
			return true
		}
	}
	return false
}

// missedDeadline checks the reason MissedDeadline: A11.
func (c *Checker) missedDeadline(at *cnatv1alpha1.At) {
	c.check("A11", len(c.runs[at.UID]) == 0 || c.hidesPod(at), "At "+at.Name, "the reason is MissedDeadline, but %d pods were created", len(c.runs[at.UID]))
	limit := at.Spec.StartingDeadlineSeconds
	c.check("A11", limit != nil, "At "+at.Name, "the reason is MissedDeadline, but there is no starting deadline")
	if due, ok := Due(at); ok && limit != nil {
		late := c.decidedAt(at).Sub(due)
		c.check(c.deadlines(), late >= time.Duration(*limit)*time.Second, "At "+at.Name, "the reason is MissedDeadline %v after its time, but it may start within %d seconds", late, *limit)
	}
}

// decidedAt returns when the operator can have decided that an At is done: when it wrote the status, or earlier if its clock has
// moved back since. The API counts in whole seconds.
func (c *Checker) decidedAt(at *cnatv1alpha1.At) time.Time {
	written, end := c.serverTime(c.ours[at.ResourceVersion]), ptr.Deref(at.Status.CompletionTime, metav1.Time{}).Add(time.Second)
	if end.After(written) && c.ServerAhead == nil {
		return end
	}
	return written
}

// deadlines returns the invariant of a deadline that ends an At too early.
func (c *Checker) deadlines() string {
	if c.ServerAhead != nil {
		return "A14"
	}
	return "A11"
}

// hasForeignPod reports whether there was a pod without a controller, or with one other than an At, with the name of a pod of an At.
func (s *State) hasForeignPod(at *cnatv1alpha1.At) bool {
	for _, pod := range s.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		foreign := owner == nil || owner.Kind != "At"
		name := strings.TrimPrefix(pod.Name, ChangedName)
		if foreign && (name == at.Name+"-pod" || strings.HasPrefix(name, at.Name+"-pod-")) {
			return true
		}
	}
	return false
}

// waitsForUser reports whether an At waits for a user according to its condition Scheduled, and the At shows that this is true.
func waitsForUser(at *cnatv1alpha1.At, scheduled *metav1.Condition) bool {
	if scheduled.Status != metav1.ConditionFalse {
		return false
	}
	switch scheduled.Reason {
	case cnatv1alpha1.ReasonSuspended:
		return ptr.Deref(at.Spec.Suspend, false)
	case cnatv1alpha1.ReasonInvalidSchedule:
		_, ok := Due(at)
		return !ok
	case cnatv1alpha1.ReasonInvalidCommand:
		return !splits(at.Spec.Command)
	case cnatv1alpha1.ReasonInvalidTemplate:
		return at.Spec.Template != nil
	}
	return false
}

// splits reports whether a command has words and, as far as the tests need it, no open quote and no invalid character.
func splits(command string) bool {
	open := slices.ContainsFunc([]string{"'", `"`}, func(quote string) bool { return strings.Count(command, quote)%2 != 0 })
	return strings.TrimSpace(command) != "" && !open && !strings.Contains(command, "\x00")
}
