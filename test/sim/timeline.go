// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// pausedSet is the annotation that pauses a PodSet while it is true.
const pausedSet = appv1alpha1.AnnotationPaused

// describe describes a change in a few words.
func describe(e invariants.Event) string {
	what := ""
	switch o := e.Object.(type) {
	case *appv1alpha1.PodSet:
		what = fmt.Sprintf("PodSet %s, generation %d, replicas %d, status: generation %d, pods %v", o.Name, o.Generation, ptr.Deref(o.Spec.Replicas, 1), o.Status.ObservedGeneration, o.Status.PodNames)
	case *cnatv1alpha1.At:
		what = fmt.Sprintf("At %s, generation %d, schedule %s, phase %s %s", o.Name, o.Generation, o.Spec.Schedule, o.Status.Phase, o.Status.Reason)
	case *corev1.Pod:
		what = fmt.Sprintf("Pod %s, %s, ready: %t", o.Name, o.Status.Phase, isReady(o))
	}
	if e.Object.GetDeletionTimestamp() != nil {
		what += ", terminating"
	}
	if e.Kind == watch.Deleted {
		what += ", deleted"
	}
	return what
}

// logSink adds the log lines of a process to the timeline: what the operator decided and why.
type logSink struct {
	process *process
	values  []any
}

// Init does nothing.
func (*logSink) Init(logr.RuntimeInfo) {}

// Enabled reports whether the timeline includes lines of this level.
func (s *logSink) Enabled(level int) bool { return s.process.env.trace != nil && level <= 4 }

// Info adds a line of a reconcile.
func (s *logSink) Info(_ int, message string, values ...any) {
	if s.value("name") == "" {
		return // It is not about an object.
	}
	s.add(message + words(values))
}

// Error adds an error.
func (s *logSink) Error(err error, message string, _ ...any) {
	s.add(fmt.Sprintf("%s: %v", message, err))
}

func (s *logSink) add(text string) {
	e := s.process.env
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trace != nil && s.process.ctx.Err() == nil {
		e.notes = append(e.notes, fmt.Sprintf("process %d decides about %s %s: %s", s.process.number, s.value("controller"), s.value("name"), text))
	}
}

func (s *logSink) value(key string) string {
	for i := 0; i+1 < len(s.values); i += 2 {
		if s.values[i] == key {
			return fmt.Sprint(s.values[i+1])
		}
	}
	return ""
}

func words(values []any) string {
	var text strings.Builder
	for i := 0; i+1 < len(values); i += 2 {
		if values[i] != "status" {
			fmt.Fprintf(&text, ", %v: %v", values[i], values[i+1])
		}
	}
	return text.String()
}

// WithValues returns a sink with the object.
func (s *logSink) WithValues(values ...any) logr.LogSink {
	return &logSink{s.process, append(append([]any{}, s.values...), values...)}
}

// WithName returns the same sink.
func (s *logSink) WithName(string) logr.LogSink { return s }
