// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/pods"
)

// openedByOthers returns a pod of the next attempt that has lost its gate although it was not recorded, or nil: a user
// or admission has started the command. It may be gone already. Admission can also have changed its name, so every pod
// that the At controls counts, except those of earlier attempts.
func (v *View) openedByOthers() *corev1.Pod {
	isOpened := func(pod *corev1.Pod) bool {
		return pod.UID != v.At.Status.PodUID && !proof.IsGated(pod) && !v.isOfEarlier(pod)
	}
	for _, pod := range v.own {
		if isOpened(pod) && (isBound(pod) || pod.DeletionTimestamp == nil) {
			return pod
		}
	}
	for _, pod := range v.lastStates {
		if isOpened(pod) && isBound(pod) {
			return pod
		}
	}
	return nil
}

// isOfEarlier reports whether a pod has the name of an attempt before the next one.
func (v *View) isOfEarlier(pod *corev1.Pod) bool {
	for n := range v.nextAttempt() {
		if pod.Name == spec.PodName(v.At, n) {
			return true
		}
	}
	return false
}

// modifiedPod ends an At whose next pod must not be used, because admission has changed it, or others have opened it. A
// pod with its gate is deleted first. Another one is recorded as the run.
func (v *View) modifiedPod() Step {
	k, opened, what := v.prepared, v.openedByOthers(), "admission changed "+v.prepared.modified
	switch {
	case opened != nil && (k.modified == "" || opened.UID != k.uid()):
		return v.recordOpened(opened, v.nextAttempt(), openedBy(opened))
	case k.pod == nil: // A pod that the At does not control has the name that admission gave to it.
		return v.done(v.modifiedEnd(what, proof.Unknown))
	case v.unread(k.pod.Name) && !k.neverRan() && !k.isGone(): // The cache does not show a pod without its owner.
		return ask(Ask{Pod: k.pod.Name})
	case k.neverRan():
		return v.endUnstarted(v.modifiedEnd(what, proof.NotRun))
	case v.Now.Before(k.mayShowLast()):
		return unchanged.at(k.mayShowLast())
	case k.isGone():
		return v.done(v.modifiedEnd(what, proof.Unknown))
	case proof.IsGated(k.pod):
		return v.discard(k.pod)
	}
	return v.recordOpened(k.pod, v.nextAttempt(), what)
}

// openedBy describes how others have opened a pod.
func openedBy(pod *corev1.Pod) string {
	return fmt.Sprintf("the scheduling gate %s of pod %s was removed, but not by this operator", cnatv1alpha1.StartGate, pod.Name)
}

// recordOpened records a pod that others have opened as the run of an attempt, in the write that ends the At.
func (v *View) recordOpened(pod *corev1.Pod, attempt int, what string) Step {
	s := v.done(v.modifiedEnd(what, proof.Unknown))
	s.record, s.attempt, s.modified = pod, attempt, what
	return s
}

// modifiedEnd returns the end of an At whose next pod was modified. If that pod did not run, the exit code of the
// newest attempt stays.
func (v *View) modifiedEnd(what string, proven proof.Proof) proof.End {
	e := proof.End{Proof: proven, Reason: cnatv1alpha1.ReasonPodModified, Message: what, Remedy: excludePods + ", then create the At again"}
	if s := &v.At.Status; v.isBetween() && proven == proof.NotRun && s.ExitCode != nil {
		e.ExitCode, e.Output = s.ExitCode, s.Output
		e.Message += "; the command was not run again"
	}
	return e
}

// excludePods is what to do about admission that changes the identity of pods.
const excludePods = "Exclude pods with the label " + pods.LabelManagedBy + ": " + pods.ManagedBy + " from the webhook or policy that changes them"
