// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/testutil"
)

// BenchmarkReconcile measures the pure part of a reconcile: the observation, the plan, and the report. The At has the status of
// the previous reconcile. A reconcile that creates a pod leaves the report to the next one.
func BenchmarkReconcile(b *testing.B) {
	at := testutil.MakeAt("a").Obj()
	pod := testutil.MakeAtPod(at, atrun.PodName(at, 0)).Phase(corev1.PodRunning).Obj()
	ended := testutil.MakeAtPod(at, pod.Name).Phase(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "", testutil.AtDue.Add(time.Second)).Obj()
	soon, later := testutil.AtDue.Add(-time.Second), testutil.AtDue.Add(2*time.Second)

	waiting := reported(at, Observation{Now: soon})
	begun := waiting.DeepCopy()
	begun.Status.Attempts = 1
	running := reported(begun, Observation{Pods: []*corev1.Pod{pod}, Now: testutil.AtDue})
	done := reported(running, Observation{Pods: []*corev1.Pod{ended}, Now: later})
	for _, bc := range []struct {
		title string
		at    *cnatv1alpha1.At
		pods  []*corev1.Pod
		now   time.Time
		phase cnatv1alpha1.Phase
	}{
		{"waiting", waiting, nil, soon, cnatv1alpha1.PhasePending},
		{"due", waiting, nil, testutil.AtDue, ""},
		{"running", running, []*corev1.Pod{pod}, later, cnatv1alpha1.PhaseRunning},
		{"ending", running, []*corev1.Pod{ended}, later, cnatv1alpha1.PhaseDone},
		{"finished", done, []*corev1.Pod{ended}, later, cnatv1alpha1.PhaseDone},
	} {
		b.Run(bc.title, func(b *testing.B) {
			b.ReportAllocs()
			var report Report
			var state State
			for b.Loop() {
				o := state.Observe(Seen{At: bc.at, Pods: bc.pods}, bc.now, Defaults{})
				if plan := MakePlan(o); !plan.Start {
					report = MakeReport(o, plan, Outcome{Answer: &Answer{}})
				}
			}
			if report.Status.Phase != bc.phase {
				b.Fatalf("phase %s, want %s", report.Status.Phase, bc.phase)
			}
		})
	}
}

// reported returns the At with the status of a reconcile.
func reported(at *cnatv1alpha1.At, o Observation) *cnatv1alpha1.At {
	o.At = at
	at = at.DeepCopy()
	at.Status = MakeReport(o, MakePlan(o), Outcome{Answer: &Answer{}}).Status
	return at
}
