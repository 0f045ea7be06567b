// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/pods"
)

// prepare returns the step toward the start of an attempt: create its pod with a gate, wait until it is due, then record the pod and remove
// the gate. s is what the At reports meanwhile.
func (v *View) prepare(s Step, attempt int, due time.Time) Step {
	name, k := atrun.PodName(v.At, attempt), v.named(attempt)
	pod := k.pod
	switch {
	case v.Now.Before(due.Add(-prepareLead)):
		return s.at(due.Add(-prepareLead))
	case !k.exists && (pod != nil || v.taken) && v.unread(name): // The cache is behind, or the answer to the last create was: it exists.
		return ask(Ask{Pod: name})
	case pod == nil:
		return v.create(s, attempt)
	case atrun.IsOfOlderAt(v.At, pod):
		s.scheduled = nameTaken(pod)
		return s.at(v.Now.Add(nameRetry))
	case !atrun.IsOwn(v.At, pod), !atrun.IsGated(pod) && !v.isPrepared(k):
		return v.finish(v.conflictEnd(pod))
	case pod.DeletionTimestamp != nil:
		s.scheduled = say{cnatv1alpha1.ReasonNameTaken, "pod " + pod.Name + " is being deleted: this At starts when that pod is gone"}
		return s.at(v.Now.Add(nameRetry))
	case !v.isPrepared(k):
		return v.throwAway(pod)
	case v.Now.Before(due):
		return s.at(due)
	}
	s = v.wait(started("pod " + pod.Name + " was created"))
	s.record, s.attempt = pod, attempt
	return v.start(s, pod)
}

// create returns the step that creates the pod of an attempt, unless the last request about a pod was rejected a short time ago.
func (v *View) create(s Step, attempt int) Step {
	switch {
	case v.rejection != nil:
		s.scheduled = v.rejected()
		if v.Now.Before(v.rejection.Until) {
			return s.at(v.rejection.Until)
		}
	case v.failure != "":
		s.scheduled = say{cnatv1alpha1.ReasonRequestFailed, v.failure}
	case v.waitedForName(): // The last dry run was before that.
		s.unchanged = true
	case !v.hasStarted() && v.dryRun.says.isBad(): // It still counts, until this create is answered.
		s.ready = v.dryRun.says
	default:
		s.unchanged = v.At.Status.Phase == "" && !v.Now.Before(v.due()) // The record follows at once.
	}
	s.Create = newPod(v, attempt)
	return s
}

// waitedForName reports whether the status says that the At waits for its name.
func (v *View) waitedForName() bool {
	ready := v.condition(cnatv1alpha1.ConditionReady)
	return ready != nil && ready.Reason == cnatv1alpha1.ReasonNameTaken
}

// rejected returns what the condition Scheduled says after the API server rejected a pod.
func (v *View) rejected() say {
	switch {
	case v.rejection.NamespaceTerminating:
		return say{cnatv1alpha1.ReasonNamespaceTerminating, v.rejection.Message}
	case v.rejection.Invalid && v.At.Spec.Template != nil:
		return say{cnatv1alpha1.ReasonInvalidTemplate, v.rejection.Message}
	}
	return say{cnatv1alpha1.ReasonFailedCreate, v.rejection.Message}
}

// open returns the step that removes the gate of the recorded pod, which starts the command. An uninterrupted At gets its budget first.
func (v *View) open(pod *corev1.Pod) Step {
	s := v.wait(started("pod " + pod.Name + " was created"))
	switch {
	case v.rejection != nil:
		s.ready = say{cnatv1alpha1.ReasonFailedStart, v.rejection.Message}
		if v.Now.Before(v.rejection.Until) {
			return s.at(v.rejection.Until)
		}
	case v.failure != "":
		s.ready = say{cnatv1alpha1.ReasonRequestFailed, v.failure}
	}
	return v.start(s, pod)
}

// isPrepared reports whether a pod is one that this process created from the present spec.
func (v *View) isPrepared(k knownPod) bool { return k.generation == v.At.Generation }

// gated returns a pod of the At that has its gate, or the zero value.
func (v *View) gated() knownPod {
	for _, k := range v.known {
		if k.exists && !k.deleted && atrun.IsGated(k.pod) && k.pod.DeletionTimestamp == nil {
			return k
		}
	}
	return knownPod{}
}

