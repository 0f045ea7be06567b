// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/expectations"
)

// Seen is what the caches show about one At.
type Seen struct {
	// At is the At. Pods are the pods that its UID controls, in any phase and any order. OfPredecessor are those of a
	// deleted At of the same name.
	At                  *cnatv1alpha1.At
	Pods, OfPredecessor []*corev1.Pod
	// LastStates are the last states of the At's deleted pods, as far as the watch delivered them.
	LastStates []*corev1.Pod
}

// Answers are what the API server has answered to the questions of this pass.
type Answers struct {
	// At is the At, or nil if it was not read.
	At *cnatv1alpha1.At
	// Pods are the pods that were read, by name: nil for a pod that does not exist.
	Pods map[string]*corev1.Pod
	// Labeled is true if Pods has all pods that have the label with the UID of the At.
	Labeled bool
	// DryRun is the answer to the dry run of the pod, or nil. DryRunLater is after which time it can be sent, or 0.
	DryRun      *Answer
	DryRunLater time.Duration
}

// Defaults are the values from the operator's environment that pods use.
type Defaults = spec.Defaults

// View is everything that a decision about one At depends on, at one instant. Do not modify the objects that it refers
// to: they may belong to a cache. The package reads the fields of a pod that the cache keeps: see proof.TrimSpec, and
// Trim in internal/kube/caches.
type View struct {
	// At is the At, with the status that was last written.
	At *cnatv1alpha1.At
	// Pod is the newest known state of the pod whose UID the status records, or nil if the process does not know that
	// the pod exists.
	Pod *corev1.Pod
	// Now is the instant of the view.
	Now time.Time

	run, prepared  podState
	own            []*corev1.Pod // the pods of the At, except those that are gone
	lastStates     []*corev1.Pod
	predecessorPod *corev1.Pod
	answers        Answers
	defaults       Defaults
	stopSince      time.Time
	rejections     [requests]expectations.LastRejection
	dryRun         dryRun
	failure        string
	first          bool
}

// attempt returns the number of the newest recorded attempt, from 0, or -1 if there is none.
func (v *View) attempt() int { return int(v.At.Status.Attempts) - 1 }

// isRecorded reports whether an attempt is recorded. The spec cannot change what runs after that.
func (v *View) isRecorded() bool { return v.At.Status.PodUID != "" && v.At.Status.Attempts > 0 }

func (v *View) isDone() bool      { return proof.IsDone(&v.At.Status) }
func (v *View) isCanceled() bool  { return ptr.Deref(v.At.Spec.Cancel, false) }
func (v *View) isSuspended() bool { return ptr.Deref(v.At.Spec.Suspend, false) }

// isDeleted reports whether the At is being deleted. The operator then creates and deletes nothing for it.
func (v *View) isDeleted() bool { return v.At.DeletionTimestamp != nil }

// isBetween reports whether the newest attempt has failed and another one follows.
func (v *View) isBetween() bool {
	return v.isRecorded() && v.At.Status.RetryTime != nil && v.attempt() < v.backoffLimit()
}

// backoffLimit is spec.backoffLimit with its default and its maximum.
func (v *View) backoffLimit() int {
	return min(int(ptr.Deref(v.At.Spec.BackoffLimit, 0)), spec.MaxAttempts-1)
}

// deadline returns when the run must have ended, or zero if it has no deadline. It spans all attempts, as in a Job.
func (v *View) deadline() time.Time {
	start := v.At.Status.StartTime
	if v.At.Spec.ActiveDeadlineSeconds == nil || !v.isRecorded() || start == nil {
		return time.Time{}
	}
	return start.Add(spec.Seconds(*v.At.Spec.ActiveDeadlineSeconds))
}

func (v *View) deadlineOver() bool { return hasPassed(v.deadline(), v.Now) }

func hasPassed(deadline, now time.Time) bool { return !deadline.IsZero() && !now.Before(deadline) }

// startBy returns when the first attempt must have started, or zero if it has no limit. API times have whole seconds,
// and starting a pod takes time. With a deadline of 0, the At may therefore start until the end of the second in which
// it is due.
func (v *View) startBy() time.Time {
	deadline := v.At.Spec.StartingDeadlineSeconds
	if deadline == nil || v.attempt() > 0 || v.isBetween() {
		return time.Time{}
	}
	due, _ := v.dueTime()
	return due.Add(spec.Seconds(*deadline) + time.Second)
}

// isTooLate reports whether the first attempt can no longer start. While the namespace is being deleted, the deadline
// is ignored.
func (v *View) isTooLate() bool {
	rejection := v.rejection(toCreate)
	return hasPassed(v.startBy(), v.Now) && (rejection == nil || !rejection.NamespaceTerminating)
}

// mustStop returns why the attempt must not start or continue, or "".
func (v *View) mustStop() string {
	switch {
	case v.isCanceled():
		return "spec.cancel is true"
	case v.deadlineOver():
		return "activeDeadlineSeconds exceeded"
	case v.Pod != nil && v.run.startedAgain:
		return "the node has started the command again"
	case v.isTooLate() && (v.Pod == nil || !proof.CommandStarted(v.At, v.Pod)):
		return "startingDeadlineSeconds exceeded, and the command has not started"
	}
	return ""
}

// exitSeen returns the exit code and the output of the command of a pod that has not ended, or nil. Recorded values
// stay.
func (v *View) exitSeen() (code *int32, output string) {
	if s := &v.At.Status; s.ExitCode != nil {
		return s.ExitCode, s.Output
	}
	return proof.ExitSeen(v.At, v.Pod)
}

func isBound(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// rejection returns the last rejection of a kind of request, or nil.
func (v *View) rejection(of request) *expectations.Rejection {
	return v.rejections[of].Of(v.At.Generation)
}

func (v *View) isRejected() bool {
	return slices.ContainsFunc(v.rejections[:], func(l expectations.LastRejection) bool { return l.Of(v.At.Generation) != nil })
}

// unread reports whether a pod was not read from the API server in this pass.
func (v *View) unread(name string) bool {
	_, read := v.answers.Pods[name]
	return !read
}
