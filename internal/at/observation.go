// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// Observation is everything that a decision about one At depends on, at one instant. It is a value. Do not modify the
// objects that it refers to: they may belong to a cache.
type Observation struct {
	// At is the At, with the status that was last written.
	At *cnatv1alpha1.At
	// Pods are the pods that the At's UID controls, in any phase and any order. A pod that this process created belongs here
	// until the cache shows it and the status has recorded it, even if the pod was deleted in the meantime: nothing else shows
	// that the command was started.
	//
	// The package reads these fields of a pod: name, namespace, UID, owner references, annotations, creation and deletion
	// timestamp; phase, reason, and message of its status; the condition PodScheduled; name and state (waiting, terminated) of
	// containers and init containers.
	Pods []*corev1.Pod
	// Unseen are the UIDs of pods that were created and that neither the cache nor a lookup shows now. They must not be deleted,
	// because somebody may have taken them from their owner.
	Unseen sets.Set[types.UID]
	// Deleted are the UIDs of pods that were deleted and that the cache still shows without a deletion timestamp.
	Deleted sets.Set[types.UID]
	// Absent are the names of pods of this At that do not exist, according to the API server and not to a cache.
	Absent sets.Set[string]
	// Lookups are the names of the pods that the caller must get from the API server before it plans. State.Observe sets them.
	Lookups []string
	// Now is the instant of the observation.
	Now time.Time
	// Rejection is the last rejection of a pod of this generation of the spec, nil for none.
	Rejection *expectations.Rejection
	// Defaults come from the operator's environment.
	Defaults Defaults

	// conflicting is the pod of another owner that has the name of the next attempt. A create has just found it. nil: none.
	conflicting *corev1.Pod
	// createError is the error of a create that has just failed without being rejected. nil: none.
	createError error
	// next is the State once the observation is recorded.
	next *State
}

// Defaults are the values from the operator's environment that pods use.
type Defaults struct {
	// Image is the image of an At without a template.
	Image string
	// FixedUser makes the pod of an At without a template run as a fixed user. It is false on OpenShift, which gives
	// each namespace its own.
	FixedUser bool
	// Proxy are the proxy variables of the container of an At without a template. A user's template sets its own.
	Proxy []corev1.EnvVar
}

// Outcome is the result of carrying out a plan. The error of a deletion is not part of it: the reconcile is repeated.
type Outcome struct {
	// Created is the pod of the planned attempt: it was created, or it existed already.
	Created *corev1.Pod
	// Deleted are the pods that were deleted.
	Deleted []*corev1.Pod
	// Conflicting is the pod of another owner that has the planned name.
	Conflicting *corev1.Pod
	// Rejected is the rejection of the create by the API server, nil for none: see Observation.Reject.
	Rejected *expectations.LastRejection
	// CreateError is any other error of the create, which the caller retries soon: the API server or an admission webhook does not
	// work, or does not respond. nil: none.
	CreateError error
	// Reported is the status that was to be written; nil: there was none. The write may have been carried out without a response.
	Reported *cnatv1alpha1.AtStatus
	// Written is the At with the status that was written and the resource version that the API server returned; nil: none was written.
	Written *cnatv1alpha1.At
}

// Reject returns the value of Outcome.Rejected after the API server rejected the planned pod at now.
func (o Observation) Reject(message string, invalid bool, now time.Time) *expectations.LastRejection {
	last := o.next.rejection.Rejected(message, invalid, o.At.Generation, o.Now, now)
	return &last
}

// after returns the observation that includes the outcome.
func (o Observation) after(outcome Outcome) Observation {
	o.conflicting, o.createError = outcome.Conflicting, outcome.CreateError
	if outcome.Rejected != nil {
		o.Rejection = outcome.Rejected.Of(o.At.Generation)
	}
	return o
}

// paused tells whether the pause annotation is true.
func (o Observation) paused() bool { return pods.IsPaused(o.At, cnatv1alpha1.AnnotationPaused) }

// backoffLimit is spec.backoffLimit with its default and its maximum.
func (o Observation) backoffLimit() int {
	return min(int(ptr.Deref(o.At.Spec.BackoffLimit, 0)), maxBackoffLimit)
}

// run is what is known of the run of an At: its pods, and its record in the status.
type run struct {
	// newest is the pod of the highest attempt, nil if no pod exists. attempt is its number, from 0.
	newest  *corev1.Pod
	attempt int
	// recorded says that the status names a pod. lost says that this pod and all later ones do not exist anymore.
	recorded, lost bool
	// retry is when the next attempt is due, according to the status; zero if the status does not record that the newest
	// attempt failed. The pod of that attempt may be gone: newest is nil then.
	retry time.Time
	// start is when the first pod was created; zero if none was created.
	start time.Time
}

// runOf combines the pods and the record in the status. Pods take precedence, so that a forged record cannot hide a pod. The
// record counts where no pod contradicts it, so that a run is not repeated.
func (o Observation) runOf() run {
	record := &o.At.Status
	r := run{recorded: record.PodUID != "" || record.Attempts > 0}
	var oldest *metav1.Time
	first := maxBackoffLimit + 1
	for _, pod := range o.Pods {
		attempt, ours := attemptOf(o.At, pod)
		if !ours {
			continue
		}
		if r.newest == nil || attempt > r.attempt {
			r.newest, r.attempt = pod, attempt
		}
		if attempt < first {
			first, oldest = attempt, &pod.CreationTimestamp
		}
	}
	r.lost = r.recorded && (r.newest == nil || r.newest.UID != record.PodUID && r.attempt+1 < int(record.Attempts))
	if newest := int(record.Attempts) - 1; record.RetryTime != nil && newest >= 0 && (r.lost || r.attempt == newest) {
		r.retry = record.RetryTime.Time
		if r.lost { // Its failure was recorded, so the run continues without the pod.
			r.newest, r.attempt, r.lost = nil, newest, false
		}
	}
	if first > 0 && record.StartTime != nil {
		oldest = record.StartTime // The first pod is gone, but the status has its creation time.
	}
	if oldest != nil {
		r.start = oldest.Time
	}
	return r
}
