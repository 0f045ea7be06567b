// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// progressDeadline returns spec.progressDeadlineSeconds with its default.
func progressDeadline(set *appv1alpha1.PodSet) time.Duration {
	return time.Duration(cmp.Or(set.Spec.ProgressDeadlineSeconds, 600)) * time.Second
}

// progress is what the checker knows about the progress of a PodSet.
type progress struct {
	// last is when a pod last was created, was deleted, or became Ready. since is when the PodSet last began not to match its spec, or zero
	// if it has matched its spec since matched. before is when it last began not to match before that.
	last, since, matched, before time.Time
}

// unseenTime is how long a PodSet may match its spec without a status that shows it.
const unseenTime = 2 * time.Second

// noteProgress records a change of a PodSet, or of a pod that it controls. before is the previous state of the pod.
func (c *Checker) noteProgress(set *appv1alpha1.PodSet, before, pod *corev1.Pod) {
	p := c.progress[set.UID]
	if p == nil {
		p = &progress{}
		c.progress[set.UID] = p
	}
	if pod != nil && (before == nil || isReady(pod) && !isReady(before) || pod.DeletionTimestamp != nil && before.DeletionTimestamp == nil || c.state.Removed[pod.UID]) {
		p.last = c.now.Seen
	}
	switch {
	case c.matches(set) && !p.since.IsZero():
		p.before, p.since, p.matched = p.since, time.Time{}, c.now.Seen
	case c.matches(set) || !p.since.IsZero():
	case !p.before.IsZero() && c.now.Seen.Sub(p.matched) <= unseenTime+time.Duration(set.Spec.MinReadySeconds)*time.Second: // The operator may not have reported it.
		p.since = p.before
	default:
		p.since = c.now.Seen
	}
	c.noteStuck(set, p)
}

// matches reports whether a PodSet has what its spec asks for, or must not get it.
func (c *Checker) matches(set *appv1alpha1.PodSet) bool {
	if c.state.Removed[set.UID] || set.DeletionTimestamp != nil || set.Annotations[appv1alpha1.AnnotationPaused] == "true" {
		return true
	}
	active, current := c.state.Active(set.UID), c.revisions[set.UID][set.Generation]
	ready := count(active, func(pod *corev1.Pod) bool {
		return isReady(pod) && (!current.replaces || CommandContainer(pod).Image == current.image)
	})
	return len(active) == replicas(set) && ready == replicas(set)
}

// noteStuck begins or ends the spell of a PodSet that makes no progress.
func (c *Checker) noteStuck(set *appv1alpha1.PodSet, p *progress) {
	from := p.since
	if p.last.After(from) {
		from = p.last
	}
	old, open := c.stuck[set.UID]
	if open && !p.since.IsZero() && old.from.Equal(from) {
		return
	}
	if open {
		old.to = c.now.Seen
		c.over = append(c.over, old)
		delete(c.stuck, set.UID)
	}
	if !p.since.IsZero() {
		c.stuck[set.UID] = spell{owner: set.UID, cause: appv1alpha1.ReasonProgressDeadlineExceeded, from: from, after: progressDeadline(set)}
	}
}

// tooEarly checks a status that starts to report that a PodSet makes no progress: P14. Its times come from the clock that decides for the
// operator. A pod that is Ready and not available yet will make progress.
func (c *Checker) tooEarly(before, set *appv1alpha1.PodSet, write Write) { //nolint:cyclop // A list of conditions.
	progress := meta.FindStatusCondition(set.Status.Conditions, appv1alpha1.ConditionProgressing)
	if before == nil || progress == nil || progress.Reason != appv1alpha1.ReasonProgressDeadlineExceeded || c.isOutdated(set, write) {
		return
	}
	if old := meta.FindStatusCondition(before.Status.Conditions, progress.Type); old != nil && old.Reason == progress.Reason {
		return
	}
	last := c.reportedSince(set.UID)
	if last.IsZero() {
		last = c.progress[set.UID].since
	}
	now := write.Sent.Add(c.ahead(write.Sent))
	if c.hasJumped(time.Time{}, write.Sent) { // The status may have a time from before.
		return
	}
	last = last.Add(c.ahead(last))
	for _, pod := range c.state.owned[set.UID] {
		if c.isUnanswered(pod) {
			return
		}
	}
	for _, pod := range c.state.owned[set.UID] {
		finished := pod.DeletionTimestamp == nil && !c.state.IsActive(pod) // It was no progress.
		if c.state.Removed[pod.UID] || finished || c.byUID[pod.UID].Sent.After(write.Sent) {
			continue
		}
		times := []time.Time{pod.CreationTimestamp.Time}
		if pod.DeletionTimestamp != nil {
			times = append(times, deletionRequested(pod))
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				available := condition.LastTransitionTime.Add(time.Duration(set.Spec.MinReadySeconds) * time.Second)
				if set.Spec.MinReadySeconds > 0 && available.After(now.Add(-clockError)) {
					return
				}
				times = append(times, available)
			}
		}
		last = slices.MaxFunc(append(times, last), time.Time.Compare)
	}
	c.check("P14", now.Sub(last) >= progressDeadline(set)-c.clockError(), "PodSet "+set.Name, "the status reports a lack of progress %v after a change, but the deadline is %v",
		now.Sub(last), progressDeadline(set))
}

