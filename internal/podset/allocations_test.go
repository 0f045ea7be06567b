// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"testing"

	"github.com/redhat/podset-operator/internal/testutil"
)

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
