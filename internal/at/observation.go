// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// Observation is all that a decision about one At rests on, seen at one instant. Nothing in it is ever changed by this
// package: the objects may be shared with a cache.
type Observation struct {
	// At is the At, its status as last written.
	At *cnatv1alpha1.At
	// Pods are the pods that the At's UID controls, in any phase and any order. A pod that was created by this process
	// belongs here until the cache shows it and the status has recorded it, even when it is gone by then: it is the
	// only witness of its run.
	//
	// Of a pod are read: name, namespace, UID, owner references, creation and deletion timestamp; phase, reason, message; the
	// condition PodScheduled; name and state (waiting, terminated) of containers and init containers.
	Pods []*corev1.Pod
	// Deleted are the UIDs of pods whose deletion was asked for already; the cache may not show it yet.
	Deleted sets.Set[types.UID]
	// Absent are the names for which the API server itself, not a cache, said that there is no such pod of this At. A pod
	// that it has belongs in Pods instead. See Plan.Lookup.
	Absent sets.Set[string]
	// Now is the instant of the observation.
	Now time.Time
	// Taken is a pod that is not this At's and has the name that the next attempt needs; nil: none is known.
	Taken *corev1.Pod
	// Refusal is the API server's last refusal to create a pod of this spec, nil when there is none to remember.
	Refusal *Refusal
	// Defaults are what the pod takes from the operator's environment.
	Defaults Defaults
}

// Refusal is a "no" of the API server that trying again at once will not change: a quota, an admission policy, a
// template that is no pod.
type Refusal struct {
	// Invalid says that the pod itself is invalid: the template must be edited.
	Invalid bool
	// Message is what the API server said.
	Message string
	// Until is when the next create may be tried.
	Until time.Time
}

// Defaults are what pods take from the operator's environment.
type Defaults struct {
	// Image is the image of an At without a template.
	Image string
	// FixedUser makes the pod of an At without a template run as a fixed user. It is false on OpenShift, which gives
	// each namespace its own.
	FixedUser bool
	// Proxy are the proxy variables of the container of an At without a template. A template of a user sets its own.
	Proxy []corev1.EnvVar
}

// Outcome is what came of carrying out a plan. A pod that was made is not in it: it belongs into the next observation.
// Neither is an error that is none of these (a time-out, a lost connection): the pass is repeated.
type Outcome struct {
	// Taken is the pod of another owner that the create met under the planned name.
	Taken *corev1.Pod
	// Refusal is the API server's "no" to the create.
	Refusal *Refusal
}

// after is the observation with the outcome in it: what a moment later would show.
func (o Observation) after(outcome Outcome) Observation {
	if outcome.Taken != nil {
		o.Taken = outcome.Taken
	}
	if outcome.Refusal != nil {
		o.Refusal = outcome.Refusal
	}
	return o
}

// paused tells whether the pause annotation holds the At.
func (o Observation) paused() bool {
	paused, err := strconv.ParseBool(o.At.Annotations[cnatv1alpha1.AnnotationPaused])
	return err == nil && paused
}

// run is what is known of the run of an At: its pods, and its record in the status.
type run struct {
	// newest is the pod of the highest attempt, nil when no pod is there, and attempt its number from 0.
	newest  *corev1.Pod
	attempt int
	// recorded says that the status names a pod, lost that this pod and all after it are gone.
	recorded, lost bool
	// retry is when the next attempt is due, as the status recorded it when the newest attempt was seen to fail; zero when
	// it did not. The pod of that attempt may be gone: newest is nil then.
	retry time.Time
	// start is when the first pod was made; zero before.
	start time.Time
}

// runOf finds the run. Pods are believed first and the record second, so that a forged record cannot hide a pod. The
// record is believed where no pod speaks against it: that is what keeps a run from being repeated.
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
		if r.lost { // Its failure is known, so the run goes on without the pod.
			r.newest, r.attempt, r.lost = nil, newest, false
		}
	}
	if first > 0 && record.StartTime != nil {
		oldest = record.StartTime // The first pod is gone, the status remembers it.
	}
	if oldest != nil {
		r.start = oldest.Time
	}
	return r
}

func (o Observation) terminating(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || o.Deleted.Has(pod.UID)
}
