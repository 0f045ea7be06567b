// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

const (
	// Gate is the scheduling gate that the operator gives the pod of an At. No node can run the pod before the operator has removed it.
	Gate = "cnat.d2iq.com/start"
	// Planted is the annotation of a pod that a user created with an At as its owner.
	Planted = "example.com/planted"
)

var gate = corev1.PodSchedulingGate{Name: Gate}

// IsGated reports whether a pod has the operator's gate.
func IsGated(pod *corev1.Pod) bool { return slices.Contains(pod.Spec.SchedulingGates, gate) }

// ReadPatch sets what a JSON patch of a pod requires and does.
func (c *Call) ReadPatch() {
	var operations []struct {
		Op, Path string
		Value    any
	}
	_ = json.Unmarshal(c.Body, &operations) // Any other patch violates P4.
	for _, o := range operations {
		uid, _ := o.Value.(string)
		switch {
		case o.Op == "test" && o.Path == "/metadata/uid":
			c.Precondition = types.UID(uid)
		case o.Op == "remove" && strings.HasPrefix(o.Path, "/spec/schedulingGates"):
			c.Opens = true
		case o.Path == "/spec/activeDeadlineSeconds":
			c.Stops = true
		}
	}
}

// stop is a request of the operator to end a pod, and the deadline that the pod had before.
type stop struct {
	seen     time.Time
	deadline *int64
}

// claim is a status that says that the command of an attempt did not run. Without an attempt, it is about the whole At.
type claim struct {
	at      *cnatv1alpha1.At
	version uint64
}

// noteGate checks a change of a pod by the operator, and a pod that can run from now on: A21, P4.
func (c *Checker) noteGate(before, pod *corev1.Pod) { //nolint:cyclop // A list of conditions.
	create, created := c.byUID[pod.UID]
	at := c.state.Ats[c.ownerOf(pod)]
	if at == nil && created {
		at = c.state.Ats[create.Owner]
	}
	write, ours := c.ours[pod.ResourceVersion]
	if at != nil && !created && pod.Annotations[Planted] != "" && !IsGated(pod) && !c.isUngated(pod.UID) {
		c.ungated[pod.UID] = c.now.Seen // To the operator, it is one of the pods of the At, which somebody else has opened.
	}
	if before == nil || !ours || write.Verb != "patch" {
		if created && at != nil && !IsGated(pod) {
			c.openedByOthers(at, before, pod, create)
		}
		return
	}
	subject := "pod " + pod.Name
	rest, allowed := slices.DeleteFunc(slices.Clone(before.Spec.SchedulingGates), func(g corev1.PodSchedulingGate) bool { return g == gate }), before.Spec.DeepCopy()
	allowed.ActiveDeadlineSeconds, allowed.SchedulingGates = pod.Spec.ActiveDeadlineSeconds, pod.Spec.SchedulingGates
	same := slices.Equal(pod.Spec.SchedulingGates, before.Spec.SchedulingGates) || slices.Equal(pod.Spec.SchedulingGates, rest)
	c.check("P4", same && equality.Semantic.DeepEqual(*allowed, pod.Spec), subject, "the operator changed more than its gate and the deadline")
	if !equality.Semantic.DeepEqual(before.Spec.ActiveDeadlineSeconds, pod.Spec.ActiveDeadlineSeconds) {
		c.stops[pod.UID] = stop{c.now.Seen, before.Spec.ActiveDeadlineSeconds}
	}
	if IsGated(before) && !IsGated(pod) {
		recorded := at != nil && (at.Status.PodUID == pod.UID || c.state.Removed[at.UID])
		c.check("A21", recorded, subject, "the operator opened a pod that the status does not name")
		c.check("A21", created, subject, "the operator opened a pod that it did not create")
		knows := create.Process == write.Process && create.Fault == "" // Another process cannot know the images with which it was created.
		c.check("A21", !knows || slices.Equal(imagesOf(pod), c.images[pod.UID]), subject, "the operator opened a pod whose images were changed")
		if at != nil {
			c.run(at, pod, write)
		}
	}
}

// openedByOthers notes a pod of an At that has no gate, or has it no more, without a request of the operator.
func (c *Checker) openedByOthers(at *cnatv1alpha1.At, before, pod *corev1.Pod, create Write) {
	begin, recorded := c.begins[at.UID][at.Status.Attempts]
	switch {
	case before == nil:
		if create.Gated {
			c.ungated[pod.UID] = c.now.Seen
		}
		c.run(at, pod, create)
	case !IsGated(before):
	case ControllerOf(pod) != "" && ControllerOf(pod) != at.UID: // A user gave the pod to another owner before a user opened it.
		c.ungated[pod.UID] = c.now.Seen
	case recorded && at.Status.PodUID == pod.UID:
		c.run(at, pod, begin)
	default:
		c.ungated[pod.UID] = c.now.Seen
		if c.runs[at.UID] == nil {
			c.runs[at.UID] = map[types.UID]bool{}
		}
		c.runs[at.UID][pod.UID] = true
	}
}

// isUngated reports whether a pod of an At had no gate before the operator could open it.
func (c *Checker) isUngated(pod types.UID) bool {
	_, ungated := c.ungated[pod]
	return ungated
}

// imagesOf returns the images of the containers of a pod.
func imagesOf(pod *corev1.Pod) []string {
	var images []string
	for _, container := range pod.Spec.Containers {
		images = append(images, container.Image)
	}
	return images
}

