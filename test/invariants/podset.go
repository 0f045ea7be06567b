// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"net/http"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// window is what the checker knows about a PodSet since it last converged.
type window struct {
	most int // the largest replicas
	// unready are the pods that were not ready when replicas last shrank and are still not. They must be deleted first.
	unready map[types.UID]bool
	// deletedReady is a Ready pod that the operator has deleted since then for another reason than an outdated template, or "" if there is
	// none.
	deletedReady string
	// edited is when replicas last changed, and changed when the spec did.
	edited, changed time.Time
	// transitions are those of the pods of the PodSet.
	transitions []transition
}

// stablePeriod is how long replicas must be unchanged before a scale-down for P6 to be checked. Otherwise the operator may have decided on
// its deletions before the last change.
const stablePeriod = time.Second

func (c *Checker) window(set *appv1alpha1.PodSet) *window {
	w, ok := c.windows[set.UID]
	if !ok {
		w = &window{most: replicas(set), unready: map[types.UID]bool{}}
		c.windows[set.UID] = w
	}
	return w
}

// podSet checks a change of a PodSet: P7, P11, and the windows of P2 and P6.
func (c *Checker) podSet(before, set *appv1alpha1.PodSet) {
	c.noteRevision(set)
	w := c.window(set)
	w.most = max(w.most, replicas(set))
	if before == nil || set.Generation != before.Generation {
		w.changed = c.now.Seen
	}
	c.noteProgress(set, nil, nil)
	if before != nil && replicas(set) != replicas(before) {
		w.deletedReady = ""
		clear(w.unready)
		stable := c.now.Seen.Sub(w.edited) > stablePeriod
		w.edited = c.now.Seen
		if replicas(set) > replicas(before) || !stable {
			c.converge(set)
			return
		}
		for _, pod := range c.state.Active(set.UID) {
			if !isReady(pod) {
				w.unready[pod.UID] = true
			}
		}
	}
	if write, ours := c.ours[set.ResourceVersion]; ours {
		c.updatedReplicas(set, write)
		c.flips(before, set)
		c.tooEarly(before, set, write)
		if before != nil {
			c.foreignConditions(before, set, before.Status.Conditions, set.Status.Conditions)
		}
		c.check("P7", slices.IsSorted(set.Status.PodNames), "PodSet "+set.Name, "podNames are not sorted: %v", set.Status.PodNames)
		c.check("P7", set.Status.ObservedGeneration <= set.Generation, "PodSet "+set.Name, "observedGeneration is newer than the generation")
	}
	c.converge(set)
}

// podOfSet checks a change of a pod that a PodSet controls: P2, P6.
func (c *Checker) podOfSet(set *appv1alpha1.PodSet, before, pod *corev1.Pod, wasActive bool) {
	w := c.window(set)
	active := c.state.Active(set.UID)
	c.check("P2", len(active) <= w.most, "PodSet "+set.Name, "%d active pods, but spec.replicas was at most %d: %v", len(active), w.most, names(active))
	if isReady(pod) || !c.state.IsActive(pod) {
		delete(w.unready, pod.UID)
	}
	// A pod that has ended is deleted later in any case.
	deletion, deleted := c.deletes[pod.UID]
	began := pod.DeletionTimestamp != nil || c.state.Removed[pod.UID]
	if wasActive && began && deleted && !c.isOutdated(set, deletion) && isReady(before) && !c.outdated(set, pod) && !c.modified(c.byUID[pod.UID]) && w.deletedReady == "" {
		w.deletedReady = pod.Name
	}
	if before != nil && wasActive {
		c.noteTransition(set, before, pod, began && deleted)
	}
	c.converge(set)
}

// setPod is what the checker knows about a pod that a PodSet controls or controlled.
type setPod struct {
	image string // of the first container
	// inactive is when the pod stopped being active, or zero if it is active.
	inactive time.Time
}

// DefaultImage is the image of pods without a template.
const DefaultImage = "busybox"

// staleLimit is how far a cache of pods may lag behind in these tests.
const staleLimit = time.Minute

// revision is what the checker knows about a generation of a PodSet.
type revision struct {
	image    string // of the first container of its template
	replaces bool   // whether the operator replaces pods of another template
}

// noteRevision records the template and the update strategy of each generation of a PodSet.
func (c *Checker) noteRevision(set *appv1alpha1.PodSet) {
	if c.revisions[set.UID] == nil {
		c.revisions[set.UID] = map[int64]revision{}
	}
	image := DefaultImage
	if set.Spec.Template != nil {
		image = set.Spec.Template.Spec.Containers[0].Image
	}
	c.revisions[set.UID][set.Generation] = revision{image, set.Spec.UpdateStrategy.Type != appv1alpha1.OnDelete}
}

func (c *Checker) notePod(pod *corev1.Pod) {
	owner := ControllerOf(pod)
	if of := c.ownerOf(pod); c.state.Ats[of] != nil {
		owner = of // A run without an owner is still a run. A pod of a PodSet is not.
	}
	if pod.Annotations[Planted] != "" {
		return
	}
	if c.setPods[owner] == nil {
		c.setPods[owner] = map[types.UID]*setPod{}
	}
	known := c.setPods[owner][pod.UID]
	if known == nil {
		known = &setPod{image: CommandContainer(pod).Image}
		c.setPods[owner][pod.UID] = known
	}
	if known.inactive.IsZero() && !c.state.IsActive(pod) {
		known.inactive = c.now.Seen
	}
}

// outdated reports whether the operator may replace a pod because its template differs from that of its PodSet. The operator may not have
// seen generations after the one that it reported last.
func (c *Checker) outdated(set *appv1alpha1.PodSet, pod *corev1.Pod) bool {
	for generation, r := range c.revisions[set.UID] {
		if generation >= set.Status.ObservedGeneration && r.replaces && r.image != CommandContainer(pod).Image {
			return true
		}
	}
	return false
}

