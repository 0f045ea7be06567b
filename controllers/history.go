// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/event"
)

// maxLogged limits the length of a logged text that users choose, in bytes.
const maxLogged = 256

// logRun logs a run that ended, or whose At was deleted. docs/monitoring.md documents the keys. The logger adds
// namespace and name.
func (r *AtReconciler) logRun(logger logr.Logger, what string, run *cnatv1alpha1.At, pod *corev1.Pod) {
	s := &run.Status
	image, command, node := r.Defaults.Image, run.Spec.Command, ""
	if t := run.Spec.Template; t != nil && len(t.Spec.Containers) > 0 {
		main := &t.Spec.Containers[0]
		image, command = main.Image, cmp.Or(command, strings.Join(slices.Concat(main.Command, main.Args), " "))
	}
	if pod != nil {
		node = pod.Spec.NodeName
	}
	keys := []any{
		"uid", run.UID, "result", s.Result, "reason", s.Reason,
		"attempts", s.Attempts, "scheduled", logTime(s.ScheduledTime), "started", logTime(s.StartTime), "finished", logTime(s.CompletionTime),
		"pod", s.PodName, "node", node, "image", event.Cut(image, maxLogged),
		"requester", run.Annotations[cnatv1alpha1.AnnotationRequestedBy], "approver", run.Annotations[cnatv1alpha1.AnnotationApprovedBy],
	}
	if !r.OmitCommands {
		keys = append(keys, "command", event.Cut(command, maxLogged))
	}
	if s.ExitCode != nil {
		keys = append(keys, "exitCode", *s.ExitCode)
	}
	logger.Info(what, keys...)
}

// logDeletedRun logs the run of an At that was deleted before its end was recorded. How the command ended is not known.
func (r *AtReconciler) logDeletedRun(ctx context.Context, memory *at.Memory) {
	if run, pod := memory.LastRun(); run != nil {
		r.logRun(log.FromContext(ctx), "Run deleted", run, pod)
	}
}

// logTime returns a time in RFC 3339, or nil. The logger would print a metav1.Time in Go's format.
func logTime(t *metav1.Time) any {
	if t == nil {
		return nil
	}
	return t.ToUnstructured()
}
