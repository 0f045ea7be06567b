// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
	"github.com/redhat/podset-operator/test/faults/control"
)

// defect is a testCase of an operator that is wrong, and the invariants that the judges must find broken.
type defect struct {
	fault    string
	operator faults.Controllers
	run      testCase
	breaks   []string
}

// broken is every judge's failure: on the naive operator under a fault, or on ours with a fault built in. Together they
// break every invariant, which the test checks too: a judge that cannot fail proves nothing.
var broken = map[string]defect{
	"names in the order of the cache": {"F0", control.Operator, func(e *faults.Env) {
		e.Supervise()
		e.Create(podSet("a", 10))
		e.Quiesce()
	}, []string{"P7"}},
	"no name of its own for a pod whose create got no answer": {"F2", control.Operator, func(e *faults.Env) {
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
	"counts in an old cache": {"F3", control.Operator, lagging(time.Second, "pods"), []string{"P2", "P8"}},
	"the first of the list dies": {"F16", control.Operator, func(e *faults.Env) {
		// Which five of ten come first in the list is chance: one in 252 that it is the unready ones.
		e.RunKubelet(&faults.Kubelet{Ready: firstPods(5)})
		e.Supervise()
		e.Create(podSet("a", 10))
		e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return len(s.Status.PodNames) == 10 })
		e.Wait(2 * time.Second)
		scale(e, "a", 5)
		e.Settle()
	}, []string{"P4", "P6"}},
	"back to the birth of a set that is deleted": {"F4", control.Operator, travelDeleted, []string{"P5"}},
	"serves a set that is being deleted":         {"F13", control.Operator, deletedButServed, []string{"P5"}},
	"labels say whose a pod is":                  {"F14", control.Operator, foreignPods, []string{"P3", "P4"}},
	"insists on what is refused":                 {"F8", control.Operator, naiveQuota, []string{"P9"}},
	"insists in a namespace that goes":           {"F15", control.Operator, namespaceStays(podSet("a", 3), (*faults.Env).Settle), []string{"P3", "P9"}},
	"a pod that is gone has never run":           {"F19", control.Operator, podDeletedLate, []string{"A1"}},
	"any pod of that name is its own":            {"F19", control.Operator, nameCollision, []string{"A9"}},
	"splits at spaces":                           {"F22", control.Operator, words, []string{"A8"}},
	"knows one layout":                           {"F21", control.Operator, offsetSchedule, []string{"A3"}},
	"retries what cannot be parsed":              {"F21", control.Operator, retriesForEver, []string{"A7"}},
	"a phase that was set back runs again":       {"F23", control.Operator, forgedBack, []string{"A1"}},

	// Ours, with a defect built in.
	"owners with another UID": {"mutant", mutant(), mutantOwner, []string{"P1"}},
	"a clock that is ahead":   {"mutant", ahead(time.Hour), tooEarly, []string{"A2"}},
	"a phase that goes back":  {"mutant", mutant(), mutantPhase, []string{"A4"}},
	"deaf to edits":           {"mutant", mutant(), missesEdits, []string{"A5"}},
	"never runs again":        {"mutant", mutant(), neverRunsAgain, []string{"A6"}},

	// What the lists of the latest state are for: the same operator with the lists of client-go believes in the past.
	"lists of any age: an At that ran":        {"F4", believesOldLists(), travelAt, []string{"L1", "A1"}},
	"lists of any age: a set that is deleted": {"F4", believesOldLists(), travelDeleted, []string{"L1", "P5"}},
}

// mutant is ours under a name of its own, for the table.
func mutant() faults.Controllers {
	o := faults.Ours
	o.Name = "mutant of ours"
	return o
}

