// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//revive:disable:file-length-limit // One subject.

package invariants

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

const (
	// InjectedContainer is the name of the container that admission adds to pods.
	InjectedContainer = "proxy"
	// LostContainer is the reason of a container that a kubelet started and then lost. Its exit code is not real.
	LostContainer = "ContainerStatusUnknown"
	// ForeignCondition is a condition type that another controller maintains in the status of an object.
	ForeignCondition = "example.com/Foreign"
	// reportTime is how long the operator may take to report a crash loop or a hang, and the minimum time between changes of a report for
	// one cause.
	reportTime = time.Minute
	// clockError is the maximum error of the operator's estimate of the API server's clock: dates have whole seconds.
	clockError = 2 * time.Second
)

// IsInjected reports whether a container was not written by the user, under any name that admission gives it.
func IsInjected(name string) bool { return strings.HasSuffix(name, InjectedContainer) }

// CommandContainer returns the container that runs the command of an At, or the first one of the template of a PodSet, wherever admission
// puts it.
func CommandContainer(pod *corev1.Pod) *corev1.Container {
	for i, c := range pod.Spec.Containers {
		if !IsInjected(c.Name) && !strings.HasSuffix(c.Name, "second") { // See the templates of the simulation.
			return &pod.Spec.Containers[i]
		}
	}
	return &pod.Spec.Containers[0]
}

// OwnerKind returns the kind of the controller of a pod, or "".
func OwnerKind(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.Kind
	}
	return ""
}

// spell is a period in which a pod was in a state that its owner must report.
type spell struct {
	owner    types.UID
	pod      string
	cause    string
	from, to time.Time
	// after is how long the state may last before it must be reported.
	after time.Duration
}

// crashes returns the reason of a container of a pod that crashes again and again and does not serve, or "".
func crashes(pod *corev1.Pod) string {
	restarted := func(s corev1.ContainerStatus) bool { return s.RestartCount > 0 }
	if isReady(pod) || !slices.ContainsFunc(pod.Status.ContainerStatuses, restarted) {
		return ""
	}
	return "CrashLoopBackOff"
}

// hangs returns why a pod does not start, or "".
func hangs(pod *corev1.Pod) string {
	if pod.Status.Phase != corev1.PodPending || IsGated(pod) {
		return ""
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return w.Reason
		}
	}
	return ""
}

// noteSpell records the states of a pod that its owner must report.
func (c *Checker) noteSpell(pod *corev1.Pod) {
	owner := c.ownerOf(pod)
	cause := ""
	switch {
	case !c.state.IsActive(pod):
	case c.state.Ats[owner] != nil && pod.Annotations[Planted] == "" && !c.isUngated(pod.UID): // Those that the operator starts.
		cause = hangs(pod)
	case c.state.Sets[owner] != nil:
		cause = crashes(pod)
	}
	last, open := c.spells[pod.UID]
	if open && last.cause != cause {
		last.to = c.now.Seen
		c.over = append(c.over, last)
		delete(c.spells, pod.UID)
		open = false
	}
	if !open && cause != "" {
		c.spells[pod.UID] = spell{owner: owner, pod: pod.Name, cause: cause, from: c.now.Seen}
	}
}

// reports checks that crash loops, hangs, and PodSets without progress that lasted without faults were reported in time: P12, P14, A15.
func (c *Checker) reports() {
	all := c.over
	for _, s := range slices.AppendSeq(slices.Collect(maps.Values(c.spells)), maps.Values(c.stuck)) {
		s.to = c.End
		all = append(all, s)
	}
	for _, s := range all {
		due := c.counted(s).Add(s.after)
		if c.FaultsEnded.After(due) {
			due = c.FaultsEnded
		}
		due = due.Add(reportTime)
		if s.after > 0 { // The times of progress can come from clocks that are ahead of the one that decides.
			due = due.Add(max(c.NodesAhead-c.ahead(due), c.serverAhead()-c.ahead(due), 0))
		}
		history := c.history[s.owner]
		for i, e := range history {
			next := c.End
			if i+1 < len(history) {
				next = history[i+1].Seen
			}
			if c.FaultsEnded.IsZero() || s.after > 0 && c.hasJumped(time.Time{}, next) || !next.After(due) || !e.Seen.Before(s.to) || !due.Before(s.to) {
				continue
			}
			c.isReported(e, s)
		}
	}
}

