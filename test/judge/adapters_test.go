// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// docs/at-most-once.md says which statuses claim that the command did not run.
func TestClaimOfAt(t *testing.T) {
	for name, test := range map[string]struct {
		uid           types.UID
		failed, ready string
		didNotRun     bool
	}{
		"no pod":           {"", "the pod may have run", "", true},
		"did not run":      {"1", "pod a failed; the command did not run", "", true},
		"was not run":      {"1", "the command was due at 12:00 and was not run", "", true},
		"may have run":     {"1", "pod a disappeared; the command may have run", "", false},
		"a pod that runs":  {"1", "", "Running", false},
		"a pod that waits": {"1", "", "PodWaiting", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, PodUID: test.uid}
			if test.failed != "" {
				s.Conditions = []metav1.Condition{{Type: "Failed", Message: test.failed}}
			}
			s.Conditions = append(s.Conditions, metav1.Condition{Type: "Ready", Reason: test.ready})
			if c := claimOfAt(s); (c.waitsFor != "") != (test.ready == "PodWaiting") {
				t.Errorf("waits for %q", c.waitsFor)
			} else if !c.done || c.didNotRun != test.didNotRun {
				t.Errorf("claims %+v, want didNotRun %v", c, test.didNotRun)
			}
		})
	}
}
