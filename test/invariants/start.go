// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// Run is what the node of a pod knows about its command, whether a status shows it or not.
type Run struct {
	// Started is true if the command was started, or may have been.
	Started bool
	// Code is the exit code of the command, and Ended when it ended. Code is nil if the command has not ended, or if its exit code is
	// unknown.
	Code  *int32
	Ended time.Time
	// Asked is when the node, the operator, or another controller asked the command to stop, or zero.
	Asked time.Time
}

const (
	// maxChecks is how many dry runs for one generation of an At a process may make in a minute. A back-off that doubles from one second
	// allows seven, and one more is needed if a good answer becomes a bad one.
	maxChecks = 10
	// firstRetryBackoff and lastRetryBackoff limit the back-off before a retry.
	firstRetryBackoff, lastRetryBackoff = 10 * time.Second, 6 * time.Minute
)

// failedDelete is the reason of a pod that the operator cannot delete.
const failedDelete = "FailedDelete"

func isTrue(b *bool) bool { return ptr.Deref(b, false) }

// wouldBeRejected reports whether a status shows that the pod of an At that waits would be rejected.
func wouldBeRejected(at *cnatv1alpha1.At) bool {
	ready := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionReady)
	scheduled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	return ready != nil && (ready.Reason == cnatv1alpha1.ReasonWouldBeRejected || ready.Reason == cnatv1alpha1.ReasonPodNameConflict ||
		ready.Reason == cnatv1alpha1.ReasonInvalidTemplate && (scheduled == nil || scheduled.Reason != ready.Reason))
}

// attemptBegan checks a write of the operator that records the start of an attempt, or its failure: A18, A19.
func (c *Checker) attemptBegan(before, at *cnatv1alpha1.At, write Write) {
	was, is := &before.Status, &at.Status
	if is.RetryTime != nil && was.RetryTime == nil {
		if c.failures[at.UID] == nil {
			c.failures[at.UID] = map[int32]Write{}
		}
		c.failures[at.UID][is.Attempts] = write
	}
	if is.ExitCode != nil && *is.ExitCode == 0 && is.Phase != cnatv1alpha1.PhaseDone {
		c.recorded[is.PodUID] = true
	}
	if is.Attempts == was.Attempts || !c.full {
		return
	}
	if c.begins[at.UID] == nil {
		c.begins[at.UID] = map[int32]Write{}
	}
	c.begins[at.UID][is.Attempts] = write
	subject := "At " + at.Name
	c.check("A18", is.Attempts == was.Attempts+1, subject, "the attempts went from %d to %d", was.Attempts, is.Attempts)
	if c.isUngated(at.Status.PodUID) { // Something else has started it.
		return
	}
	c.check("A18", at.DeletionTimestamp == nil && !isTrue(at.Spec.Cancel), subject, "attempt %d began although the At is canceled, or being deleted", is.Attempts)
	c.check("A18", is.Attempts > 1 || !isTrue(at.Spec.Suspend), subject, "the At has started although it is suspended")
	pod, create := c.state.Pods[at.Status.PodUID], c.byUID[at.Status.PodUID]
	own := create.Call != nil && create.Process == write.Process && (create.Fault == "")
	c.check("A21", own, subject, "attempt %d began with a pod whose create was not answered to process %d", is.Attempts, write.Process)
	c.check("A19", pod != nil && (IsGated(pod) || c.state.Removed[pod.UID]), subject, "attempt %d began with a pod that had no gate", is.Attempts)
}

// lastCheck returns the last dry run for a generation of an At whose answer the process of a write had received, or nil.
func (c *Checker) lastCheck(at *cnatv1alpha1.At, write Write) *Check {
	for _, check := range slices.Backward(c.Checks) {
		if check.Owner == at.UID && check.Process == write.Process && check.Generation == at.Generation && !check.Received.After(c.now.Seen) {
			return &check
		}
	}
	return nil
}