// isReported checks that the status of the owner of a pod reports the state of the pod: P12, A15, or that it makes no progress: P14.
func (c *Checker) isReported(owner Event, s spell) {
	since := owner.Seen.Sub(s.from)
	switch o := owner.Object.(type) {
	case *appv1alpha1.PodSet:
		if s.after > 0 {
			c.isReportedStuck(o, s)
			return
		}
		silent := o.DeletionTimestamp != nil || o.Annotations[appv1alpha1.AnnotationPaused] == "true"
		c.check("P12", silent || meta.IsStatusConditionTrue(o.Status.Conditions, appv1alpha1.ConditionDegraded), "PodSet "+o.Name,
			"pod %s crashes since %v, and Degraded is not True", s.pod, since)
	case *cnatv1alpha1.At:
		scheduled := meta.FindStatusCondition(o.Status.Conditions, cnatv1alpha1.ConditionScheduled)
		silent := o.DeletionTimestamp != nil || o.Status.Phase == cnatv1alpha1.PhaseDone || isTrue(o.Spec.Cancel)
		c.check("A15", silent || scheduled != nil && strings.Contains(scheduled.Message, s.cause), "At "+o.Name, "pod %s hangs since %v because of %s, and the condition Scheduled is %+v",
			s.pod, since, s.cause, scheduled)
	}
}

// flips checks that Degraded does not become True twice within a minute because of one pod that crashes: P12.
func (c *Checker) flips(before, set *appv1alpha1.PodSet) {
	if before == nil || c.FaultsEnded.IsZero() || c.now.Seen.Before(c.FaultsEnded) {
		return
	}
	is := meta.FindStatusCondition(set.Status.Conditions, appv1alpha1.ConditionDegraded)
	if is == nil || is.Status != metav1.ConditionTrue || is.Reason != appv1alpha1.ReasonPodsWaiting || meta.IsStatusConditionTrue(before.Status.Conditions, is.Type) {
		return
	}
	for _, pod := range c.state.Active(set.UID) {
		if cause := crashes(pod); cause == "" || !strings.Contains(is.Message, cause) {
			continue
		}
		last, ok := c.degraded[pod.UID]
		c.check("P12", !ok || c.now.Seen.Sub(last) >= reportTime, "PodSet "+set.Name, "Degraded became True twice within %v while pod %s crashed", c.now.Seen.Sub(last), pod.Name)
		c.degraded[pod.UID] = c.now.Seen
	}
}

// foreignConditions checks that a write of the operator keeps the conditions of others: X2.
func (c *Checker) foreignConditions(before, after client.Object, was, is []metav1.Condition) {
	if _, ours := c.ours[after.GetResourceVersion()]; !ours || before == nil {
		return
	}
	kept := equality.Semantic.DeepEqual(meta.FindStatusCondition(was, ForeignCondition), meta.FindStatusCondition(is, ForeignCondition))
	c.check("X2", kept, after.GetName(), "the condition of another controller is gone, or changed")
}

// slots checks that no two active pods of a PodSet were created for one slot: P13. A webhook and a user together can remove everything that
// shows the slot of a pod.
func (c *Checker) slots(set types.UID, pod *corev1.Pod, write Write) {
	if write.Slot == "" || c.HidesSlots {
		return
	}
	for _, other := range c.state.Active(set) {
		hidden := other.Labels[appv1alpha1.LabelSlot] == "" && other.Annotations[appv1alpha1.AnnotationSlot] == ""
		if other.UID != pod.UID && c.byUID[other.UID].Slot == write.Slot && !hidden {
			c.check("P13", false, "PodSet "+c.state.Sets[set].Name, "pods %s and %s are both for slot %s", other.Name, pod.Name, write.Slot)
		}
	}
	c.check("P13", true, "", "")
}

// stripped checks that the operator deletes the pods of a PodSet whose owner references admission removes, so that only a few are left: P2.
func (c *Checker) stripped(set *appv1alpha1.PodSet) {
	var left []string
	for uid, pod := range c.state.Pods {
		if w, ours := c.byUID[uid]; ours && w.Stripped && w.Fault == "" && w.Owner == set.UID && c.state.IsActive(pod) {
			left = append(left, pod.Name)
		}
	}
	// A process that crashes may leave some.
	c.check("P2", len(left) <= 2*(c.window(set).most+len(c.started)), "PodSet "+set.Name, "%d pods without an owner are left: %v", len(left), left)
}