// updatedReplicas checks that updatedReplicas includes no pods of other templates: P11. A pod is treated as active for a while after its
// end, because the operator's cache may still have shown it.
func (c *Checker) updatedReplicas(set *appv1alpha1.PodSet, write Write) {
	r, ok := c.revisions[set.UID][set.Status.ObservedGeneration]
	if !ok || !c.full {
		return
	}
	updated := 0
	for _, pod := range c.setPods[set.UID] {
		if pod.image == r.image && (pod.inactive.IsZero() || pod.inactive.Add(staleLimit).After(write.Sent)) {
			updated++
		}
	}
	c.check("P11", int(set.Status.UpdatedReplicas) <= updated, "PodSet "+set.Name, "updatedReplicas is %d, but only %d pods have the image %q of generation %d",
		set.Status.UpdatedReplicas, updated, r.image, set.Status.ObservedGeneration)
}

var notInNames = regexp.MustCompile("[^a-z0-9.-]+")

// KubernetesEvents checks that an event about deleted pods lists only pods that the operator deleted before: P11.
func (c *Checker) KubernetesEvents(all []eventsv1.Event) {
	for _, e := range all {
		if e.Reason != "SuccessfulDelete" && e.Reason != appv1alpha1.ReasonPodsFinished {
			continue
		}
		subject, words := "event about "+e.Regarding.Name, notInNames.Split(e.Note, -1)
		deleted := func(name string) bool { return c.wasDeleted(name, e.EventTime.Time) }
		c.check("P11", slices.ContainsFunc(words, deleted), subject, "%s does not include any pod that the operator deleted: %s", e.Reason, e.Note)
		for uid := range c.setPods[e.Regarding.UID] {
			name := c.state.Pods[uid].Name
			c.check("P11", !slices.Contains(words, name) || deleted(name), subject, "%s includes pod %s, which the operator had not deleted: %s", e.Reason, name, e.Note)
		}
	}
}

// wasDeleted reports whether, before a moment, the operator sent a delete of a pod after which the pod was gone: the API server deleted it,
// did not find it, or found another UID under its name.
func (c *Checker) wasDeleted(name string, before time.Time) bool {
	return slices.ContainsFunc(c.writes, func(w Write) bool {
		gone := w.Committed() || w.Code == http.StatusNotFound || w.Code == http.StatusConflict
		return gone && w.Verb == "delete" && w.Resource == "pods" && w.Name == name && !w.Sent.After(before)
	})
}

// converge ends the window of a PodSet that has converged.
func (c *Checker) converge(set *appv1alpha1.PodSet) {
	if !c.state.converged(set, c.full) {
		return
	}
	w := c.window(set)
	if w.deletedReady != "" && !c.LaggingPods {
		var remaining []string
		for uid := range w.unready {
			// Ignore pods that a user took away, and pods that are left because their deletion failed.
			if pod := c.state.Pods[uid]; ControllerOf(pod) == set.UID && !c.tried[uid] {
				remaining = append(remaining, pod.Name)
			}
		}
		c.check("P6", len(remaining) == 0, "PodSet "+set.Name, "Ready pod %s was deleted while pods remain that are not ready: %v", w.deletedReady, remaining)
	}
	w.most, w.deletedReady = replicas(set), ""
	clear(w.unready)
}

// reportsUnknown reports whether the status of a PodSet shows that the templates of its pods are not known because admission removed them.
func reportsUnknown(set *appv1alpha1.PodSet, active []*corev1.Pod) bool {
	unknown := count(active, func(pod *corev1.Pod) bool {
		return pod.Annotations[appv1alpha1.AnnotationTemplateHash]+pod.Labels[appv1alpha1.LabelTemplateHash] == ""
	})
	progress := meta.FindStatusCondition(set.Status.Conditions, appv1alpha1.ConditionProgressing)
	return unknown > 0 && progress != nil && progress.Status == metav1.ConditionUnknown && int(set.Status.Replicas-set.Status.UpdatedReplicas) == unknown
}

// Settled returns why a PodSet has not settled (P3 and P7), or "" if it has.
func (s *State) Settled(set *appv1alpha1.PodSet, full bool) string {
	active, status, onDelete := s.Active(set.UID), set.Status, set.Spec.UpdateStrategy.Type == appv1alpha1.OnDelete
	switch {
	case len(active) != replicas(set):
		return "the number of active pods is not spec.replicas"
	case !s.converged(set, false):
		return "podNames are not the active pods"
	case !full:
		return ""
	case status.ObservedGeneration != set.Generation:
		return "observedGeneration is old"
	case int(status.Replicas) != len(active):
		return "status.replicas is wrong"
	case int(status.ReadyReplicas) != count(active, isReady):
		return "status.readyReplicas is wrong"
	case int(status.AvailableReplicas) != count(active, isAvailable):
		return "status.availableReplicas is wrong"
	case meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionAvailable) != (int(status.ReadyReplicas) >= replicas(set)):
		return "the condition Available is wrong"
	case !onDelete && status.UpdatedReplicas != status.Replicas && !reportsUnknown(set, active):
		return "pods of an older template are left"
	case meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionReady) != (status.ReadyReplicas == status.Replicas && (onDelete || !reportsUnknown(set, active))):
		return "the condition Ready is wrong"
	}
	terminating := int32(0)
	for _, pod := range s.owned[set.UID] {
		if !s.Removed[pod.UID] && pod.DeletionTimestamp != nil {
			terminating++
		}
	}
	if status.TerminatingReplicas != terminating {
		return "status.terminatingReplicas is wrong"
	}
	return ""
}
