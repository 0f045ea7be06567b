// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

// BenchmarkReconcile measures the pure part of a reconcile: the plan, and the status after it was carried out.
func BenchmarkReconcile(b *testing.B) {
	ten, seven := testutil.MakePodSet("a").Replicas(10).Image("v1"), testutil.MakePodSet("a").Replicas(7).Image("v1")
	hash := HashTemplate(ten.Obj().Spec.Template) // The controller remembers it.
	atRest := Observation{Set: ten.Obj(), TemplateHash: hash, Pods: ready(ten, 10), Now: now}
	atRest.Set.Status = newStatus(atRest, Outcome{})
	for _, bc := range []struct {
		title           string
		o               Observation
		creates, erases int
	}{
		{title: "at rest", o: atRest},
		{title: "0 to 10", o: Observation{Set: ten.Obj(), TemplateHash: hash, Now: now}, creates: 10},
		{title: "10 to 7", o: Observation{Set: seven.Obj(), TemplateHash: hash, Pods: ready(seven, 10), Now: now}, erases: 3},
	} {
		b.Run(bc.title, func(b *testing.B) {
			b.ReportAllocs()
			var status appv1alpha1.PodSetStatus
			for b.Loop() {
				plan := MakePlan(bc.o)
				if len(plan.Create) != bc.creates || len(plan.Delete) != bc.erases {
					b.Fatalf("%d creates and %d deletes", len(plan.Create), len(plan.Delete))
				}
				status = newStatus(bc.o, Outcome{Created: plan.Create, Deleted: plan.Delete})
			}
			if want := *bc.o.Set.Spec.Replicas; status.Replicas != want {
				b.Fatalf("%d replicas, want %d", status.Replicas, want)
			}
		})
	}
}

// The limits are 10 % above the measured values.
func TestAllocations(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(10).Image("v1").Obj()
	template := set.Spec.Template
	o := Observation{Set: set, TemplateHash: HashTemplate(template), Now: now}
	for what, tc := range map[string]struct {
		do    func()
		limit float64
	}{
		"the plan and the status of ten new pods": {func() { newStatus(o, Outcome{Created: MakePlan(o).Create}) }, 220},
		"the hash of a template":                  {func() { HashTemplate(template) }, 33},
	} {
		if got := testing.AllocsPerRun(10, tc.do); got > tc.limit {
			t.Errorf("%s: %g allocations, more than %g", what, got, tc.limit)
		}
	}
}

// BenchmarkHashTemplate measures the cost of each generation of a PodSet.
func BenchmarkHashTemplate(b *testing.B) {
	user := testutil.MakePodSet("a").Image("v1").Template(func(template *corev1.PodTemplateSpec) {
		template.Spec = defaultTemplate(testutil.MakePodSet("a").Obj(), Defaults{Image: "busybox", FixedUser: true}).Spec
	}).Obj()
	b.ReportAllocs()
	for b.Loop() {
		HashTemplate(user.Spec.Template)
	}
}
