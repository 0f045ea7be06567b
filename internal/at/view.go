// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/expectations"
)

// Seen is what the caches show about one At.
type Seen struct {
	// At is the At. Pods are the pods that its UID controls, in any phase and any order. Older are those of a deleted At of the same name.
	At          *cnatv1alpha1.At
	Pods, Older []*corev1.Pod
	// LastState is the last state of the At's most recently deleted pod, or nil if the watch delivered none.
	LastState *corev1.Pod
}

// Answers are what the API server has answered to the questions of this pass.
type Answers struct {
	// At is the At, or nil if it was not read.
	At *cnatv1alpha1.At
	// Pods are the pods that were read, by name: nil for a pod that does not exist.
	Pods map[string]*corev1.Pod
	// DryRun is the answer to the dry run of the pod, or nil. If DryRunLater is true, the dry run could not be sent now.
	DryRun      *Answer
	DryRunLater bool
}

// deny reports whether the API server has answered that a pod does not exist, or that the At does not control it.
func (a Answers) deny(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	answer, read := a.Pods[pod.Name]
	return read && (answer == nil || answer.UID != pod.UID || !atrun.IsOwn(at, answer))
}

// Defaults are the values from the operator's environment that pods use.
type Defaults = atrun.Defaults

// View is everything that a decision about one At depends on, at one instant. Do not modify the objects that it refers to: they may belong
// to a cache. The package reads the fields of a pod that the cache keeps: see atrun.TrimSpec, and Trim in internal/kube/caches.
type View struct {
	// At is the At, with the status that was last written.
	At *cnatv1alpha1.At
	// Pod is the newest known state of the pod whose UID the status records, or nil if the process does not know that the pod exists.
	Pod *corev1.Pod
	// Now is the instant of the view.
	Now time.Time

	known     []knownPod // the pods of the At, with those that are gone as long as they matter
	recorded  knownPod   // the one that the status records, or the zero value
	older     *corev1.Pod
	answers   Answers
	defaults  Defaults
	modified  modification
	taken     bool
	stopSince time.Time
	protected types.UID // the pod whose budget is confirmed
	protects  bool      // whether the budget of a run that is over must be deleted
	rejection *expectations.Rejection
	dryRun    dryRun
	failure   string
	first     bool
}

// attempt returns the number of the newest recorded attempt, from 0, or -1 if there is none.
func (v *View) attempt() int { return int(v.At.Status.Attempts) - 1 }

// hasStarted reports whether an attempt is recorded. The spec cannot change what runs after that.
func (v *View) hasStarted() bool { return v.At.Status.PodUID != "" && v.At.Status.Attempts > 0 }

func (v *View) isDone() bool      { return atrun.IsDone(&v.At.Status) }
func (v *View) isCanceled() bool  { return ptr.Deref(v.At.Spec.Cancel, false) }
func (v *View) isSuspended() bool { return ptr.Deref(v.At.Spec.Suspend, false) }

// isDeleted reports whether the At is being deleted. The operator then creates and deletes nothing for it.
func (v *View) isDeleted() bool { return v.At.DeletionTimestamp != nil }

// isBetween reports whether the newest attempt has failed and another one follows.
func (v *View) isBetween() bool {
	return v.hasStarted() && v.At.Status.RetryTime != nil && v.attempt() < v.backoffLimit()
}

// backoffLimit is spec.backoffLimit with its default and its maximum.
func (v *View) backoffLimit() int {
	return min(int(ptr.Deref(v.At.Spec.BackoffLimit, 0)), atrun.MaxAttempts-1)
}

// deadline returns when the run must have ended, or zero if it has no deadline. It spans all attempts, as in a Job.
func (v *View) deadline() time.Time {
	start := v.At.Status.StartTime
	if v.At.Spec.ActiveDeadlineSeconds == nil || !v.hasStarted() || start == nil {
		return time.Time{}
	}
	return start.Add(atspec.Seconds(*v.At.Spec.ActiveDeadlineSeconds))
}

func (v *View) deadlineOver() bool { return isOver(v.deadline(), v.Now) }

func isOver(deadline, now time.Time) bool { return !deadline.IsZero() && !now.Before(deadline) }

// startBy returns when the first attempt must have started, or zero if it has no limit. API times have whole seconds, and starting a pod takes
// time. With a deadline of 0, the At may therefore start until the end of the second in which it is due.
func (v *View) startBy() time.Time {
	deadline := v.At.Spec.StartingDeadlineSeconds
	if deadline == nil || v.attempt() > 0 {
		return time.Time{}
	}
	due, _ := v.dueTime()
	return due.Add(atspec.Seconds(*deadline) + time.Second)
}

// isTooLate reports whether the first attempt can no longer start. While the namespace is being deleted, the deadline is ignored.
func (v *View) isTooLate() bool {
	return isOver(v.startBy(), v.Now) && (v.rejection == nil || !v.rejection.NamespaceTerminating)
}

// mustStop reports whether the attempt must not start or continue, and why.
func (v *View) mustStop() (because string, must bool) {
	switch {
	case v.isCanceled():
		return "spec.cancel is true", true
	case v.deadlineOver():
		return "activeDeadlineSeconds exceeded", true
	case v.isTooLate() && (v.Pod == nil || !atrun.CommandStarted(v.At, v.Pod)):
		return "startingDeadlineSeconds exceeded, and the command has not started", true
	}
	return "", false
}

// exitSeen returns the exit code and the output of the command of a pod that has not ended, or nil. Recorded values stay.
func (v *View) exitSeen() (code *int32, output string) {
	if s := &v.At.Status; s.ExitCode != nil {
		return s.ExitCode, s.Output
	}
	return atrun.ExitSeen(v.At, v.Pod)
}

// neverRan reports whether it is proven that the recorded pod never ran and never will.
func (v *View) neverRan() bool {
	return v.recorded.gone && !isBound(v.recorded.pod) || v.Pod != nil && v.Pod.DeletionTimestamp != nil && !isBound(v.Pod)
}

func isBound(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// named returns the pod with the name of an attempt. Its pod is nil if none is known. Either the At controls it, or it was read from the API
// server.
func (v *View) named(attempt int) knownPod {
	name := atrun.PodName(v.At, attempt)
	for _, k := range v.known {
		if k.pod.Name == name && !k.gone && (k.exists || v.unread(name)) {
			return k
		}
	}
	pod := v.answers.Pods[name]
	return knownPod{pod: pod, exists: pod != nil}
}
