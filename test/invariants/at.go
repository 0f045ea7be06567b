// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

var phases = []cnatv1alpha1.Phase{"", cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone}

// lateEdit is how shortly before a create an edit is ignored, because both requests are in flight at the same time.
const lateEdit = 500 * time.Millisecond

// at checks a change of an At: A4. Only the phases that the operator writes must move forward, because users can write the status too.
func (c *Checker) at(before, at *cnatv1alpha1.At) {
	if before != nil && before.Generation != at.Generation {
		c.edits[at.UID] = append(c.edits[at.UID], edit{before, c.now.Seen})
	}
	if before != nil && (before.Spec.Schedule != at.Spec.Schedule || before.Spec.Command != at.Spec.Command) {
		c.check("A5", before.Status.Attempts == 0, "At "+at.Name, "an edit after the start was not rejected")
	}
	if before != nil && isTrue(before.Spec.Cancel) {
		c.check("A16", isTrue(at.Spec.Cancel), "At "+at.Name, "a cancel was undone")
	}
	c.unusable(at)
	if c.specs[at.UID] == nil {
		c.specs[at.UID] = map[int64]*cnatv1alpha1.AtSpec{}
	}
	c.specs[at.UID][at.Generation] = &at.Spec
	write, ours := c.ours[at.ResourceVersion]
	if ours && write.Verb == "delete" {
		c.expires(at, write)
	}
	if !ours || write.Verb == "delete" {
		return
	}
	c.noteClaim(before, at, write)
	if before != nil {
		c.foreignConditions(before, at, before.Status.Conditions, at.Status.Conditions)
		c.attemptBegan(before, at, write)
	}
	c.answers(at, write)
	c.exitIsRecorded(at, write)
	from, to := c.phases[at.UID], at.Status.Phase
	c.check("A4", slices.Index(phases, to) >= slices.Index(phases, from), "At "+at.Name, "the phase went from %s to %s", from, to)
	c.phases[at.UID] = to
	c.ready(at)
	c.ownRun(at)
	if to != cnatv1alpha1.PhaseDone {
		return
	}
	if reason := at.Status.Reason; reason == "" || before == nil || before.Status.Reason != reason { // Otherwise it was reported earlier, perhaps by another clock.
		c.truth(at)
		c.exitCodeIsTrue(at)
		c.neverFailed(at, write)
		c.disruptionIsNamed(at, write)
	}
}

// ready checks that the condition Ready of a status agrees with its phase: A4. Tools that wait for Ats read this condition.
func (c *Checker) ready(at *cnatv1alpha1.At) {
	s := &at.Status
	blocked := slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool {
		return c.Type == cnatv1alpha1.ConditionScheduled && c.Status == metav1.ConditionFalse &&
			c.Reason != cnatv1alpha1.ReasonSuspended
	})
	want := s.Result == cnatv1alpha1.ResultSucceeded || s.Phase == cnatv1alpha1.PhasePending && !blocked && !wouldBeRejected(at)
	ready := meta.FindStatusCondition(s.Conditions, cnatv1alpha1.ConditionReady)
	got := ready != nil && ready.Status == metav1.ConditionTrue
	if isStuck(ready) { // In any phase.
		c.check("A4", !got, "At "+at.Name, "the condition Ready is True with the reason %s", ready.Reason)
		return
	}
	c.check("A4", got == want, "At "+at.Name, "the condition Ready is %+v in phase %s with result %q", ready, s.Phase, s.Result)
	stalled := meta.IsStatusConditionTrue(s.Conditions, cnatv1alpha1.ConditionStalled)
	c.check("A4", stalled || s.Result != cnatv1alpha1.ResultFailed, "At "+at.Name, "the At has failed without the condition Stalled: %s", messages(at))
}

// isStuck reports whether the condition Ready shows that a pod is left that the operator cannot stop or delete.
func isStuck(ready *metav1.Condition) bool {
	return ready != nil && (ready.Reason == cnatv1alpha1.ReasonFailedStop || ready.Reason == failedDelete)
}