// overlaps checks that a pod of an At cannot run beside one of an earlier At with the same name: A23. A user can take a pod from its owner.
func (c *Checker) overlaps(at *cnatv1alpha1.At, pod *corev1.Pod, write Write) {
	shown := c.begins[at.UID][AttemptOf(at, c.requested(pod))].Shown
	for uid, earlier := range c.state.Ats {
		if uid == at.UID || earlier.Name != at.Name {
			continue
		}
		for run := range c.runs[uid] {
			if !shown[run] && write.Sent.Sub(c.byUID[run].Sent) < staleLimit { // The cache may not have shown it.
				continue
			}
			other := c.state.Pods[run]
			finished := other.Status.Phase == corev1.PodFailed || other.Status.Phase == corev1.PodSucceeded
			c.check("A23", c.state.Removed[run] || finished || ControllerOf(other) != uid, "At "+at.Name, "pod %s can run beside pod %s of an earlier At with this name", pod.Name, other.Name)
		}
	}
}

// noteClaim records a status that says that a command did not run: A22. One that does not say it must not be able to know it: A25.
func (c *Checker) noteClaim(before, at *cnatv1alpha1.At, write Write) {
	if at.Status.Phase != cnatv1alpha1.PhaseDone && at.Status.RetryTime == nil { // It is about an earlier attempt.
		return
	}
	if before != nil && messages(before) == messages(at) { // A user can open a pod after the end.
		return
	}
	says := at.Status.Reason == cnatv1alpha1.ReasonMissedDeadline || at.Status.Reason == cnatv1alpha1.ReasonNotStarted
	for _, condition := range at.Status.Conditions {
		text := strings.ReplaceAll(condition.Message, "without proof that it failed or did not run", "")
		says = says || strings.Contains(text, "did not run") || condition.Type == "CommandRan" && condition.Status == metav1.ConditionFalse
	}
	if says {
		c.claims = append(c.claims, claim{at, c.now.Version})
	}
	if s := &at.Status; c.full && s.Phase == cnatv1alpha1.PhaseDone && s.Reason != "" && (before == nil || before.Status.Reason != s.Reason) {
		// Another pod can have the name that admission gave, and a pod without an owner can look like one of the At.
		unclear := c.ChangesIdentity && s.Reason == cnatv1alpha1.ReasonPodModified || strings.Contains(messages(at), "may be the pod of this At")
		c.check("A25", says || unclear || !c.isProvenNotRun(at, write), "At "+at.Name, "the reason is %s, and no condition says that the command did not run: %s", s.Reason, messages(at))
	}
}

// messages returns the conditions of an At in short.
func messages(at *cnatv1alpha1.At) string {
	var all []string
	for _, c := range at.Status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(all, " | ")
}

// isProvenNotRun reports whether the process that wrote the end of an At can prove that the command of its newest attempt did not run: nothing but
// the operator has removed the gate of one of its pods, no node had the recorded one, and the process knows its last state.
func (c *Checker) isProvenNotRun(at *cnatv1alpha1.At, write Write) bool {
	for uid := range c.ungated { // A pod that a user created under another name can seem to be one that admission has renamed.
		if c.ownerOf(c.state.Pods[uid]) == at.UID {
			return false
		}
	}
	for uid, w := range c.byUID {
		pod := c.state.Pods[uid]
		if w.Owner != at.UID || pod == nil || at.Status.Attempts > 0 && AttemptOf(at, w.Requested) != at.Status.Attempts {
			continue
		}
		if c.isUngated(uid) || w.Stripped || w.Renamed || pod.Spec.NodeName != "" || !w.Gated {
			return false
		}
	}
	pod := c.state.Pods[at.Status.PodUID]
	return at.Status.Attempts == 0 || pod != nil && c.state.isNeverBound(pod) && ControllerOf(pod) == at.UID && c.couldObserve(pod, write)
}

// claimsAreTrue checks that no command ran if a status says that it did not: A22.
func (c *Checker) claimsAreTrue() {
	for _, said := range c.claims {
		c.check("A22", true, "", "")
		for uid := range c.runs[said.at.UID] {
			pod := c.state.Pods[uid]
			about := said.at.Status.Attempts == 0 || AttemptOf(said.at, c.requested(pod)) == said.at.Status.Attempts
			c.now.Version = said.version
			c.check("A22", !about || !c.couldKnow(said.at, pod) || !c.ran(pod), "At "+said.at.Name, "the status says that the command did not run, but it ran in pod %s: %s", pod.Name, messages(said.at))
		}
	}
}

// couldKnow reports whether the process that wrote the status of an At could know whether a pod can run: the operator must open it, or it had no
// gate when the decision was made, and the process received the answer to its create, its cache showed it, or its name shows it.
func (c *Checker) couldKnow(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	since, ungated := c.ungated[pod.UID]
	create, write := c.byUID[pod.UID], c.ours[at.ResourceVersion]
	answered := create.Fault == "" && create.Process == write.Process
	shown := ControllerOf(pod) == at.UID && (write.Shown[pod.UID] || pod.Name == c.requested(pod))
	return !ungated || since.Before(write.Sent) && (answered || shown)
}

// ran reports whether the command of a pod ran, or may have run.
func (c *Checker) ran(pod *corev1.Pod) bool {
	if c.Runs != nil {
		return c.Runs[pod.UID] != nil && c.Runs[pod.UID].Started
	}
	return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded || termination(pod) != nil
}
