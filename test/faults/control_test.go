// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
	"github.com/redhat/podset-operator/test/faults/control"
)

// naive is the negative control.
var naive = faults.Controllers{Name: "naive-operator", Setup: control.Setup}

// defect is a test of a defective operator, and the invariants that it must violate.
type defect struct {
	fault    string
	operator faults.Controllers
	run      testCase
	breaks   []string
}

// broken are the tests that must fail: the naive operator with a fault, or this operator with a defect. Together they must
// violate every invariant, because a check that cannot fail proves nothing.
var broken = map[string]defect{
	"podNames are not sorted": {"F0", naive, func(e *faults.Env) {
		e.Supervise()
		e.Create(podSet("a", 10))
		e.Quiesce()
	}, []string{"P7"}},
	"a create whose response was lost is repeated under another name": {"F2", naive, func(e *faults.Env) {
		operator := e.Supervise()
		e.Create(podSet("b", 1))
		e.AwaitPods(1)
		operator.Hold("pods")
		operator.Inject(faults.First(3, faults.Creates, faults.LoseResponse))
		e.Create(podSet("a", 3))
		e.Wait(2 * time.Second)
		operator.Release("pods")
		e.Settle()
		e.ExpectCounts(faults.Counts{Creates: 4})
	}, []string{"P2", "P8"}},
	"counts pods in a stale cache": {"F3", naive, lagging(time.Second, "pods"), []string{"P2", "P8"}},
	"deletes the first pod of the list": {"F16", naive, func(e *faults.Env) {
		// The order of the list is random. The probability that the five unready pods come first is 1 in 252 for each PodSet.
		e.RunKubelet(&faults.Kubelet{Ready: firstPods(5)})
		e.Supervise()
		names := []string{"a", "b", "c"}
		for _, name := range names {
			e.Create(podSet(name, 10))
			e.AwaitSet("P3", name, func(s *appv1alpha1.PodSet) bool { return len(s.Status.PodNames) == 10 })
		}
		e.Wait(6 * time.Second)
		for _, name := range names {
			scale(e, name, 5)
		}
		e.Settle()
	}, []string{"P4", "P6"}},
	"creates pods for a deleted PodSet in an old list":    {"F4", naive, travelDeleted, []string{"P5"}},
	"creates pods for a PodSet that is being deleted":     {"F13", naive, deletedButServed, []string{"P5"}},
	"selects its pods by labels":                          {"F14", naive, foreignPods, []string{"P4"}},
	"retries rejected creates without back-off":           {"F8", naive, naiveQuota, []string{"P9"}},
	"retries in a terminating namespace without back-off": {"F15", naive, namespaceStays(podSet("a", 3), (*faults.Env).Settle), []string{"P3", "P9"}},
	"runs a command again when its pod is deleted":        {"F19", naive, podDeletedLate, []string{"A1"}},
	"takes any pod of that name for its own":              {"F19", naive, nameCollision, []string{"A9"}},
	"splits commands at spaces":                           {"F22", naive, words, []string{"A8"}},
	"parses one time layout":                              {"F21", naive, offsetSchedule, []string{"A3"}},
	"retries a schedule that it cannot parse":             {"F21", naive, retriesForEver, []string{"A7"}},
	"runs again when a user resets the phase":             {"F23", naive, forgedBack, []string{"A1"}},

	// This operator with a defect that the injector simulates.
	"sets an owner with another UID":                      {"mutant", mutant(), mutantOwner, []string{"P1"}},
	"has a clock that is ahead":                           {"mutant", ahead(time.Hour), tooEarly, []string{"A2"}},
	"resets the phase":                                    {"mutant", mutant(), mutantPhase, []string{"A4"}},
	"misses edits":                                        {"mutant", mutant(), missesEdits, []string{"A5"}},
	"reports MissedDeadline for an At that ran":           {"mutant", mutant(), falseMissedDeadline, []string{"A11"}},
	"counts pods of the old template as updated":          {"mutant", mutant(), falseUpdatedReplicas, []string{"P11"}},
	"sends an event about a deletion that did not happen": {"mutant", mutant(), falseDeleteEvent, []string{"P11"}},
	"does not run an At of the same name again":           {"mutant", mutant(), neverRunsAgain, []string{"A6"}},

	// This operator with the default lists of client-go, which accept an old state.
	"lists of any age: an At that ran":        {"F4", acceptsOldLists(), travelAt, []string{"L1", "A1"}},
	"lists of any age: a set that is deleted": {"F4", acceptsOldLists(), travelDeleted, []string{"L1", "P5"}},
}

