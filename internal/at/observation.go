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
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// Observation is everything that a decision about one At depends on, at one instant. It is immutable. Do not modify the objects that it
// refers to: they may belong to a cache.
type Observation struct {
	// At is the At, with the status that was last written.
	At *cnatv1alpha1.At
	// Pods are the pods that the At's UID controls, in any phase and any order. A pod that this process created belongs here until the
	// cache shows it.
	//
	// The package reads the fields of a pod that the cache keeps: see atrun.KeepSpec, and Trim in internal/kube/caches.
	Pods []*corev1.Pod
	// Older is a pod of a deleted At of the same name, or nil if the cache shows none.
	Older *corev1.Pod
	// Unseen are the UIDs of pods that this process created and that neither the cache nor a lookup shows now. They must not be deleted,
	// because another client may have taken them from their owner.
	Unseen sets.Set[types.UID]
	// Deleted are the UIDs of pods that were deleted and that the cache still shows without a deletion timestamp.
	Deleted sets.Set[types.UID]
	// LookedUp are the answers of the API server to lookups of pods by name: nil for a pod that does not exist.
	LookedUp map[string]*corev1.Pod
	// Known is what the process knows about the pod of the newest attempt.
	Known Known
	// Now is the instant of the observation.
	Now time.Time
	// Rejection is the last rejection of a pod of this generation of the spec, or nil if there is none.
	Rejection *expectations.Rejection
	// Check is what the API server said about the pod of this generation of the spec.
	Check Check
	// First is true if this process observes the At for the first time.
	First bool
	// Defaults come from the operator's environment.
	Defaults Defaults

	// unconfirmed are the names of the created pods that must be looked up, because the cache does not show them. expected are the
	// expectations that remain after this observation.
	unconfirmed []string
	expected    expectations.Pods
}

// Known is what a process knows about the pod of the newest attempt and cannot get from the API server again.
type Known struct {
	// Pod is the pod as the process saw it last, or nil if it saw none: in the response to a create, in the cache, or after a lookup.
	Pod *corev1.Pod
	// Changed is what admission changed in the identity of this pod: see atrun.Changed.
	Changed string
	// Begun is true if this process has recorded the start of the attempt and has not requested its pod yet.
	Begun bool
	// LastState is the last state of this pod, which the watch delivered when the pod was deleted, or nil.
	LastState *corev1.Pod
	// MissingSince is when the pod was first missing from the cache, or zero if the cache shows it.
	MissingSince time.Time
}

// Defaults are the values from the operator's environment that pods use.
type Defaults struct {
	// Image is the image of an At without a template.
	Image string
	// PullSecrets are the secrets with which the image is pulled. If there are none, those of the service account are used.
	PullSecrets []corev1.LocalObjectReference
	// FixedUser makes the pod of an At without a template run as a fixed user. It is false on OpenShift, which gives
	// each namespace its own.
	FixedUser bool
	// Proxy are the proxy variables of the container of an At without a template. A user's template sets its own.
	Proxy []corev1.EnvVar
}

// Outcome is the result of carrying out a plan.
type Outcome struct {
	// Answer is what the API server said about the pod of Plan.Check, or nil if it was not asked.
	Answer *Answer
	// Created is the pod of the planned attempt: it was created, or it existed already. Changed is what admission changed in its identity.
	Created *corev1.Pod
	Changed string
	// Deleted are the pods that were deleted.
	Deleted []*corev1.Pod
	// DeleteError is the error of a deletion, of a pod or of the At, or nil if there was none.
	DeleteError error
	// Conflicting is the pod of another owner that has the planned name, or nil if there is none.
	Conflicting *corev1.Pod
	// Rejected is the error if the API server understood the create or its check, and rejected it; otherwise nil.
	Rejected error
	// CreateError is any other error of the create, or nil. The API server or an admission webhook does not work or does not respond, so
	// the caller retries soon.
	CreateError error
	// Written is the At with the status that was written and the resource version that the API server returned, or nil if no status was
	// written.
	Written *cnatv1alpha1.At
}

