// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// wasAsked reports whether something had asked a pod to stop before its command ended, as far as the pod shows it.
func (c *Checker) wasAsked(pod *corev1.Pod) bool {
	_, stopped := c.stops[pod.UID]
	disrupted := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	return stopped || disrupted || pod.DeletionTimestamp != nil || slices.Contains([]string{"Evicted", "Preempting", "NodeShutdown", "Terminated", "DeadlineExceeded"}, pod.Status.Reason)
}

// patience is how long after its grace period the node of a stopped pod may take to end it.
const patience = 10 * time.Second

// keepsStopped checks that the operator deletes a pod that may run only after its node had the time to end it: A24.
func (c *Checker) keepsStopped(before, pod *corev1.Pod) { //nolint:cyclop // A list of conditions.
	write, ours := c.ours[pod.ResourceVersion]
	at := c.state.Ats[ControllerOf(pod)]
	finished := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	if before == nil || !ours || write.Verb != "delete" || at == nil || pod.Spec.NodeName == "" || finished {
		return
	}
	grace := time.Duration(0)
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	since := c.stops[pod.UID].seen
	first, tried, refused := c.firstStop(pod.UID)
	if refused && pod.Status.Phase == corev1.PodPending && !slices.ContainsFunc(pod.Status.ContainerStatuses, hasStarted) {
		return // There is no log.
	}
	if !first.IsZero() && (since.IsZero() || first.Before(since)) {
		since = first
	}
	if decided := c.stopDecided(at); !decided.IsZero() && (since.IsZero() || decided.Before(since)) {
		since = decided
	}
	created := pod.CreationTimestamp.Add(-c.serverAhead())
	if at.DeletionTimestamp != nil || c.hasJumped(created, c.now.Seen) { // After a jump, it is not known how long the operator waited.
		return
	}
	asked := tried || ptr.Deref(pod.Spec.ActiveDeadlineSeconds, 0) == 1 // Its own deadline can be that of a stop.
	c.check("A24", asked, "At "+at.Name, "pod %s was deleted, but the operator did not try to stop it", pod.Name)
	waited := c.now.Seen.Sub(since)
	c.check("A24", !since.IsZero() && waited >= grace+patience-c.clockError(), "At "+at.Name,
		"pod %s was deleted %v after it was stopped, but its grace period is %v", pod.Name, waited, grace)
}

// stopDecided returns when the operator first could see that the pod of an At must end, or zero: the At was canceled, or its deadline was over.
func (c *Checker) stopDecided(at *cnatv1alpha1.At) (since time.Time) {
	note := func(t time.Time) {
		if since.IsZero() || t.Before(since) {
			since = t
		}
	}
	for _, e := range c.history[at.UID] {
		if version, ok := e.Object.(*cnatv1alpha1.At); ok && isTrue(version.Spec.Cancel) {
			note(e.Seen)
		}
	}
	ahead := c.ahead(c.now.Seen)
	if start, limit := at.Status.StartTime, at.Spec.ActiveDeadlineSeconds; start != nil && limit != nil {
		note(start.Add(time.Duration(*limit)*time.Second - ahead))
	}
	if due, ok := Due(at); ok && at.Spec.StartingDeadlineSeconds != nil {
		note(due.Add(time.Duration(*at.Spec.StartingDeadlineSeconds)*time.Second - ahead))
	}
	return since
}

func hasStarted(s corev1.ContainerStatus) bool {
	return s.State.Waiting == nil || s.RestartCount > 0
}

// firstStop returns when the operator first tried to stop or to delete a pod, or zero, and whether it tried to stop it without success.
func (c *Checker) firstStop(pod types.UID) (first time.Time, tried, refused bool) {
	for _, w := range c.writes {
		if w.Version == c.state.Pods[pod].ResourceVersion { // This write.
			break
		}
		if (w.Stops || w.Verb == "delete") && w.Precondition == pod {
			if first.IsZero() {
				first = w.Sent
			}
			tried = tried || w.Stops
			refused = refused || w.Stops && (w.Code >= http.StatusBadRequest || w.Undone)
		}
	}
	return first, tried, refused
}

// expires checks that the operator deletes an At only after its time to live: A24.
func (c *Checker) expires(at *cnatv1alpha1.At, write Write) {
	ttl, end := at.Spec.TTLSecondsAfterFinished, at.Status.CompletionTime
	c.check("A24", ttl != nil && end != nil && !c.decisiveTime(write).Add(clockError).Before(end.Add(time.Duration(*ttl)*time.Second)), "At "+at.Name, "the operator deleted the At before its time to live was over")
}
