// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// Observation is everything that a decision about one PodSet depends on, at one instant. It is a value. Do not modify
// the objects that it refers to: they may belong to a cache.
type Observation struct {
	// Set is the PodSet, with the status that was last written.
	Set *appv1alpha1.PodSet
	// TemplateHash is HashTemplate of the PodSet's template, or "" if it has not been computed yet.
	TemplateHash string
	// Pods are the pods that the PodSet's UID controls, in any phase and any order.
	Pods []*corev1.Pod
	// WaitUntil is until when the PodSet waits for the cache to show its created pods, or zero if it need not (rule 6).
	WaitUntil time.Time
	// Deleted are the UIDs of pods that were deleted and that the cache still shows without a deletion timestamp.
	Deleted sets.Set[types.UID]
	// MaybeDeleted are the UIDs of pods whose deletion was requested and not answered. It may have succeeded.
	MaybeDeleted sets.Set[types.UID]
	// Attempts are the lowest possible attempts of slots, or 0 for a slot that is not in it. They skip names of
	// conflicting pods: pods of another owner, or terminating ones of this PodSet that the cache does not show yet.
	// They also keep the attempt of a create that was not answered.
	Attempts map[int]MinAttempt
	// Modified are the pods that this process created for the PodSet and whose name or controller was changed by
	// admission. They must be deleted before another pod is created.
	Modified []*corev1.Pod
	// Lookups are the names of the pods that the caller must get from the API server before it plans. State.Observe
	// sets them.
	Lookups []string
	// Now is the instant of the observation.
	Now time.Time
	// Rejection is the last rejection or failure of a create for this generation of the spec, or nil if there is none.
	Rejection *expectations.Rejection
	// Warnings are the last warnings of the API server about new pods, or "" if there were none. They were reported.
	Warnings string
	// CleanupAt is when finished pods may be deleted.
	CleanupAt time.Time
	// Defaults come from the operator's environment.
	Defaults Defaults

	// next is the State once the observation is recorded: without the expectations that the cache fulfills by now, and
	// with the delay that begins with the first finished pod. Record needs it.
	next *State
}

// Defaults are the values from the operator's environment that pods without a template use.
type Defaults struct {
	// Image is the image of the default container.
	Image string
	// PullSecrets are the secrets with which the image is pulled. If there are none, those of the service account are
	// used.
	PullSecrets []corev1.LocalObjectReference
	// FixedUser makes the default pod run as a fixed user. It is false on OpenShift, which gives each namespace its
	// own.
	FixedUser bool
}

// classes are the pods of an observation, by their role in the rules.
type classes struct {
	active      []*corev1.Pod
	terminating []*corev1.Pod
	finished    []*corev1.Pod
}

func classify(o Observation) classes {
	var c classes
	for _, pod := range o.Pods {
		switch {
		case o.isTerminating(pod):
			c.terminating = append(c.terminating, pod)
		case pods.IsFinished(pod):
			c.finished = append(c.finished, pod)
		default:
			c.active = append(c.active, pod)
		}
	}
	return c
}

// IsActive reports whether pod is one of the pods that spec.replicas asks for (rules 1 and 2).
func (o Observation) IsActive(pod *corev1.Pod) bool {
	return metav1.IsControlledBy(pod, o.Set) && !o.isTerminating(pod) && !pods.IsFinished(pod)
}

// isTerminating reports whether a pod is treated as terminating (rule 6).
func (o Observation) isTerminating(pod *corev1.Pod) bool { return pods.IsTerminating(pod, o.Deleted) }

// hasFinished reports whether there is a finished pod to delete.
func (o Observation) hasFinished() bool {
	return slices.ContainsFunc(o.Pods, func(pod *corev1.Pod) bool { return pods.IsFinished(pod) && !o.isTerminating(pod) })
}

// hashOfPod returns the hash of the template that pod was created from, or "" if an admission webhook or a user has
// removed it.
func hashOfPod(pod *corev1.Pod) string {
	return cmp.Or(pod.Annotations[appv1alpha1.AnnotationTemplateHash], pod.Labels[appv1alpha1.LabelTemplateHash])
}

// isOutdated reports whether pod was created from a template with another hash (rule 9).
func isOutdated(pod *corev1.Pod, hash string) bool {
	of := hashOfPod(pod)
	return of != "" && of != hash
}

// isAvailable reports whether pod has been Ready for spec.minReadySeconds.
func (o Observation) isAvailable(pod *corev1.Pod) bool {
	return pods.IsReady(pod) && !o.availableAt(pod).After(o.Now)
}

// availableAt returns when a Ready pod becomes available. If the start of its readiness is not known, that is as late
// as possible.
func (o Observation) availableAt(pod *corev1.Pod) time.Time {
	if o.Set.Spec.MinReadySeconds == 0 {
		return time.Time{}
	}
	since := pods.ReadySince(pod)
	if since.IsZero() {
		since = o.Now
	}
	return since.Add(time.Duration(o.Set.Spec.MinReadySeconds) * time.Second)
}

func (o Observation) templateHash() string {
	if o.TemplateHash != "" {
		return o.TemplateHash
	}
	return HashTemplate(o.Set.Spec.Template)
}

func count(pods []*corev1.Pod, match func(*corev1.Pod) bool) int {
	n := 0
	for _, pod := range pods {
		if match(pod) {
			n++
		}
	}
	return n
}

// desired returns spec.replicas with its default.
func (o Observation) desired() int { return int(ptr.Deref(o.Set.Spec.Replicas, 1)) }

// maxUnavailable returns spec.updateStrategy.rollingUpdate.maxUnavailable as a number of pods: at least 1, and a
// percentage is rounded up.
func (o Observation) maxUnavailable() int {
	rolling := o.Set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, o.desired(), true)
	if err != nil {
		return 1 // Admission rejects such a value, so the default is only a precaution.
	}
	return max(n, 1)
}

// waitsForTermination reports whether a pod is replaced only after it is gone (rule 14).
func (o Observation) waitsForTermination() bool {
	return o.Set.Spec.PodReplacementPolicy == appv1alpha1.TerminationComplete
}

// isPredecessor reports whether pod has the name of a new pod and must be gone before the new pod is created.
func (o Observation) isPredecessor(pod *corev1.Pod) bool {
	return o.waitsForTermination() && pod != nil && metav1.IsControlledBy(pod, o.Set)
}

// paused reports whether the pause annotation is true.
func (o Observation) paused() bool { return pods.IsPaused(o.Set, appv1alpha1.AnnotationPaused) }

// readOnly reports whether rule 3 forbids all creates and deletes.
func (o Observation) readOnly() bool { return o.Set.DeletionTimestamp != nil || o.paused() }