// stray returns a gated pod of an At that has not started if it must not be used, or nil: another process created it, or the spec has
// changed since, or the At cannot start now.
func (v *View) stray() *corev1.Pod {
	k := v.gated()
	if v.isPrepared(k) && !v.isSuspended() && v.problem().reason == "" && !v.Now.Before(v.due().Add(-prepareLead)) {
		return nil
	}
	return k.pod
}

// throwAway returns the step that deletes a gated pod, after the API server has confirmed that the At does not name it.
func (v *View) throwAway(pod *corev1.Pod) Step {
	if v.answers.At == nil {
		return ask(Ask{At: true})
	}
	return unchanged.delete(pod)
}

// modifiedPod deletes a pod whose identity admission changed, if it provably never ran, and ends the At.
func (v *View) modifiedPod() Step {
	what, pod, deleted := v.modified.what, v.modified.pod, v.modified.deleted
	if pod == nil { // Another pod has the name that admission gave it: of another owner, or of a create that was not answered.
		return v.finish(v.modifiedEnd(what, "", atrun.Unknown))
	}
	if v.unread(pod.Name) && !deleted {
		return ask(Ask{Pod: pod.Name})
	}
	exists := v.answers.Pods[pod.Name] == pod && !deleted
	switch {
	case exists && isBound(pod): // Admission removed the gate, too.
		s := v.finish(v.modifiedEnd(what, "", atrun.Unknown))
		s.record, s.attempt = pod, v.attempt()
		if v.isBetween() || !v.hasStarted() {
			s.attempt++
		}
		return s
	case exists && pod.DeletionTimestamp == nil:
		return unchanged.delete(pod)
	case exists, deleted, atrun.IsGated(pod): // No node can get a pod that is being deleted.
		return v.finish(v.modifiedEnd(what, "the pod was deleted, and ", atrun.NotRun))
	}
	return v.finish(v.modifiedEnd(what, "", atrun.Unknown))
}

// modifiedEnd returns the end of an At whose pod was changed by admission. then is what happened to the pod.
func (v *View) modifiedEnd(what, then string, proof atrun.Proof) atrun.End {
	return v.blockedEnd(proof, cnatv1alpha1.ReasonPodModified, modifiedMessage("admission changed "+what, then+v.claim(proof)))
}

// blockedEnd returns the end of an At whose next pod must not be used. If that pod did not run, the exit code of the newest attempt stays.
func (v *View) blockedEnd(proof atrun.Proof, reason, message string) atrun.End {
	e := atrun.End{Proof: proof, Reason: reason, Message: message}
	if v.isBetween() && proof == atrun.NotRun {
		e.ExitCode, e.Output = v.At.Status.ExitCode, v.At.Status.Output
	}
	return e
}

// claim returns what is said about the command of a pod that must not be used.
func (v *View) claim(proof atrun.Proof) string {
	switch {
	case proof != atrun.NotRun:
		return "the command may have run"
	case v.isBetween():
		return "the command was not run again"
	}
	return "the command did not run"
}

// modifiedMessage describes what admission changed, what follows, and what to do.
func modifiedMessage(changed, then string) string {
	return fmt.Sprintf("%s; %s. Exclude pods with the label %s: %s from the webhook or policy that changes them, then create the At again",
		changed, then, pods.LabelManagedBy, pods.ManagedBy)
}

// notStarted returns the end of an At that has not started. Admission could have removed the gate of a pod whose create was not answered.
func (v *View) notStarted() atrun.End {
	if pod := v.named(0).pod; pod != nil && !atrun.IsGated(pod) {
		return v.conflictEnd(pod)
	}
	return atrun.End{Proof: atrun.NotRun}
}

// conflictEnd returns the end of an At if a pod that it did not prepare has its pod's name. Admission could have removed the gate of a pod whose
// create was not answered, and its owner reference.
func (v *View) conflictEnd(pod *corev1.Pod) atrun.End {
	what, proof := "does not belong to this At", atrun.NotRun
	switch {
	case atrun.IsOwn(v.At, pod):
		what, proof = "has no scheduling gate "+cnatv1alpha1.StartGate+" of this operator", atrun.Unknown
	case !atrun.IsGated(pod) && (pod.Labels[cnatv1alpha1.LabelAt] != "" || pod.Annotations[cnatv1alpha1.AnnotationGeneration] != ""):
		what, proof = "has lost its reference to this At", atrun.Unknown
	}
	return v.blockedEnd(proof, cnatv1alpha1.ReasonPodNameConflict, fmt.Sprintf(
		"pod %s already exists and %s: %s. Delete the pod or choose another name, then create the At again", pod.Name, what, v.claim(proof)))
}
