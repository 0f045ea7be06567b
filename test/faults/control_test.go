// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
	"github.com/redhat/podset-operator/test/faults/control"
)

// naive is the negative control.
var naive = faults.Controllers{Name: "naive-operator", Setup: control.Setup}

// A check that cannot fail proves nothing: the naive operator must violate each invariant that this suite checks by itself. The
// simulation has the defects for the others.
func TestNegativeControl(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault  string
		run    testCase
		breaks []string
	}{
		"podNames are not sorted": {"F0", func(e *faults.Env) {
			e.Supervise()
			e.Create(podSet("a", 10))
			e.ExpectIdle()
		}, []string{"P7"}},
		"counts pods in a stale cache":                    {"F3", lagging("pods"), []string{"P2", "P8"}},
		"retries rejected creates without back-off":       {"F8", naiveQuota, []string{"P9"}},
		"creates pods for a PodSet that is being deleted": {"F13", deletedButServed, []string{"P5"}},
		"retries in a terminating namespace":              {"F15", namespaceStays(podSet("a", 3), (*faults.Env).Settle), []string{"P3", "P9"}},
		"runs a command again when its pod is deleted": {"F19", func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{})
			e.Supervise()
			e.Create(at("a", "2020-01-30T10:02:00Z", "echo YAY"))
			e.WaitForAt("A3", "a", running)
			e.WaitForPods(1) // The watch of pods may be behind that of Ats.
			e.Delete(e.Pods()[0], client.GracePeriodSeconds(0))
			e.Settle()
		}, []string{"A1", "A3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := faults.NewEnv(t, cluster, tc.fault, naive)
			tc.run(e)
			e.Wait(time.Second) // The watches of the observer and the log may be behind one another.
			violations := e.Violations()
			for _, invariant := range tc.breaks {
				if !slices.ContainsFunc(violations, func(v faults.Violation) bool { return v.Invariant == invariant }) {
					t.Errorf("%s was not violated: %v", invariant, violations)
				}
			}
		})
	}
}

func deletedButServed(e *faults.Env) {
	e.Supervise()
	set := podSet("a", 3)
	set.Finalizers = []string{"example.com/keep"}
	e.Create(set)
	e.WaitForPods(3)
	e.Delete(set)
	e.Wait(3 * time.Second)
	for _, pod := range e.Pods() {
		e.Delete(pod)
	}
	e.Wait(3 * time.Second)
	faults.Edit(e, set, func(s *appv1alpha1.PodSet) { s.Finalizers = nil })
}

func naiveQuota(e *faults.Env) {
	limitPods(e, "1")
	e.Supervise()
	start := time.Now()
	e.Create(podSet("a", 3))
	e.Wait(3 * time.Second)
	e.ExpectRejected(start, firstRejectionBackoff)
}