// reportedSince returns since when the statuses of a PodSet have reported that it does not match its spec, or zero if the last one does not. The
// operator may not have seen that the PodSet matched its spec for a while: its caches may have been behind, or empty.
func (c *Checker) reportedSince(set types.UID) (since time.Time) {
	for _, e := range c.history[set] {
		if e.Version >= c.now.Version {
			break
		}
		progressing := meta.IsStatusConditionTrue(e.Object.(*appv1alpha1.PodSet).Status.Conditions, appv1alpha1.ConditionProgressing)
		switch {
		case !progressing:
			since = time.Time{}
		case since.IsZero():
			since = e.Seen
			if write, ours := c.ours[e.Object.GetResourceVersion()]; ours { // It can have arrived late.
				since = write.Sent
			}
		}
	}
	return since
}

// isUnanswered reports whether the operator may not know of a pod, or of its deletion, because it received no response to its request.
func (c *Checker) isUnanswered(pod *corev1.Pod) bool {
	return c.byUID[pod.UID].Fault != "" || slices.ContainsFunc(c.writes, func(w Write) bool {
		return w.Verb == "delete" && w.Resource == "pods" && w.Name == pod.Name && w.Fault != ""
	})
}

// counted returns the time from which a spell counts. The progress of a PodSet counts from its first status, as that of a Deployment, or from
// the first one after a pause.
func (c *Checker) counted(s spell) time.Time {
	from, counts := s.from, false
	for _, e := range c.history[s.owner] {
		if set, ok := e.Object.(*appv1alpha1.PodSet); ok {
			before := counts
			progress := meta.FindStatusCondition(set.Status.Conditions, appv1alpha1.ConditionProgressing)
			if counts = progress != nil && progress.Reason != appv1alpha1.ReasonPaused; counts && !before && e.Seen.After(from) {
				from = e.Seen
			}
		}
	}
	return from
}

// isReportedStuck checks that the status of a PodSet shows that it makes no progress: P14.
func (c *Checker) isReportedStuck(set *appv1alpha1.PodSet, s spell) {
	progress := meta.FindStatusCondition(set.Status.Conditions, appv1alpha1.ConditionProgressing)
	unknown := progress != nil && progress.Status == metav1.ConditionUnknown
	reported := progress != nil && progress.Status == metav1.ConditionFalse && progress.Reason == s.cause &&
		meta.IsStatusConditionTrue(set.Status.Conditions, appv1alpha1.ConditionDegraded) && meta.IsStatusConditionTrue(set.Status.Conditions, appv1alpha1.ConditionStalled)
	c.check("P14", reported || unknown, "PodSet "+set.Name, "nothing has changed since %v, the deadline is %v, and Progressing is %+v", s.from, s.after, progress)
}

// deleteTime is how long the operator may take to delete a pod that it must not use.
const deleteTime = 30 * time.Second

// modified reports whether admission changed the name or the controller of a pod of a PodSet, so that the operator must not use it.
func (c *Checker) modified(w Write) bool {
	return (w.Stripped || w.Renamed) && c.state.Sets[w.Owner] != nil
}

// identities checks that no pod remains whose name or controller was changed by admission: P15. A process that crashes, or does not get the
// response, does not know of the pod. A pod that another client has taken from the PodSet since remains.
func (c *Checker) identities() {
	if c.FaultsEnded.IsZero() {
		return
	}
	newest := 0
	for process := range c.started {
		newest = max(newest, process)
	}
	stays := func(uid types.UID, w Write) bool {
		since := w.Sent
		if c.FaultsEnded.After(since) {
			since = c.FaultsEnded
		}
		pod := c.state.Pods[uid]
		return w.Process == newest && w.Fault == "" && c.End.Sub(since) > deleteTime && c.state.IsActive(pod) && (w.Stripped || ControllerOf(pod) == w.Owner)
	}
	for uid, w := range c.byUID {
		if set := c.state.Sets[w.Owner]; c.modified(w) && !c.state.Deleting[set.UID] {
			c.check("P15", !stays(uid, w), "PodSet "+set.Name, "pod %s remains although admission changed its name or its controller", c.state.Pods[uid].Name)
		}
	}
}