// answers checks that the status of an At that waits shows the answer of the last dry run: A19.
func (c *Checker) answers(at *cnatv1alpha1.At, write Write) {
	last := c.lastCheck(at, write)
	if s := &at.Status; last == nil || s.Phase != cnatv1alpha1.PhasePending || s.Attempts > 0 || s.ObservedGeneration != at.Generation {
		return
	}
	scheduled := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if scheduled == nil || scheduled.Reason != cnatv1alpha1.ReasonWaiting && scheduled.Reason != cnatv1alpha1.ReasonSuspended {
		return // The condition shows why the At does not start now.
	}
	for uid := range c.state.owned[at.UID] {
		if !c.state.Removed[uid] && c.byUID[uid].Process == write.Process { // The create itself was answered since.
			return
		}
	}
	ready := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionReady)
	aboutBudget := ready != nil && strings.Contains(ready.Message, "PodDisruptionBudget")
	if last.Verdict == Taken || isStuck(ready) || aboutBudget {
		return
	}
	if ready := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionReady); ready != nil && strings.Contains(ready.Message, "PodDisruptionBudget") {
		return // The budget would be rejected, and not the pod.
	}
	bad := last.Verdict == Rejected || last.Verdict == Changed
	c.check("A19", bad == wouldBeRejected(at), "At "+at.Name, "the verdict of the last dry run is %q, but the condition Ready is %+v", last.Verdict, meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionReady))
}

// checksAreFew checks that dry runs have a back-off: A19.
func (c *Checker) checksAreFew() {
	for i, first := range c.Checks {
		n := 0
		for _, check := range c.Checks[i:] {
			if check.Owner == first.Owner && check.Process == first.Process && check.Generation == first.Generation && check.Received.Sub(first.Received) < time.Minute {
				n++
			}
		}
		c.check("A19", n <= maxChecks, "owner "+string(first.Owner), "%d dry runs in a minute", n)
	}
}

// requested returns the name under which the operator requested a pod.
func (c *Checker) requested(pod *corev1.Pod) string {
	if write, ours := c.byUID[pod.UID]; ours && write.Requested != "" {
		return write.Requested
	}
	return pod.Name
}

// AttemptOf returns the number of the attempt of an At, from 1, whose pod has this name, or 0 if there is none.
func AttemptOf(at *cnatv1alpha1.At, pod string) int32 {
	suffix, ok := strings.CutPrefix(pod, at.Name+"-pod")
	switch {
	case !ok:
		return 0
	case suffix == "":
		return 1
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(suffix, "-"), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n) + 1
}

// isProven reports whether the node of an earlier pod of an At knows that its command has failed with an exit code that allows a retry, or
// that it did not run: A17.
func (c *Checker) isProven(at *cnatv1alpha1.At, earlier *corev1.Pod) bool {
	if c.Runs == nil {
		return true
	}
	if run := c.Runs[earlier.UID]; run == nil || !run.Started {
		return earlier.Status.Phase == corev1.PodFailed || c.state.isNeverBound(earlier)
	}
	code, codes := c.codeOf(earlier), at.Spec.RetryExitCodes
	return showsLost(at, earlier) || code != nil && *code != 0 && (len(codes) == 0 || slices.Contains(codes, *code))
}

// waitsBeforeRetry checks that a retry waits for a back-off after the record of the failure: A20.
func (c *Checker) waitsBeforeRetry(at *cnatv1alpha1.At, pod *corev1.Pod, write Write) {
	attempt := AttemptOf(at, c.requested(pod)) - 1
	if attempt < 1 || !c.full {
		return
	}
	failure, ok := c.failures[at.UID][attempt]
	c.check("A20", ok, "At "+at.Name, "pod %s was started, but no status has recorded that attempt %d failed", pod.Name, attempt)
	jumped := write.Clock.Round(0).Sub(failure.Clock.Round(0)) - write.Sent.Sub(failure.Sent)
	want := min(firstRetryBackoff<<(attempt-1), lastRetryBackoff) - clockError
	if c.ServerAhead != nil { // The operator learns the time of the API server from its responses.
		want -= time.Second
	}
	if waited := write.Sent.Sub(failure.Sent); ok && jumped.Abs() <= time.Second {
		c.check("A20", waited >= want, "At "+at.Name, "pod %s was started %v after attempt %d had failed", pod.Name, waited, attempt)
	}
}

