// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// runsLatest checks that a new pod runs the command of the latest spec that the operator could know: A5.
func (c *Checker) runsLatest(at *cnatv1alpha1.At, pod *corev1.Pod, write Write) {
	var commands []string
	for _, known := range c.known(at, write) {
		commands = append(commands, known.Spec.Command)
	}
	// The checker does not split words as a shell does.
	if slices.ContainsFunc(commands, func(command string) bool { return command == "" || strings.ContainsAny(command, "'\"\\$") }) {
		return
	}
	ran := CommandContainer(pod).Command
	c.check("A5", slices.ContainsFunc(commands, func(command string) bool { return slices.Equal(strings.Fields(command), ran) }),
		"At "+at.Name, "pod %s runs %q, but the command is %q", pod.Name, ran, commands)
}

// ownRun checks that the run that a status records belongs to this At: A6, A9. It must be neither a pod of an earlier At with the same name
// nor a foreign pod.
func (c *Checker) ownRun(at *cnatv1alpha1.At) {
	s := &at.Status
	subject, own := "At "+at.Name, c.setPods[at.UID]
	if s.Phase != cnatv1alpha1.PhaseDone {
		return
	}
	var earlier, foreign []string // pods of other owners with the name of the first pod of this At
	for uid, pod := range c.state.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case pod.Name != at.Name+"-pod" || own[uid] != nil:
		case owner != nil && owner.Kind == "At" && pod.Annotations[Planted] == "":
			earlier = append(earlier, pod.Name)
		default:
			foreign = append(foreign, pod.Name)
		}
	}
	_, recorded := own[s.PodUID]
	ran := len(own) > 0 && (recorded || s.PodUID == "")
	if s.Reason == cnatv1alpha1.ReasonPodModified && c.isUngated(s.PodUID) {
		return // A pod that somebody else opened, or created without the gate.
	}
	claims := s.Reason == "" || s.Result == cnatv1alpha1.ResultSucceeded || s.PodUID != ""
	c.check("A6", ran || !claims || len(earlier) == 0, subject, "the At is DONE, but only an earlier At with the same name ran: %v", earlier)
	c.check("A9", ran || !claims || len(foreign) == 0, subject, "the At is DONE, but only a foreign pod ran: %v", foreign)
}

// Unusable are a schedule and a command that the operator can never run. Ats may have been stored with them before the CRD rejected them.
const (
	UnusableSchedule = "tomorrow"
	UnusableCommand  = "echo 'no end"
)

// IsUnusable reports whether the operator can never run an At.
func IsUnusable(at *cnatv1alpha1.At) bool {
	return at.Spec.Schedule == UnusableSchedule || at.Spec.Command == UnusableCommand
}

// maxUnusableWrites is how often the operator may write the status of an unusable At after another change of the At.
const maxUnusableWrites = 2

// unusable checks that the operator leaves an unusable At alone: A7. A3 checks that a condition gives the reason.
func (c *Checker) unusable(at *cnatv1alpha1.At) {
	if _, ours := c.ours[at.ResourceVersion]; !ours || !IsUnusable(at) {
		c.writings[at.UID] = 0
		return
	}
	if at.Status.Phase == cnatv1alpha1.PhaseDone || isStuck(meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionReady)) {
		return // A user has created a pod for it, or has canceled it.
	}
	c.writings[at.UID]++
	c.check("A7", c.writings[at.UID] <= maxUnusableWrites, "At "+at.Name, "%d writes for an unusable spec", c.writings[at.UID])
}
