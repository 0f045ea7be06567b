// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/redhat/podset-operator/test/faults"
)

// trial is a fault, tried in a world without an operator in it yet. The negative control goes through trials too.
type trial func(*faults.World)

// try tries a fault on our operator.
func try(t *testing.T, fault string, trials map[string]trial) {
	t.Parallel()
	for name, run := range trials {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(faults.NewWorld(t, cluster, fault, faults.Ours))
		})
	}
}

// F2: the API server commits and the answer is lost: of every single write, and of many.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	var count tried
	count.printAfter(t, "lost answers")
	everyScenario(t, func(t *testing.T, name string, r reference) {
		for k := 1; k <= r.writes+spare; k++ {
			count.point(t, fmt.Sprintf("of write %d", k), func(t *testing.T) bool { return meets(t, "F2", name, k, faults.Writes, faults.Lose) })
		}
		for _, percent := range []int{30, 70} {
			t.Run(fmt.Sprintf("%d %% of them", percent), func(t *testing.T) {
				t.Parallel()
				live(t, "F2", name, func(operator *faults.Incarnation) {
					operator.Inject(faults.Sometimes(faults.Random(t.Name()), percent, faults.Writes, faults.Lose))
				})
			})
		}
	})
}

// F6: a conflict on every single write of a status, and on all of them some times in a row.
func TestStatusConflicts(t *testing.T) {
	t.Parallel()
	var count tried
	count.printAfter(t, "conflicts")
	everyScenario(t, func(t *testing.T, name string, r reference) {
		for k := 1; k <= r.statusWrites+spare; k++ {
			count.point(t, fmt.Sprintf("on status write %d", k), func(t *testing.T) bool { return meets(t, "F6", name, k, faults.StatusWrites, conflict) })
		}
		for _, n := range []int{1, 6} {
			t.Run(fmt.Sprintf("%d before each write", n), func(t *testing.T) {
				t.Parallel()
				live(t, "F6", name, func(operator *faults.Incarnation) { operator.Inject(conflicts(n)) })
			})
		}
	})
}

// meets lives a scenario whose k-th call of a kind meets a fault, and tells whether there were so many.
func meets(t *testing.T, fault, name string, k int, match faults.Match, f faults.Fault) bool {
	var met atomic.Bool
	live(t, fault, name, func(operator *faults.Incarnation) {
		operator.Inject(faults.Nth(k, match, func(c *faults.Call, send func() (*http.Response, error)) (*http.Response, error) {
			met.Store(true)
			return f(c, send)
		}))
	})
	return met.Load()
}

var conflict = faults.Refuse(http.StatusConflict, metav1.StatusReasonConflict)

// conflicts lets every status write but each n+1st meet a conflict.
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
	"500":     faults.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError),
	"503":     faults.Refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable),
	"429":     faults.Busy(time.Second),
	"timeout": faults.Timeout(2 * time.Second),
	"reset":   faults.Reset,
}

// outage is how long the API server is unwell.
const outage = 30 * time.Second

// F7: the API server fails in every way, now and then or always, and recovers.
func TestOutages(t *testing.T) {
	all := make([]faults.Fault, 0, len(outages))
	for _, name := range []string{"500", "503", "429", "timeout", "reset"} {
		all = append(all, outages[name])
	}
	trials := map[string]trial{}
	for _, percent := range []int{1, 10, 50, 90} {
		trials[fmt.Sprintf("%d %% of all calls fail in all ways", percent)] = unwell(percent, all...)
	}
	for name, fault := range outages {
		trials["all calls fail with "+name] = unwell(100, fault)
	}
	try(t, "F7", trials)
}

// unwell changes the world during an outage: what was asked for must be there soon after it, at the usual cost.
func unwell(percent int, kinds ...faults.Fault) trial {
	return func(w *faults.World) {
		w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
		operator := w.Supervise()
		w.Create(podSet("a", 2), podSet("b", 6))
		w.Settle()
		operator.Inject(faults.Sometimes(faults.Random(w.Name()), percent, faults.Everything, kinds...))
		scale(w, "a", 7)
		scale(w, "b", 1)
		w.Create(podSet("c", 3), at("a", "now + 1 second", "echo YAY"))
		operator.Cut("pods")
		w.Pass(outage)
		operator.Heal()
		w.Rest()
		w.Costs(faults.Counts{Creates: 2 + 6 + 5 + 3 + 1, Deletes: 5})
	}
}
