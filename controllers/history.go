// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/event"
)

// maxLoggedCommand limits the length of the logged command, in bytes.
const maxLoggedCommand = 256

// logFinishedRun logs a finished run. docs/how-to/history.md documents the keys. The logger adds namespace and name.
func (r *AtReconciler) logFinishedRun(logger logr.Logger, o at.Observation, finished *cnatv1alpha1.At) {
	s := &finished.Status
	image, command, node := r.Defaults.Image, finished.Spec.Command, ""
	if t := finished.Spec.Template; t != nil && len(t.Spec.Containers) > 0 {
		main := &t.Spec.Containers[0]
		image, command = main.Image, cmp.Or(command, strings.Join(slices.Concat(main.Command, main.Args), " "))
	}
	if pod := o.Known.Pod; pod != nil {
		node = pod.Spec.NodeName
	}
	keys := []any{
		"uid", finished.UID, "result", s.Result, "reason", s.Reason,
		"attempts", s.Attempts, "scheduled", logTime(s.ScheduledTime), "started", logTime(s.StartTime), "finished", logTime(s.CompletionTime),
		"pod", s.PodName, "node", node, "image", image, "command", event.Cut(command, maxLoggedCommand),
		"requester", finished.Annotations[cnatv1alpha1.AnnotationRequestedBy],
	}
	if s.ExitCode != nil {
		keys = append(keys, "exitCode", *s.ExitCode)
	}
	logger.Info("Run finished", keys...)
}

// logTime returns a time in RFC 3339, or nil. The logger would print a metav1.Time in Go's format.
func logTime(t *metav1.Time) any {
	if t == nil {
		return nil
	}
	return t.ToUnstructured()
}
