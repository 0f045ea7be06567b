// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

// defaultProgressDeadline is the default of spec.progressDeadlineSeconds, as in a Deployment.
const defaultProgressDeadline = 600

// progressing returns the condition Progressing if this many of the active pods are available.
func progressing(o Observation, s appv1alpha1.PodSetStatus, of classes, available int) metav1.Condition {
	c := metav1.Condition{Type: appv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	unknown := count(of.active, func(pod *corev1.Pod) bool { return hashOfPod(pod) == "" })
	outdated := len(of.active) - unknown - int(s.UpdatedReplicas)
	switch wanted := o.desired(); {
	case o.Set.DeletionTimestamp != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, appv1alpha1.ReasonTerminating, "the PodSet is being deleted"
	case o.paused():
		c.Status, c.Reason = metav1.ConditionFalse, appv1alpha1.ReasonPaused
		c.Message = "the annotation " + appv1alpha1.AnnotationPaused + " pauses the PodSet: remove it to continue"
	case int(s.Replicas) != wanted:
		c.Reason = appv1alpha1.ReasonScaling
		c.Message = strings.Join(append([]string{fmt.Sprintf("%d of %d pods exist", s.Replicas, wanted)}, o.awaitedEnds(of)...), "; ")
	case outdated > 0 && o.Set.Spec.UpdateStrategy.Type != appv1alpha1.OnDelete:
		c.Reason, c.Message = appv1alpha1.ReasonUpdating, fmt.Sprintf("%d of %d pods use the current template", s.UpdatedReplicas, wanted)
	case available < wanted:
		c.Reason, c.Message = appv1alpha1.ReasonAwaitingReady, availability(o, available)
	case unknown > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, appv1alpha1.ReasonTemplateUnknown
		c.Message = fmt.Sprintf("%d of %d pods may not match the template: an admission webhook or a user removed their label and annotation %s. "+
			"Exempt the pods from the webhook, then delete them", unknown, wanted, appv1alpha1.LabelTemplateHash)
	case outdated > 0:
		c.Status, c.Reason = metav1.ConditionFalse, appv1alpha1.ReasonStable
		c.Message = fmt.Sprintf("%d of %d pods use an older template and stay until you delete them", outdated, wanted)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, appv1alpha1.ReasonStable, "the pods match the spec"
	}
	if c.Status == metav1.ConditionTrue && o.isStuck(of) {
		c.Status, c.Reason = metav1.ConditionFalse, appv1alpha1.ReasonProgressDeadlineExceeded
		c.Message = strings.Join(append([]string{fmt.Sprintf("no progress for %d seconds: %s", o.progressDeadline(), c.Message)}, o.awaitedPods(of)...), "; ")
	}
	return c
}

// progressDeadline returns spec.progressDeadlineSeconds with its default.
func (o Observation) progressDeadline() int32 {
	return cmp.Or(o.Set.Spec.ProgressDeadlineSeconds, defaultProgressDeadline)
}

// isStuck reports whether a PodSet that does not match its spec has made no progress for spec.progressDeadlineSeconds
// (rule 15).
func (o Observation) isStuck(of classes) bool {
	deadline := o.stuckAt(of)
	return !deadline.IsZero() && !o.Now.Before(deadline)
}

// stuckAt returns when a PodSet that does not match its spec is stuck unless it makes progress first, or zero if it has
// no deadline.
func (o Observation) stuckAt(of classes) time.Time {
	if o.progressDeadline() == math.MaxInt32 {
		return time.Time{}
	}
	last := o.progressedAt(of)
	if last.IsZero() {
		return o.Now
	}
	return last.Add(time.Duration(o.progressDeadline()) * time.Second)
}

// wasStuck reports whether the status shows that the PodSet makes no progress.
func wasStuck(set *appv1alpha1.PodSet) bool {
	stored := meta.FindStatusCondition(set.Status.Conditions, appv1alpha1.ConditionProgressing)
	return stored != nil && stored.Reason == appv1alpha1.ReasonProgressDeadlineExceeded
}

// progressedAt returns when a PodSet that does not match its spec last made progress, or zero if it was stuck and has
// no pods. Progress means that a pod was created, was deleted, or became Ready or available. The pods have these times,
// and the condition Progressing has since when the PodSet does not match its spec, so a restart of the operator changes
// nothing.
func (o Observation) progressedAt(of classes) time.Time {
	var last time.Time
	note := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	switch stored := meta.FindStatusCondition(o.Set.Status.Conditions, appv1alpha1.ConditionProgressing); {
	case wasStuck(o.Set):
	case stored != nil && stored.Status == metav1.ConditionTrue:
		note(stored.LastTransitionTime.Time)
	default:
		note(o.Now)
	}
	for _, pod := range of.active {
		note(pod.CreationTimestamp.Time)
		note(readySince(pod))
		if o.isAvailable(pod) {
			note(o.availableAt(pod))
		}
	}
	for _, pod := range of.terminating {
		note(o.deletedAt(pod))
	}
	return last
}

// deletedAt returns when the deletion of a terminating pod was requested. The deletion timestamp is when its grace
// period ends.
func (o Observation) deletedAt(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil { // The cache does not show the deletion yet.
		return o.Now
	}
	return pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
}

// awaitedEnds describes which pods must be gone before the operator creates others in their slots (rule 14).
func (o Observation) awaitedEnds(of classes) []string {
	if !o.waitsForTermination() {
		return nil
	}
	var waits []string
	for _, pod := range of.terminating {
		slot, ok := slotOf(pod)
		if !ok || slot >= o.desired() {
			continue
		}
		wait := fmt.Sprintf("slot %d waits until pod %s is gone", slot, pod.Name)
		if len(pod.Finalizers) > 0 {
			wait += " (finalizers: " + strings.Join(pod.Finalizers, ", ") + ")"
		}
		waits = append(waits, wait)
	}
	slices.Sort(waits)
	return waits
}

// awaitedPods describes what active pods that are not available wait for.
func (o Observation) awaitedPods(of classes) []string {
	var waits []string
	for _, pod := range of.active {
		reason, _ := o.problemOf(pod)
		switch {
		case o.isAvailable(pod):
			continue
		case reason != "":
		case pod.Spec.NodeName == "":
			reason = "not scheduled"
		case pod.Status.Phase != corev1.PodRunning:
			reason = string(pod.Status.Phase)
		case pods.IsReady(pod):
			reason = "Ready, not available"
		default:
			reason = "Running, not Ready"
		}
		waits = append(waits, fmt.Sprintf("pod %s: %s", pod.Name, reason))
	}
	slices.Sort(waits)
	return waits
}