func TestNegativeControl(t *testing.T) {
	t.Parallel()
	found := map[string]map[string]bool{}
	var mu sync.Mutex
	t.Run("defects", func(t *testing.T) {
		for name, d := range broken {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				e := faults.NewEnv(t, cluster, d.fault, d.operator)
				d.run(e)
				e.Wait(time.Second) // The watches of the observer and the log may be behind one another.
				violated := map[string]bool{}
				for _, v := range e.Violations() {
					violated[v.Invariant] = true
				}
				for _, invariant := range d.breaks {
					if !violated[invariant] {
						t.Errorf("%s was not violated; violated were %v", invariant, slices.Sorted(maps.Keys(violated)))
					}
				}
				mu.Lock()
				defer mu.Unlock()
				found[name] = violated
			})
		}
	})
	all := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		maps.Copy(all, found[name])
		fmt.Printf("| %s | %s | %s | %s |\n", broken[name].fault, broken[name].operator.Name, name, strings.Join(slices.Sorted(maps.Keys(found[name])), " "))
	}
	for _, invariant := range strings.Fields("P1 P2 P3 P4 P5 P6 P7 P8 P9 A1 A2 A3 A4 A5 A6 A7 A8 A9 A11 P11 L1") {
		if !all[invariant] && !t.Failed() {
			t.Errorf("no test violates %s", invariant)
		}
	}
}

func deletedButServed(e *faults.Env) {
	e.Supervise()
	set := podSet("a", 3)
	set.Finalizers = []string{"example.com/keep"}
	e.Create(set)
	e.AwaitPods(3)
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

// retriesForEver checks A7: the operator must report an unusable spec in a condition.
func retriesForEver(e *faults.Env) {
	e.Supervise()
	e.Create(at("a", "2020-01-30T10:02:00+01:00", "echo YAY"))
	e.Wait(2 * time.Second)
	e.Check("A7", len(e.Log.All()) > 0, "no condition reports the unusable spec")
}

// P10 can fail too: a panic of a reconcile is recorded, and a goroutine that is left is found.
func TestPanicsAreRecorded(t *testing.T) {
	operator := faults.Controllers{Name: "panicking", Setup: func(_ context.Context, mgr ctrl.Manager, _ clock.WithTicker) error {
		return ctrl.NewControllerManagedBy(mgr).For(&appv1alpha1.PodSet{}).Named("panicking").
			Complete(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { panic(onPurpose) }))
	}}
	e := faults.NewEnv(t, cluster, "mutant", operator)
	e.Start()
	e.Create(podSet("a", 1))
	eventually(e, func() error {
		if !slices.ContainsFunc(faults.Panics(), func(p faults.Panic) bool { return p.Value == onPurpose }) {
			return errors.New("no panic was recorded")
		}
		return nil
	})
	faults.NewEnv(t, cluster, "mutant", faults.Ours).Start()
	for _, code := range faults.Code {
		eventually(e, func() error {
			if len(faults.Stacks(code)) == 0 {
				return fmt.Errorf("no goroutine that runs %s was found", code)
			}
			return nil
		})
	}
}

// P10 can also fail because a process ends by itself.
func TestExitsAreRecorded(t *testing.T) {
	t.Parallel()
	fails := errors.New(onPurpose)
	operator := faults.Controllers{Name: "exiting", Setup: func(_ context.Context, mgr ctrl.Manager, _ clock.WithTicker) error {
		return mgr.Add(manager.RunnableFunc(func(context.Context) error { return fails }))
	}}
	e := faults.NewEnv(t, cluster, "mutant", operator)
	if err := e.Start().Err(); !errors.Is(err, fails) {
		t.Errorf("the process ended with %v", err)
	}
	e.Violations() // Otherwise the environment would fail because of the exit.
}