// truth checks that the status of a finished At is true: A4, A11.
func (c *Checker) truth(at *cnatv1alpha1.At) {
	switch at.Status.Reason {
	default:
		c.ended(at)
	case cnatv1alpha1.ReasonMissedDeadline:
		c.missedDeadline(at)
	case cnatv1alpha1.ReasonNotStarted:
		run := c.state.Pods[at.Status.PodUID]
		taken := run != nil && ControllerOf(run) != at.UID && IsGated(run)
		c.check("A13", run == nil || taken || c.state.isNeverBound(run), "At "+at.Name, "the reason is NotStarted, but pod %s was bound, or still can be", at.Status.PodName)
		c.check("A13", run == nil || taken || !IsGated(run), "At "+at.Name, "the reason is NotStarted, but pod %s was not started before it was deleted", at.Status.PodName)
	case cnatv1alpha1.ReasonPodModified:
		c.check("A11", c.ChangesIdentity || len(c.ungated) > 0 || c.state.mayBeRun(at), "At "+at.Name, "the reason is PodModified, but nothing changed the identity of the pod or removed its gate")
	case cnatv1alpha1.ReasonCanceled:
		c.check("A16", isTrue(at.Spec.Cancel), "At "+at.Name, "the reason is Canceled, but spec.cancel is not true")
		c.hasStopped(at)
	case cnatv1alpha1.ReasonDeadlineExceeded:
		took := c.decidedAt(at).Sub(ptr.Deref(at.Status.StartTime, metav1.Time{}).Time)
		limit := time.Duration(ptr.Deref(at.Spec.ActiveDeadlineSeconds, 0)) * time.Second
		c.check(c.deadlines(), at.Spec.ActiveDeadlineSeconds != nil && took >= limit, "At "+at.Name, "the reason is DeadlineExceeded for a deadline of %v, but only %v had passed", limit, took)
		c.hasStopped(at)
	}
	for uid := range c.runs[at.UID] {
		pod := c.state.Pods[uid]
		generation, _ := strconv.ParseInt(pod.Annotations[cnatv1alpha1.AnnotationGeneration], 10, 64)
		spec := c.specs[at.UID][generation]
		if uid != at.Status.PodUID || spec == nil || strings.ContainsAny(spec.Command, "'\"\\$") {
			continue
		}
		words := strings.Fields(spec.Command)
		ran := CommandContainer(pod).Command
		c.check("A11", slices.Equal(words, ran), "At "+at.Name, "the pod is for generation %d with the words %q, but %q ran", generation, words, ran)
	}
}

// isNoRun reports whether a pod that others opened does not count before a write: it was deleted before a node had it, or the process of the write
// cannot know it, because another process created it, and users took it from the At, opened it, and deleted it.
func (c *Checker) isNoRun(at *cnatv1alpha1.At, pod *corev1.Pod, write Write) bool {
	isUnknown := c.byUID[pod.UID].Process != write.Process && ControllerOf(pod) != at.UID && c.state.Removed[pod.UID]
	return c.isUngated(pod.UID) && (c.state.isNeverBound(pod) || isUnknown)
}

// run checks a pod of an At that can run from now on, because of a write of the operator: A1, A2, A11, A17.
func (c *Checker) run(at *cnatv1alpha1.At, pod *corev1.Pod, write Write) {
	if c.runs[at.UID] == nil {
		c.runs[at.UID] = map[types.UID]bool{}
	}
	// While an At is deleted, a create can follow the deletion of its pod by the garbage collector. P5 checks that the operator could not
	// know of the deletion.
	_, deleting := c.deleted[at.UID]
	again := false
	for uid := range c.runs[at.UID] {
		earlier := c.state.Pods[uid]
		if c.isNoRun(at, earlier, write) {
			delete(c.runs[at.UID], uid)
			continue
		}
		same := c.requested(earlier) == c.requested(pod)
		again = again || same
		c.check("A17", deleting && same || c.isProven(at, earlier), "At "+at.Name, "pod %s was started, but it is not proven that the command of pod %s failed, or did not run", pod.Name, earlier.Name)
		c.check("A1", deleting || !c.mayHaveSucceeded(earlier), "At "+at.Name, "pod %s was started, but the command of pod %s may have succeeded, or may still run", pod.Name, earlier.Name)
	}
	c.runs[at.UID][pod.UID] = true
	if c.isUngated(pod.UID) { // Admission has started it.
		return
	}
	c.overlaps(at, pod, write)
	c.check("A11", at.Status.Reason != cnatv1alpha1.ReasonMissedDeadline, "At "+at.Name, "pod %s was started after the reason MissedDeadline", pod.Name)
	versions, allowed := c.known(at, write), 0
	for _, known := range versions {
		allowed = max(allowed, 1+int(ptr.Deref(known.Spec.BackoffLimit, 0)))
	}
	c.check("A1", deleting || len(c.runs[at.UID]) <= allowed, "At "+at.Name, "%d pods were started, %d are allowed", len(c.runs[at.UID]), allowed)
	c.check("A1", deleting || !again, "At "+at.Name, "pod %s was started twice", pod.Name)
	canceled := !slices.ContainsFunc(versions, func(known *cnatv1alpha1.At) bool { return !isTrue(known.Spec.Cancel) })
	c.check("A16", !canceled, "At "+at.Name, "pod %s was started although the At was canceled", pod.Name)
	c.runsLatest(at, pod, write)
	c.waitsBeforeRetry(at, pod, write)
	if due, ok := Due(at); ok && len(c.runs[at.UID]) == 1 { // An edit after the first run does not delay a retry.
		now := false // An At for now runs at once, whatever the operator's clock shows.
		for _, known := range versions {
			now = now || known.Spec.Schedule == "now"
			if earlier, _ := Due(known); earlier.Before(due) {
				due = earlier
			}
		}
		began := write
		if start, recorded := c.begins[at.UID][1]; recorded { // The clock may have moved back since.
			began = start
		}
		early := due.Sub(c.decisiveTime(began))
		c.check("A2", early <= 0 || now, "At "+at.Name, "ran %v too early", early)
		late := c.late(versions, write)
		c.check("A2", late <= 0 || AttemptOf(at, c.requested(pod)) > 1, "At "+at.Name, "ran %v after its starting deadline", late)
	}
}

