// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

// BenchmarkReconcile measures the pure part of a pass, the plan and the report after it was carried out, of an At whose
// status is as the previous reconcile has left it. A pass that makes a pod leaves the report to the next.
func BenchmarkReconcile(b *testing.B) {
	at := testutil.MakeAt("a").Obj()
	pod := testutil.MakeAtPod(at, PodName(at, 0)).Phase(corev1.PodRunning).Obj()
	ended := testutil.MakeAtPod(at, pod.Name).Phase(corev1.PodSucceeded).Exited("command", 0, "Completed", "", testutil.AtDue.Add(time.Second)).Obj()
	soon, later := testutil.AtDue.Add(-time.Second), testutil.AtDue.Add(2*time.Second)

	waiting := reported(at, Observation{Now: soon})
	running := reported(waiting, Observation{Pods: []*corev1.Pod{pod}, Now: testutil.AtDue})
	done := reported(running, Observation{Pods: []*corev1.Pod{ended}, Now: later})
	for _, bc := range []struct {
		title string
		o     Observation
		phase cnatv1alpha1.Phase
	}{
		{"waiting", Observation{At: waiting, Now: soon}, cnatv1alpha1.PhasePending},
		{"due", Observation{At: waiting, Now: testutil.AtDue}, ""},
		{"running", Observation{At: running, Pods: []*corev1.Pod{pod}, Now: later}, cnatv1alpha1.PhaseRunning},
		{"ending", Observation{At: running, Pods: []*corev1.Pod{ended}, Now: later}, cnatv1alpha1.PhaseDone},
		{"finished", Observation{At: done, Pods: []*corev1.Pod{ended}, Now: later}, cnatv1alpha1.PhaseDone},
	} {
		b.Run(bc.title, func(b *testing.B) {
			b.ReportAllocs()
			var report Report
			for b.Loop() {
				if MakePlan(bc.o).Create == nil {
					report = MakeReport(bc.o, Outcome{})
				}
			}
			if report.Status.Phase != bc.phase {
				b.Fatalf("phase %s, want %s", report.Status.Phase, bc.phase)
			}
		})
	}
}

// reported is an At with the status that a pass gives it.
func reported(at *cnatv1alpha1.At, o Observation) *cnatv1alpha1.At {
	o.At = at
	at = at.DeepCopy()
	at.Status = MakeReport(o, Outcome{}).Status
	return at
}