// neverFailed checks that an At has not failed if its command is known to have ended with exit code 0 before its deadline: A12.
func (c *Checker) neverFailed(at *cnatv1alpha1.At, write Write) {
	if at.Status.Result != cnatv1alpha1.ResultFailed || c.LaggingPods || write.StalePods {
		return
	}
	for uid, ended := range c.zero {
		pod := c.state.Pods[uid]
		late := false
		own := pod.Spec.ActiveDeadlineSeconds
		if s, stopped := c.stops[uid]; stopped {
			own = s.deadline
		}
		for _, deadline := range []*int64{at.Spec.ActiveDeadlineSeconds, own} { // The latter may be that of the template.
			late = late || deadline != nil && !ended.Before(pod.CreationTimestamp.Add(time.Duration(*deadline)*time.Second-clockError))
		}
		inTime := ended.Before(write.Sent) && !late && c.couldObserve(pod, write) && !c.mayHaveFailed(at, pod)
		c.check("A12", c.ownerOf(pod) != at.UID || !inTime || c.isUngated(uid) && !c.couldKnow(at, pod), "At "+at.Name, "the At has failed (%s), but the command in pod %s had ended with exit code 0", at.Status.Reason, pod.Name)
	}
}

// mayHaveFailed reports whether an At may have failed although the command of its pod ended with exit code 0.
func (c *Checker) mayHaveFailed(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	switch at.Status.Reason {
	case cnatv1alpha1.ReasonPodModified:
		return true
	case cnatv1alpha1.ReasonCanceled, cnatv1alpha1.ReasonDeadlineExceeded: // A command that the operator stops may end with exit code 0. Times have whole seconds.
		if end := termination(pod); pod.DeletionTimestamp != nil && end != nil && !end.FinishedAt.Time.Before(deletionRequested(pod)) {
			return true
		}
	}
	if c.wasAsked(pod) && !c.recorded[pod.UID] {
		return true
	}
	// After a lost answer, the owner of a pod is not known if admission has removed its controller.
	lost := c.ChangesIdentity && ControllerOf(pod) == ""
	// An exit code that an eviction or a virtual kubelet has hidden is known if the status of the At had recorded it.
	hidden := ptr.Deref(exitCode(pod), 1) != 0 && !c.recorded[pod.UID]
	return lost || hidden || c.renamed(pod)
}

// deletionRequested returns when the deletion of a terminating pod was requested.
func deletionRequested(pod *corev1.Pod) time.Time {
	return pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
}

// noteExit records when the command of a pod ended with exit code 0, and since when the pod shows any exit code.
func (c *Checker) noteExit(pod *corev1.Pod) {
	switch _, shown := c.shown[pod.UID]; {
	case exitCode(pod) == nil:
		delete(c.shown, pod.UID)
	case !shown:
		c.shown[pod.UID] = c.now.Seen
	}
	if _, known := c.zero[pod.UID]; !known && ptr.Deref(exitCode(pod), 1) == 0 && pod.Annotations[Planted] == "" {
		c.zero[pod.UID] = c.now.Seen
	}
}

// couldObserve reports whether the process that sent a write could observe the last state of a pod: the pod exists, or a watch delivered the
// state to this process. A gap in the watch hides the state, and a pod without a controller is not watched.
func (c *Checker) couldObserve(pod *corev1.Pod, write Write) bool {
	told := c.Told[pod.UID]
	return !c.state.Removed[pod.UID] || told.Process == write.Process && told.Seen.Before(write.left()) && ControllerOf(pod) != ""
}

// disruptionIsNamed checks that the status of a failed At includes the disruption of its pod: A13.
func (c *Checker) disruptionIsNamed(at *cnatv1alpha1.At, write Write) {
	pod := c.state.Pods[at.Status.PodUID]
	if at.Status.Result != cnatv1alpha1.ResultFailed || pod == nil || c.LaggingPods || write.StalePods {
		return
	}
	if !c.couldObserve(pod, write) || c.ownerOf(pod) != at.UID {
		return
	}
	switch at.Status.Reason {
	case cnatv1alpha1.ReasonDeadlineExceeded, cnatv1alpha1.ReasonPodModified, cnatv1alpha1.ReasonCanceled, cnatv1alpha1.ReasonNonZeroExitCode:
		return
	}
	for _, d := range pod.Status.Conditions {
		named := slices.ContainsFunc(at.Status.Conditions, func(c metav1.Condition) bool { return strings.Contains(c.Message, d.Reason) })
		c.check("A13", d.Type != corev1.DisruptionTarget || named, "At "+at.Name, "no condition reports the disruption of pod %s by %s", pod.Name, d.Reason)
	}
}
