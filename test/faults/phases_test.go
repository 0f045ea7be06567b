// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// F17: pods that end, and pods of which nobody knows.
func TestPodPhases(t *testing.T) {
	try(t, "F17", map[string]trial{
		"Failed":    phase(corev1.PodFailed, "", true),
		"Evicted":   phase(corev1.PodFailed, "Evicted", true),
		"Succeeded": phase(corev1.PodSucceeded, "", true),
		"Unknown":   phase(corev1.PodUnknown, "NodeLost", false),
	})
}

// phase puts two of three pods into a phase: those that have ended are replaced at once and removed later, others stay.
func phase(phase corev1.PodPhase, reason string, ended bool) trial {
	return func(w *faults.World) {
		w.RunKubelet(&faults.Kubelet{})
		w.Supervise()
		w.Create(podSet("a", 3))
		w.Settle()
		w.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.ReadyReplicas == 3 })
		start := time.Now()
		for _, pod := range w.Pods()[:2] {
			faults.EditStatus(w, pod.DeepCopy(), func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason, p.Status.Conditions = phase, reason, nil })
		}
		if !ended {
			w.Rest()
			w.Costs(faults.Counts{Creates: 3})
			w.AwaitSet("P7", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.Replicas == 3 && s.Status.AvailableReplicas == 1 })
			return
		}
		w.Settle()
		w.Check("P3", time.Since(start) < 5*time.Second, "replaced after %v", time.Since(start))
		w.Check("P8", len(w.Pods()) == 5, "%d pods: the ended ones are removed with back-off, not at once", len(w.Pods()))
		w.Check("P3", w.AwaitTotal(3), "the ended pods were not removed")
		w.Rest()
		w.Costs(faults.Counts{Creates: 5, Deletes: 2})
	}
}

// F18: the wall clock jumps, by a correction or because the machine slept.
func TestClockJumps(t *testing.T) {
	try(t, "F18", map[string]trial{
		"an hour forward": func(w *faults.World) {
			w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			w.Supervise()
			w.Create(at("a", "now + 1 hour", "echo YAY"), podSet("a", 2))
			w.Settle()
			w.Pass(2 * time.Second)
			w.Check("A2", w.Counts().Creates == 2, "ran before its time")
			w.Clock.Jump(time.Hour)
			ranSoon(w, "a")
			w.Rest()
		},
		"an hour back, then forward": func(w *faults.World) {
			w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			w.Supervise()
			w.Create(at("a", "now + 3 seconds", "echo YAY"))
			w.Clock.Jump(-time.Hour)
			w.Pass(5 * time.Second)
			w.Check("A2", w.Counts().Creates == 0, "ran before its time")
			w.Clock.Jump(time.Hour)
			ranSoon(w, "a")
			w.Rest()
		},
		"asleep for 10 minutes over three times": func(w *faults.World) {
			w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			w.Supervise()
			w.Create(at("a", "now + 2 minutes", "echo YAY"), at("b", "now + 5 minutes", "echo YAY"), at("c", "now + 9 minutes", "echo YAY"))
			w.Pass(2 * time.Second)
			w.Check("A2", w.Counts().Creates == 0, "ran before its time")
			w.Clock.Jump(10 * time.Minute)
			ranSoon(w, "a")
			ranSoon(w, "b")
			ranSoon(w, "c")
			w.Rest()
			w.Costs(faults.Counts{Creates: 3})
		},
	})
}

func ranSoon(w *faults.World, name string) {
	w.Helper()
	start := time.Now()
	w.AwaitAt("A3", name, done(cnatv1alpha1.ReasonCompleted))
	w.Check("A3", time.Since(start) < 10*time.Second, "ran %v after the jump", time.Since(start))
}

func done(reason string) func(*cnatv1alpha1.At) bool {
	return func(a *cnatv1alpha1.At) bool {
		return a.Status.Phase == cnatv1alpha1.PhaseDone && a.Status.Reason == reason
	}
}
