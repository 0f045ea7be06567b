// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
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
	// The package reads the fields of a pod that the cache keeps: see KeepSpec, and Trim in internal/kube/caches.
	Pods []*corev1.Pod
	// Unseen are the UIDs of pods that were created and that neither the cache nor a lookup shows now. They must not be deleted,
	// because somebody may have taken them from their owner.
	Unseen sets.Set[types.UID]
	// Deleted are the UIDs of pods that were deleted and that the cache still shows without a deletion timestamp.
	Deleted sets.Set[types.UID]
	// LookedUp are the names that the API server was asked for. Its answer, and not that of a cache, is in Pods.
	LookedUp sets.Set[string]
	// Final are the last states of deleted pods of the At, if the watch delivered them.
	Final []*corev1.Pod
	// Lookups are the names of the pods that the caller must read from the API server before it plans. State.Observe sets them.
	Lookups []string
	// Now is the instant of the observation.
	Now time.Time
	// Rejection is the last rejection of a pod of this generation of the spec, or nil if there is none.
	Rejection *expectations.Rejection
	// Checked is true if the API server has checked the template of this generation of the spec. Invalid is its message if the
	// template is invalid, or "".
	Checked bool
	Invalid string
	// First is true if this process observes the At for the first time.
	First bool
	// Defaults come from the operator's environment.
	Defaults Defaults

	// run is what is known of the run, and decision what the state table says. State.Observe sets both.
	run      run
	decision decision
	// created is the pod that this process created last.
	created createdPod
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

// Outcome is the result of carrying out a plan.
type Outcome struct {
	// Created is the pod of the planned attempt: it was created, or it existed already.
	Created *corev1.Pod
	// Deleted are the pods that were deleted.
	Deleted []*corev1.Pod
	// DeleteError is the error of a deletion, of a pod or of the At, or nil if there was none.
	DeleteError error
	// Conflicting is the pod of another owner that has the planned name, or nil if there is none.
	Conflicting *corev1.Pod
	// Rejected is the answer of an API server that understood the create and rejected it, or nil if it did not.
	Rejected error
	// CreateError is any other error of the create, which the caller retries soon, or nil if there is none: the API server or an
	// admission webhook does not work, or does not respond.
	CreateError error
	// Checked is true if the API server has checked the pod of Plan.Check. Invalid is its message if the pod is invalid, or "".
	Checked bool
	Invalid string
	// Reported is the status that was to be written, or nil if there was none. The write may have been carried out without a response.
	Reported *cnatv1alpha1.AtStatus
	// Written is the At with the status that was written and the resource version that the API server returned, or nil if none was
	// written.
	Written *cnatv1alpha1.At
}

// backoffLimit is spec.backoffLimit with its default and its maximum.
func (o Observation) backoffLimit() int {
	return min(int(ptr.Deref(o.At.Spec.BackoffLimit, 0)), maxBackoffLimit)
}

// isCanceled reports whether spec.cancel is true.
func (o Observation) isCanceled() bool { return ptr.Deref(o.At.Spec.Cancel, false) }

// isDeleted reports whether the At is being deleted. The operator then creates and deletes nothing for it.
func (o Observation) isDeleted() bool { return o.At.DeletionTimestamp != nil }

// run is what is known of the run of an At: its pods, and its record in the status.
type run struct {
	// newest is the pod of the highest attempt, or nil if no pod exists. attempt is its number, from 0.
	newest  *corev1.Pod
	attempt int
	// recorded is true if the status names a pod. lost is true if this pod and all later ones do not exist anymore.
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
		if !IsOwn(o.At, pod) && !o.created.isUnowned(pod) {
			continue
		}
		attempt := o.attemptOf(pod)
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
	if r.lost {
		r.attempt = max(int(record.Attempts)-1, 0)
	}
	if first > 0 && record.StartTime != nil {
		oldest = record.StartTime // The first pod is gone, but the status has its creation time.
	}
	if oldest != nil {
		r.start = oldest.Time
	}
	return r
}

// hasPod reports whether a pod of the run exists or existed.
func (r run) hasPod() bool { return r.newest != nil || r.recorded }

// deadline returns when a run must have ended, or zero if it has no deadline. It spans all attempts, as in a Job.
func (r run) deadline(at *cnatv1alpha1.At) time.Time {
	if at.Spec.ActiveDeadlineSeconds == nil {
		return time.Time{}
	}
	return r.start.Add(seconds(*at.Spec.ActiveDeadlineSeconds))
}

// recordedName returns the name of the pod that the status names. A name that was forged may be invalid; then it is that of the attempt.
func (o Observation) recordedName() string {
	if name := o.At.Status.PodName; name != "" && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	return PodName(o.At, o.run.attempt)
}

// lastState returns the last state of the pod that the status names, or nil if the watch did not deliver it.
func (o Observation) lastState() *corev1.Pod { return pods.ByUID(o.Final, o.At.Status.PodUID) }
