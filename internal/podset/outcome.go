// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/event"
)

// Outcome is what came of carrying out a plan.
type Outcome struct {
	// Created are the pods that exist now, as the API server returned them.
	Created []*corev1.Pod
	// Deleted are the pods that were deleted.
	Deleted []*corev1.Pod
	// Swept are the finished pods that were removed.
	Swept []*corev1.Pod
	// CreateError and DeleteError are the first error of each kind; nil: none.
	CreateError, DeleteError error
	// RetryAt is when a create that was refused may be tried again; zero: none was.
	RetryAt time.Time
}

// IsClean tells whether pods were written and nothing went wrong: there is nothing to say that could not wait a moment.
func (o Outcome) IsClean() bool {
	return len(o.Created)+len(o.Deleted)+len(o.Swept) > 0 && o.CreateError == nil && o.DeleteError == nil && o.RetryAt.IsZero()
}

// Then is what came of this and of a later plan.
func (o Outcome) Then(later Outcome) Outcome {
	later.Created = slices.Concat(o.Created, later.Created)
	later.Deleted = slices.Concat(o.Deleted, later.Deleted)
	later.Swept = slices.Concat(o.Swept, later.Swept)
	return later
}

// Events tells what was done, one event for each kind of action.
func Events(outcome Outcome) []event.Event {
	var events []event.Event
	if pods := outcome.Created; len(pods) > 0 {
		events = append(events, event.Normal("SuccessfulCreate", "Create", "Created "+list(pods, podNameOf)))
	}
	if pods := outcome.Deleted; len(pods) > 0 {
		events = append(events, event.Normal("SuccessfulDelete", "Delete", "Deleted "+list(pods, podNameOf)))
	}
	if pods := outcome.Swept; len(pods) > 0 {
		events = append(events, event.Normal("PodsFinished", "Remove", "Removed after their end: "+
			list(pods, func(pod *corev1.Pod) string { return pod.Name + " (" + finishReason(pod) + ")" })))
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

func list(pods []*corev1.Pod, name func(*corev1.Pod) string) string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = name(pod)
	}
	return strings.Join(names, ", ")
}