// late returns how long after the latest starting deadline of some versions of an At its first pod was started, at most 0 if one of them
// has no deadline. API times have whole seconds.
func (c *Checker) late(versions []*cnatv1alpha1.At, write Write) time.Duration {
	var last time.Time
	for _, at := range versions {
		due, ok := Due(at)
		if !ok || at.Spec.StartingDeadlineSeconds == nil {
			return 0
		}
		if end := due.Add(time.Duration(*at.Spec.StartingDeadlineSeconds)*time.Second + time.Second + 2*clockError); end.After(last) {
			last = end
		}
	}
	return c.decisiveTime(write).Sub(last)
}

// known returns the latest version of an At, and earlier versions that may have been the latest that the operator knew when it sent a
// write: those before a late edit, or before an edit that the cache did not show.
func (c *Checker) known(at *cnatv1alpha1.At, write Write) []*cnatv1alpha1.At {
	versions := []*cnatv1alpha1.At{at}
	for _, e := range c.edits[at.UID] {
		if write.Sent.Before(e.seen.Add(lateEdit)) || write.StaleUntil.After(e.seen) {
			versions = append(versions, e.before)
		}
	}
	return versions
}

// mayHaveSucceeded reports whether the command of a pod ended with exit code 0, or is not known to have ended.
func (c *Checker) mayHaveSucceeded(pod *corev1.Pod) bool {
	if c.state.isNeverBound(pod) {
		return false
	}
	if exit := exitCode(pod); exit != nil {
		return *exit == 0
	}
	running := slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == CommandContainer(pod).Name && s.State.Running != nil
	})
	return running || pod.Status.Phase != corev1.PodFailed
}

var relative = regexp.MustCompile(`^now *\+ *([0-9]+) *(second|minute|hour)s?$`)

// Due returns the time of an At's schedule in the few formats that the tests use, and false for others. It intentionally does not share the
// operator's parser.
func Due(at *cnatv1alpha1.At) (time.Time, bool) {
	if at.Spec.Schedule == "now" {
		return at.CreationTimestamp.Time, true
	}
	if match := relative.FindStringSubmatch(at.Spec.Schedule); match != nil {
		n, _ := strconv.Atoi(match[1])
		unit := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour}[match[2]]
		return at.CreationTimestamp.Add(time.Duration(n) * unit), true
	}
	due, err := time.Parse(time.RFC3339, at.Spec.Schedule)
	return due, err == nil
}

// AtSettled returns why an At is not settled (A3), or "" if it is. An At is settled when it is DONE, for a reason that A4 and A11 check, or
// PENDING for a reason that lasts. No pod of an At that is DONE is still running.
func (s *State) AtSettled(at *cnatv1alpha1.At, now time.Time, full bool) string {
	if at.Status.Phase == cnatv1alpha1.PhaseDone && (!full || at.Status.Reason != "") { // Without a reason, another client wrote the phase.
		if !full {
			return ""
		}
		return s.left(at)
	}
	if at.Status.Phase == cnatv1alpha1.PhasePending && (!full || at.Status.ObservedGeneration == at.Generation) {
		if due, ok := Due(at); ok && due.Sub(now) > time.Minute && at.Status.Attempts == 0 && at.Spec.Schedule != "now" { // It needs no clock.
			return ""
		}
		if c := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled); c != nil && waitsForUser(at, c) {
			return ""
		}
	}
	if c := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled); c != nil && s.waitsForName(at, c) {
		return ""
	}
	return fmt.Sprintf("phase is %q", at.Status.Phase)
}

// left returns what is left of an At that is DONE, or "". The operator leaves a pod that a user planted, and one that admission started and of
// which no status knows.
func (s *State) left(at *cnatv1alpha1.At) string {
	for _, pod := range s.Active(at.UID) {
		foreign := pod.Annotations[Planted] != "" || AttemptOf(at, pod.Name) > at.Status.Attempts ||
			at.Status.Reason == cnatv1alpha1.ReasonPodModified && pod.UID != at.Status.PodUID // A user opened two pods, and one is recorded.
		if !foreign || IsGated(pod) {
			return fmt.Sprintf("pod %s is left although the reason is %s", pod.Name, at.Status.Reason)
		}
	}
	if at.Spec.TTLSecondsAfterFinished != nil && at.Status.CompletionTime != nil {
		return "its time to live is over, or not over yet"
	}
	return ""
}