// run is what is known about the newest attempt: its record in the status, and its pod. The record decides: an attempt without a record has
// not begun, even if it has a pod.
type run struct {
	// attempt is the number of the newest attempt, from 0, or -1 if none has begun.
	attempt int
	// uid is the UID of its pod, or "" if no pod is known.
	uid types.UID
	// pod is the pod, or nil if it is not in the cache.
	pod *corev1.Pod
}

func (o *Observation) run() run {
	r := run{attempt: int(o.At.Status.Attempts) - 1, uid: o.At.Status.PodUID}
	if r.attempt < 0 {
		return run{attempt: -1}
	}
	if r.uid == "" && o.Known.Pod != nil {
		r.uid = o.Known.Pod.UID
	}
	for _, pod := range o.Pods {
		if pod.UID == r.uid || r.uid == "" && pod.Name == atrun.PodName(o.At, r.attempt) {
			r.pod, r.uid = pod, pod.UID
			if known := o.Known.Pod; known != nil && known.UID == pod.UID && pods.IsFinished(known) && !pods.IsFinished(pod) {
				r.pod = known // The cache is behind.
			}
			break
		}
	}
	return r
}

// startTime returns when the first pod was created, or zero if none was.
func (o *Observation) startTime() time.Time {
	if t := o.At.Status.StartTime; t != nil {
		return t.Time
	}
	if pod := o.run().pod; pod != nil {
		return pod.CreationTimestamp.Time
	}
	return time.Time{}
}

// deadline returns when the run must have ended, or zero if it has no deadline. It spans all attempts, as in a Job.
func (o *Observation) deadline() time.Time {
	start := o.startTime()
	if o.At.Spec.ActiveDeadlineSeconds == nil || start.IsZero() {
		return time.Time{}
	}
	return start.Add(atspec.Seconds(*o.At.Spec.ActiveDeadlineSeconds))
}

func (o *Observation) deadlineOver() bool {
	deadline := o.deadline()
	return !deadline.IsZero() && !o.Now.Before(deadline)
}

// backoffLimit is spec.backoffLimit with its default and its maximum.
func (o *Observation) backoffLimit() int {
	return min(int(ptr.Deref(o.At.Spec.BackoffLimit, 0)), atrun.MaxAttempts-1)
}

func (o *Observation) isCanceled() bool { return ptr.Deref(o.At.Spec.Cancel, false) }

func (o *Observation) isSuspended() bool { return ptr.Deref(o.At.Spec.Suspend, false) }

// isDeleted reports whether the At is being deleted. The operator then creates and deletes nothing for it.
func (o *Observation) isDeleted() bool { return o.At.DeletionTimestamp != nil }

func (o *Observation) isTerminating(pod *corev1.Pod) bool { return pods.IsTerminating(pod, o.Deleted) }

// deletable returns a pod, or nil if the pod is terminating, has ended, or must not be deleted because the cache does not show it.
func (o *Observation) deletable(pod *corev1.Pod) *corev1.Pod {
	if pod == nil || o.isTerminating(pod) || pods.IsFinished(pod) || o.Unseen.Has(pod.UID) {
		return nil
	}
	return pod
}

// exitSeen returns the exit code and the output of the command of a pod that has not ended, or nil. Recorded values stay.
func (o *Observation) exitSeen(pod *corev1.Pod) (code *int32, output string) {
	if s := &o.At.Status; s.ExitCode != nil && s.PodUID == pod.UID {
		return s.ExitCode, s.Output
	}
	return atrun.ExitSeen(o.At, pod)
}

// condition returns a condition of the stored status, or nil if there is none.
func (o *Observation) condition(kind string) *metav1.Condition {
	for i := range o.At.Status.Conditions {
		if c := &o.At.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}
