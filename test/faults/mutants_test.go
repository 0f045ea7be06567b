// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// mutant is this operator under another name, for the result table.
func mutant() faults.Controllers {
	o := faults.Ours
	o.Name = "operator with a defect"
	return o
}

// acceptsOldLists is this operator with the default informers of client-go, whose first list accepts any age.
func acceptsOldLists() faults.Controllers {
	o := mutant()
	configure := o.Configure
	o.Configure = func(options *ctrl.Options, namespaces []string) {
		configure(options, namespaces)
		options.Cache.NewInformer = nil
	}
	return o
}

// rewrite changes the body of the calls that match, which simulates a defect of the operator.
func rewrite[T any](match faults.Match, change func(T)) faults.Rule {
	return faults.Each(match, faults.Rewrite(func(body []byte) []byte {
		var content T
		if json.Unmarshal(body, &content) != nil {
			return body
		}
		change(content)
		body, _ = json.Marshal(content) // The body was JSON.
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

// ahead is this operator with a clock that is ahead of the clock that the checker uses.
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
	statuses := 0
	e.Supervise(rewriteStatus(func(status map[string]any) {
		if statuses++; statuses > 1 {
			status["phase"] = cnatv1alpha1.PhasePending
		}
	}))
	e.Create(at("a", "now", "echo YAY"))
	e.Wait(2 * time.Second)
}

// rewriteStatus changes every status that the operator writes.
func rewriteStatus(change func(status map[string]any)) func(*faults.Injector) {
	return func(injector *faults.Injector) {
		injector.Inject(rewrite(faults.StatusWrites, func(patch []map[string]any) {
			for _, operation := range patch {
				if operation["path"] == "/status" {
					change(operation["value"].(map[string]any))
				}
			}
		}))
	}
}

func falseMissedDeadline(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise(rewriteStatus(func(status map[string]any) {
		if status["phase"] == string(cnatv1alpha1.PhaseDone) {
			status["reason"] = cnatv1alpha1.ReasonMissedDeadline
		}
	}))
	e.Create(at("a", "now", "echo YAY"))
	e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonMissedDeadline))
}

func falseUpdatedReplicas(e *faults.Env) {
	e.Supervise(rewriteStatus(func(status map[string]any) { status["updatedReplicas"] = status["replicas"] }))
	set := podSet("a", 2)
	set.Spec.Template, set.Spec.UpdateStrategy.Type = template("one"), appv1alpha1.OnDelete
	e.Create(set)
	e.Settle()
	faults.Edit(e, set, func(s *appv1alpha1.PodSet) { s.Spec.Template = template("two") })
	e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.ObservedGeneration == s.Generation })
}

func falseDeleteEvent(e *faults.Env) {
	e.Supervise(func(injector *faults.Injector) {
		injector.Inject(rewrite(faults.Events, func(event map[string]any) { event["reason"] = "SuccessfulDelete" }))
	})
	e.Create(podSet("a", 1))
	e.Settle()
	eventually(e, func() error {
		if len(e.Log.Events()) == 0 {
			return errors.New("no event was sent")
		}
		return nil
	})
}

func missesEdits(e *faults.Env) {
	operator := e.Supervise()
	e.Create(at("a", "now + 1 hour", "echo YAY"))
	e.Settle()
	operator.Hold("ats")
	e.Must(reschedule(e, "a", time.Now()))
	e.Wait(3 * time.Second)
	e.Check("A5", e.Counts().Creates == 1, "the edit did not take effect")
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
	e.Check("A6", e.Counts() == faults.Counts{Creates: 2}, "two Ats of one name had %+v", e.Counts())
}
