// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// Observation is all that a decision about one PodSet rests on, seen at one instant. Nothing in it is ever changed by
// this package: the objects may be shared with a cache.
type Observation struct {
	// Set is the PodSet.
	Set *appv1alpha1.PodSet
	// TemplateHash is HashTemplate of the PodSet's template, which changes with its generation only; "": not known yet.
	TemplateHash string
	// Pods are the pods that the PodSet's UID controls, in any phase and any order, those included that were created a
	// moment ago and are not in the cache yet.
	Pods []*corev1.Pod
	// Deleted are the UIDs of pods whose deletion was asked for already; the cache may not show it yet.
	Deleted sets.Set[types.UID]
	// Taken are names that a create found in use by a pod that does not count: a foreign one, or one of ours that is
	// ending and that the cache does not show yet.
	Taken sets.Set[string]
	// Now is the instant of the observation.
	Now time.Time
	// Refusal is the API server's last refusal to create a pod of this spec, nil when there is none to remember.
	Refusal *Refusal
	// SweepAt is when finished pods may be removed.
	SweepAt time.Time
	// Defaults are what the pods take from the operator's environment.
	Defaults Defaults
}

// Refusal is a "no" of the API server that trying again at once will not change: a quota, an admission policy, a
// template that is no pod.
type Refusal struct {
	// Message is what the API server said.
	Message string
	// Until is when the next create may be tried.
	Until time.Time
}

// Defaults are what pods without a template take from the operator's environment.
type Defaults struct {
	// Image is the image of the default container.
	Image string
	// FixedUser makes the default pod run as a fixed user. It is false on OpenShift, which gives each namespace its own.
	FixedUser bool
}

// census is the pods of an observation by what they are to the rules.
type census struct {
	active      []*corev1.Pod
	terminating []*corev1.Pod
	finished    []*corev1.Pod
}

func takeCensus(o Observation) census {
	var c census
	for _, pod := range o.Pods {
		switch {
		case o.isTerminating(pod):
			c.terminating = append(c.terminating, pod)
		case isFinished(pod):
			c.finished = append(c.finished, pod)
		default:
			c.active = append(c.active, pod)
		}
	}
	return c
}

// IsActive tells whether pod counts as one of the pods that spec.replicas asks for (rules 1 and 2).
func (o Observation) IsActive(pod *corev1.Pod) bool {
	return metav1.IsControlledBy(pod, o.Set) && !o.isTerminating(pod) && !isFinished(pod)
}

// isTerminating is rule 6.
func (o Observation) isTerminating(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || o.Deleted.Has(pod.UID)
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// HasFinished tells whether a pod of the observation waits for its removal.
func (o Observation) HasFinished() bool { return len(takeCensus(o).finished) > 0 }

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return pod.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// isOutdated tells whether pod was made from another template than the one with this hash (rule 9).
func isOutdated(pod *corev1.Pod, hash string) bool {
	made, ok := pod.Annotations[appv1alpha1.AnnotationTemplateHash]
	return ok && made != hash
}

// templateHash is the hash that pods of the present template carry.
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

// wanted is spec.replicas with its default.
func (o Observation) wanted() int { return int(ptr.Deref(o.Set.Spec.Replicas, 1)) }

// maxUnavailable is the bound of the rolling update in pods, a percentage rounded up, at least 1.
func (o Observation) maxUnavailable() int {
	rolling := o.Set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, o.wanted(), true)
	if err != nil {
		return 1 // Admission lets no such value in; the default is the careful answer.
	}
	return max(n, 1)
}

// paused tells whether the pause annotation holds the PodSet.
func (o Observation) paused() bool {
	paused, err := strconv.ParseBool(o.Set.Annotations[appv1alpha1.AnnotationPaused])
	return err == nil && paused
}

// held tells whether rule 3 forbids every action.
func (o Observation) held() bool { return o.Set.DeletionTimestamp != nil || o.paused() }