// exitCodeIsTrue checks that the exit code in a status is that of the command: A11.
func (c *Checker) exitCodeIsTrue(at *cnatv1alpha1.At) {
	run := c.Runs[at.Status.PodUID]
	if at.Status.ExitCode == nil || c.Runs == nil {
		return
	}
	c.check("A11", *at.Status.ExitCode == lostCode && showsLost(at, c.state.Pods[at.Status.PodUID]) || run != nil && run.Code != nil && *run.Code == *at.Status.ExitCode, "At "+at.Name, "the exit code is %d, but that of pod %s is not", *at.Status.ExitCode, at.Status.PodName)
}

// exitIsRecorded checks that the status of a running At has the exit code that the pod shows, because later changes may hide it: A11. An
// exit code of 0 may be that of a command that was stopped at its deadline. Only a simulation knows what the operator's caches showed.
func (c *Checker) exitIsRecorded(at *cnatv1alpha1.At, write Write) {
	pod, s := c.state.Pods[at.Status.PodUID], &at.Status
	if pod == nil || c.state.Removed[pod.UID] || c.Runs == nil || s.Phase != cnatv1alpha1.PhaseRunning || s.RetryTime != nil || c.LaggingPods || write.StalePods || ControllerOf(pod) != at.UID || c.renamed(pod) {
		return
	}
	since, shown := c.shown[pod.UID]
	if !shown || !since.Before(write.Sent) || *exitCode(pod) == 0 && c.wasAsked(pod) || *exitCode(pod) == 0 && pod.Spec.ActiveDeadlineSeconds != nil {
		return
	}
	c.check("A11", s.ExitCode != nil && *s.ExitCode == *exitCode(pod), "At "+at.Name, "pod %s shows the exit code %d, but the status does not have it", pod.Name, *exitCode(pod))
}

// hasStopped checks that the command of a stopped At is not still running: A11.
func (c *Checker) hasStopped(at *cnatv1alpha1.At) {
	pod, run := c.state.Pods[at.Status.PodUID], c.Runs[at.Status.PodUID]
	if pod == nil || run == nil || c.ownerOf(pod) != at.UID || ControllerOf(pod) != at.UID {
		return
	}
	finished := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded || termination(pod) != nil
	runs := run.Started && c.codeOf(pod) == nil && !c.state.Removed[pod.UID] && !finished
	c.check("A11", !runs, "At "+at.Name, "the reason is %s, but the command in pod %s is still running", at.Status.Reason, pod.Name)
}

// waitsForName reports whether an At waits, according to its condition Scheduled, until its name is free, and a pod of another owner has the name:
// that of its next attempt, or of the recorded one, whose pod was deleted behind its gate. A pod that runs for the At has no other owner: admission
// has removed it.
func (s *State) waitsForName(at *cnatv1alpha1.At, scheduled *metav1.Condition) bool {
	isFirst := at.Status.Attempts <= 1 && at.Status.RetryTime == nil
	ends := isFirst && at.Spec.StartingDeadlineSeconds != nil || at.Spec.ActiveDeadlineSeconds != nil && at.Status.Attempts > 0 // A deadline ends the wait.
	if scheduled.Status != metav1.ConditionFalse || scheduled.Reason != cnatv1alpha1.ReasonPodNameConflict || ends {
		return false
	}
	for uid, pod := range s.Pods {
		n := AttemptOf(at, pod.Name)
		runs := ControllerOf(pod) == "" && pod.Labels[cnatv1alpha1.LabelUID] == string(at.UID) && !IsGated(pod)
		if !s.Removed[uid] && pod.DeletionTimestamp == nil && !runs && ControllerOf(pod) != at.UID && n > 0 && (n == at.Status.Attempts+1 || n == at.Status.Attempts) {
			return true
		}
	}
	return false
}

// mayBeRun reports whether a pod without an owner looks like one that was created for an attempt of an At, and that has lost its labels: to
// the operator, it can be the pod of a create that was not answered.
func (s *State) mayBeRun(at *cnatv1alpha1.At) bool {
	for _, pod := range s.Pods {
		marked := pod.Labels[cnatv1alpha1.LabelAt] != "" || pod.Annotations[cnatv1alpha1.AnnotationGeneration] != ""
		if AttemptOf(at, pod.Name) > 0 && ControllerOf(pod) == "" && pod.Labels[cnatv1alpha1.LabelUID] == "" && marked {
			return true
		}
	}
	return false
}
