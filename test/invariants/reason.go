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

// ended checks that the run in a status ended for the reason in the status: A11. An operator that gives no reason needs a pod that has
// finished: A4.
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
	c.check("A11", ran && c.endedAs(s.Reason, at, c.state.Pods[s.PodUID]), "At "+at.Name, "the reason is %s, but no run ended in that way; podUID is %q", s.Reason, s.PodUID)
}

// endedAs reports whether the end of a pod of an At agrees with a reason.
func (c *Checker) endedAs(reason string, at *cnatv1alpha1.At, pod *corev1.Pod) bool { //nolint:cyclop // one case for each reason
	exit, end := c.codeOf(pod), termination(pod)
	failed := exit != nil && *exit != 0
	switch reason {
	case cnatv1alpha1.ReasonCompleted:
		run := c.Runs[pod.UID]
		late := run != nil && !run.Asked.IsZero() && run.Ended.After(run.Asked)
		return exit != nil && *exit == 0 && !late
	case cnatv1alpha1.ReasonNonZeroExitCode, cnatv1alpha1.ReasonOOMKilled:
		return failed || showsLost(at, pod)
	case cnatv1alpha1.ReasonStartError:
		return end != nil && (end.Reason == cnatv1alpha1.ReasonStartError || end.Reason == "ContainerCannotRun")
	case cnatv1alpha1.ReasonEvicted:
		return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted"
	case cnatv1alpha1.ReasonPodFailed: // A terminating pod may not be Failed.
		succeeded := pod.Status.Phase == corev1.PodSucceeded
		return pod.Status.Phase == corev1.PodFailed || failed || end != nil && (exitCode(pod) == nil || c.wasAsked(pod)) || succeeded && (exitCode(pod) == nil || c.renamed(pod))
	case cnatv1alpha1.ReasonPodLost:
		return c.state.Removed[pod.UID] || c.ownerOf(pod) != at.UID
	}
	return false
}

// codeOf returns the exit code of the command of a pod, as its node knows it or else from its status. It returns nil if the command has not
// ended, or if its exit code is unknown.
func (c *Checker) codeOf(pod *corev1.Pod) *int32 {
	if c.Runs == nil {
		return exitCode(pod)
	}
	if run := c.Runs[pod.UID]; run != nil && !run.Ended.After(c.now.Seen) {
		return run.Code
	}
	return nil
}

// renamed reports whether admission has changed the name of the container that runs the command. If the answer to the create was lost, that
// container cannot be identified.
func (c *Checker) renamed(pod *corev1.Pod) bool {
	return c.ChangesIdentity && CommandContainer(pod).Name != pod.Annotations[cnatv1alpha1.AnnotationContainer]
}

// termination returns how the container of the command of a pod ended, or nil if the status of the pod does not show its end.
func termination(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == CommandContainer(pod).Name {
			return s.State.Terminated
		}
	}
	return nil
}

// lostCode is the exit code that runtimes write for a container whose exit code they have lost.
const lostCode = 255

// showsLost reports whether an At accepts lostCode as the exit code of its command, and its pod shows it.
func showsLost(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	end := termination(pod)
	return slices.Contains(at.Spec.RetryExitCodes, lostCode) && end != nil && end.ExitCode == lostCode && end.ContainerID != "" && end.Reason == "Error"
}

// exitCode returns the exit code of the command of a pod as its status proves it, or nil.
func exitCode(pod *corev1.Pod) *int32 {
	end := termination(pod)
	if end == nil || end.ContainerID == "" || end.ExitCode == lostCode || !slices.Contains([]string{"Error", "Completed", "OOMKilled"}, end.Reason) {
		return nil
	}
	return &end.ExitCode
}

// missedDeadline checks the reason MissedDeadline: A11.
func (c *Checker) missedDeadline(at *cnatv1alpha1.At) {
	for uid := range c.runs[at.UID] {
		c.check("A11", !c.ran(c.state.Pods[uid]) || !c.couldKnow(at, c.state.Pods[uid]), "At "+at.Name, "the reason is MissedDeadline, but the command ran in pod %s", c.state.Pods[uid].Name)
	}
	limit := at.Spec.StartingDeadlineSeconds
	c.check("A11", limit != nil, "At "+at.Name, "the reason is MissedDeadline, but there is no starting deadline")
	if due, ok := Due(at); ok && limit != nil {
		late := c.decidedAt(at).Sub(due)
		c.check(c.deadlines(), late >= time.Duration(*limit)*time.Second, "At "+at.Name, "the reason is MissedDeadline %v after its time, but it may start within %d seconds", late, *limit)
	}
}

// decidedAt returns when the operator can have decided that an At is done: when it wrote the status, or earlier if its clock has moved back
// since. API times have whole seconds.
func (c *Checker) decidedAt(at *cnatv1alpha1.At) time.Time {
	written, end := c.decisiveTime(c.ours[at.ResourceVersion]), ptr.Deref(at.Status.CompletionTime, metav1.Time{}).Add(time.Second)
	if end.After(written) && (c.ServerAhead == nil || len(c.Jumps) > 0) {
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

// waitsForUser reports whether an At waits for a user according to its condition Scheduled, and the At confirms this.
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