// believesOldLists is ours with the informers of client-go as they are: their first list may be of any age.
func believesOldLists() faults.Controllers {
	o := mutant()
	configure := o.Configure
	o.Configure = func(options *ctrl.Options, namespaces []string) {
		configure(options, namespaces)
		options.Cache.NewInformer = nil
	}
	return o
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
				violated := map[string]bool{}
				for _, v := range e.Violations() {
					violated[v.Invariant] = true
				}
				for _, invariant := range d.breaks {
					if !violated[invariant] {
						t.Errorf("%s was not found broken; broken were %v", invariant, slices.Sorted(maps.Keys(violated)))
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
	for _, invariant := range strings.Fields("P1 P2 P3 P4 P5 P6 P7 P8 P9 A1 A2 A3 A4 A5 A6 A7 A8 A9 L1") {
		if !all[invariant] && !t.Failed() {
			t.Errorf("nothing has broken %s", invariant)
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

// retriesForEver is A7 for an operator that leaves an unusable spec without a word.
func retriesForEver(e *faults.Env) {
	e.Supervise()
	e.Create(at("a", "2020-01-30T10:02:00+01:00", "echo YAY"))
	e.Wait(2 * time.Second)
	e.Check("A7", len(e.Log.All()) > 0, "no condition says why nothing happens")
}

// rewrite changes the body of writes that match: a defect that the operator does not know of.
func rewrite[T any](match faults.Match, change func(T)) faults.Rule {
	return faults.Each(match, faults.Rewrite(func(body []byte) []byte {
		var content T
		if json.Unmarshal(body, &content) != nil {
			return body
		}
		change(content)
		body, _ = json.Marshal(content) // It was JSON before.
		return body
	}))
}

func mutantOwner(e *faults.Env) {
	e.Supervise(func(injector *faults.Injector) {
		injector.Inject(rewrite(faults.Creates, func(pod map[string]any) {
			pod["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)["uid"] = "11111111-2222-3333-4444-555555555555"
		}))
	})
	e.Create(podSet("a", 1))
	e.Wait(2 * time.Second)
}

// ahead is our operator with a clock that is ahead of the one that the judges read.
func ahead(d time.Duration) faults.Controllers {
	o := mutant()
	o.Setup = func(ctx context.Context, mgr ctrl.Manager, _ clock.WithTicker) error {
		fast := &faults.Clock{}
		fast.Jump(d)
		return faults.Ours.Setup(ctx, mgr, fast)
	}
	return o
}

func tooEarly(e *faults.Env) {
	e.Supervise()
	e.Create(at("a", "now + 30 minutes", "echo YAY"))
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseRunning })
}

func mutantPhase(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	running := 0
	e.Supervise(func(injector *faults.Injector) {
		injector.Inject(rewrite(faults.StatusWrites, func(patch []map[string]any) {
			if running++; running <= 1 {
				return
			}
			for _, operation := range patch {
				if operation["path"] == "/status" {
					operation["value"].(map[string]any)["phase"] = cnatv1alpha1.PhasePending
				}
			}
		}))
	})
	e.Create(at("a", "now", "echo YAY"))
	e.Wait(2 * time.Second)
}

func missesEdits(e *faults.Env) {
	operator := e.Supervise()
	e.Create(at("a", "now + 1 hour", "echo YAY"))
	e.Settle()
	operator.Hold("ats")
	e.Must(reschedule(e, "a", "now + 1 second"))
	e.Wait(3 * time.Second)
	e.Check("A5", e.Counts().Creates == 1, "the edit did not count")
}

func neverRunsAgain(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	operator := e.Supervise()
	a := at("a", "2020-01-30T10:02:00Z", "echo YAY")
	e.Create(a)
	e.Settle()
	e.Delete(a)
	e.AwaitNoPods()
	operator.Inject(faults.Each(faults.Creates, faults.Reject(http.StatusForbidden, metav1.StatusReasonForbidden)))
	e.Create(&cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: a.Spec})
	e.Wait(2 * time.Second)
	e.Check("A6", e.Counts() == faults.Counts{Creates: 2}, "two Ats of one name made %+v", e.Counts())
}

// P10 can fail too: a reconcile that panics is recorded, and a goroutine that runs is found.
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
	if len(faults.Stacks("internal/controller.(*Controller")) == 0 {
		t.Error("the goroutines of a controller that runs were not found")
	}
}
