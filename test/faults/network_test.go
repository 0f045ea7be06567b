// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/redhat/podset-operator/test/faults"
)

// testCase tests a fault in an environment whose operator does not run yet. The negative control uses test cases too.
type testCase func(*faults.Env)

// runCases runs the test cases of a fault with this operator.
func runCases(t *testing.T, fault string, testCases map[string]testCase) {
	t.Parallel()
	for name, run := range testCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(faults.NewEnv(t, cluster, fault, faults.Ours))
		})
	}
}

// F2: the API server commits writes, and most of the responses are lost.
func TestLostResponses(t *testing.T) {
	everyScenario(t, func(t *testing.T, name string) {
		run := withLostResponses(t, name)
		run(faults.NewEnv(t, cluster, "F2", faults.Ours))
	})
}

// F6: several conflicts in a row on each status write.
func TestStatusConflicts(t *testing.T) {
	everyScenario(t, func(t *testing.T, name string) {
		run := withScenario(t, name, func(operator *faults.Process) { operator.Inject(conflicts(6)) })
		run(faults.NewEnv(t, cluster, "F6", faults.Ours))
	})
}

var conflict = faults.Reject(http.StatusConflict, metav1.StatusReasonConflict)

// conflicts responds with a conflict to n of n+1 status writes.
func conflicts(n int) faults.Rule {
	met := 0
	return faults.Each(func(c *faults.Call) bool {
		if !faults.StatusWrites(c) {
			return false
		}
		met++
		return met%(n+1) != 0
	}, conflict)
}

// outages are the kinds of F7.
var outages = map[string]faults.Fault{
	"500":     faults.Reject(http.StatusInternalServerError, metav1.StatusReasonInternalError),
	"503":     faults.Reject(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable),
	"429":     faults.TooManyRequests(time.Second),
	"timeout": faults.Timeout(2 * time.Second),
	"reset":   faults.Reset,
}

// outage is how long the API server fails.
const outage = 30 * time.Second

// F7: the API server fails in several ways, sometimes or always, and recovers.
func TestOutages(t *testing.T) {
	all := make([]faults.Fault, 0, len(outages))
	for _, name := range []string{"500", "503", "429", "timeout", "reset"} {
		all = append(all, outages[name])
	}
	testCases := map[string]testCase{}
	for _, percent := range []int{1, 10, 50, 90} {
		testCases[fmt.Sprintf("%d %% of all calls fail in all ways", percent)] = failing(percent, all...)
	}
	for name, fault := range outages {
		testCases["all calls fail with "+name] = failing(100, fault)
	}
	runCases(t, "F7", testCases)
}

// failing changes objects during an outage. The operator must complete the changes soon after it, with the usual counts.
func failing(percent int, kinds ...faults.Fault) testCase {
	return func(e *faults.Env) {
		e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
		operator := e.Supervise()
		e.Create(podSet("a", 2), podSet("b", 6))
		e.Settle()
		operator.Inject(faults.Sometimes(faults.Random(e.Name()), percent, faults.AnyButWatch, kinds...))
		scale(e, "a", 7)
		scale(e, "b", 1)
		e.Create(podSet("c", 3), at("a", "now + 1 second", "echo YAY"))
		operator.Cut("pods")
		e.Wait(outage)
		operator.ClearRules()
		e.Quiesce()
		e.ExpectCounts(faults.Counts{Creates: 2 + 6 + 5 + 3 + 1, Deletes: 5})
	}
}
