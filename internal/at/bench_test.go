// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/testutil"
)

// BenchmarkReconcile measures the pure part of a pass: the plan, and the report of a pass in which nothing was done.
func BenchmarkReconcile(b *testing.B) {
	at := testutil.MakeAt("a")
	running := at.Obj()
	pod := testutil.MakeAtPod(running, PodName(running, 0)).Phase(corev1.PodRunning).Obj()
	for title, o := range map[string]Observation{
		"waiting": {At: at.Obj(), Now: testutil.AtDue.Add(-time.Second)},
		"due":     {At: at.Obj(), Now: testutil.AtDue},
		"running": {At: running, Pods: []*corev1.Pod{pod}, Now: testutil.AtDue.Add(time.Second)},
	} {
		b.Run(title, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				MakePlan(o)
				MakeReport(o, Outcome{})
			}
		})
	}
}
