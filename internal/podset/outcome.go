// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/event"
)

// Outcome is the result of carrying out a plan.
type Outcome struct {
	// Created are the pods that exist now, as the API server returned them.
	Created []*corev1.Pod
	// Deleted are the pods that were deleted.
	Deleted []*corev1.Pod
	// CleanedUp are the finished pods that were deleted.
	CleanedUp []*corev1.Pod
	// CreateError is the first rejection of a create or, if there is none, the first error; nil: none.
	CreateError error
	// DeleteError joins the first error of the deletions and that of the cleanup; nil: none.
	DeleteError error
	// Rejected says that CreateError is an answer of the API server that an immediate retry would not change.
	Rejected bool
	// NameCollision is the name of a pod that was not created because a conflicting pod has the name; "": none. The next
	// reconcile uses the next name, so this is not an error.
	NameCollision string
	// Reported says that the status was written, or did not differ from the stored one.
	Reported bool
	// Written is the PodSet with the status that was written and the resource version that the API server returned; nil: none was written.
	Written *appv1alpha1.PodSet
}

// Succeeded tells whether pods were created or deleted and every write succeeded, so that the status can wait a moment for the
// changes that follow from them.
func (o Outcome) Succeeded() bool {
	return len(o.Created)+len(o.Deleted)+len(o.CleanedUp) > 0 && o.CreateError == nil && o.DeleteError == nil && o.NameCollision == ""
}

// Events returns the events about an outcome, one for each kind of action. Each relates to its first pod, so that an event about other
// pods does not count as its repetition.
func Events(outcome Outcome) []event.Event {
	var events []event.Event
	if pods := outcome.Created; len(pods) > 0 {
		events = append(events, event.Normal("SuccessfulCreate", "Create", "Created "+joinNames(pods, podNameOf)).About(pods[0]))
	}
	if pods := outcome.Deleted; len(pods) > 0 {
		events = append(events, event.Normal("SuccessfulDelete", "Delete", "Deleted "+joinNames(pods, podNameOf)).About(pods[0]))
	}
	if pods := outcome.CleanedUp; len(pods) > 0 {
		events = append(events, event.Normal("PodsFinished", "Remove", "Deleted after they finished: "+
			joinNames(pods, func(pod *corev1.Pod) string { return pod.Name + " (" + finishReason(pod) + ")" })).About(pods[0]))
	}
	if err := outcome.CreateError; err != nil {
		events = append(events, event.Warning("FailedCreate", "Create", err.Error()))
	}
	if err := outcome.DeleteError; err != nil {
		events = append(events, event.Warning("FailedDelete", "Delete", err.Error()))
	}
	return events
}

func podNameOf(pod *corev1.Pod) string { return pod.Name }

func joinNames(pods []*corev1.Pod, name func(*corev1.Pod) string) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = name(pod)
	}
	return strings.Join(names, ", ")
}
