// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// TestExplore covers the sequences of a State. These tests cover the properties that it relies on.

// process is a State of one process, and what its caches show.
type process struct {
	state at.State
	seen  at.Seen
	now   time.Time
}

func starts(at0 *cnatv1alpha1.At, now time.Time) *process {
	return &process{seen: at.Seen{At: at0}, now: now}
}

func (p *process) plan() (at.Observation, at.Plan) {
	o := p.state.Observe(p.seen, p.now, at.Defaults{})
	return o, at.MakePlan(o)
}

// record records the outcome of what it observes and plans now.
func (p *process) record(outcome at.Outcome) (at.Observation, at.Plan) {
	o, plan := p.plan()
	p.state.Record(o, plan, outcome, p.now)
	return o, plan
}

// written returns an At with a status, after a write that gave it a version.
func written(at0 *cnatv1alpha1.At, status cnatv1alpha1.AtStatus, version string) *cnatv1alpha1.At {
	next := at0.DeepCopy()
	next.Status, next.ResourceVersion = status, version
	return next
}

func (p *process) begins(t *testing.T) {
	t.Helper()
	p.seen.At.ResourceVersion = "1"
	o, plan := p.plan()
	if !plan.Start {
		t.Fatalf("nothing starts: %+v", plan)
	}
	p.state.Record(o, plan, at.Outcome{Answer: &at.Answer{}, Written: written(o.At, at.StartedStatus(o, plan).Status, "2")}, p.now)
}

func TestState_Start(t *testing.T) {
	t.Run("the process that begins an attempt creates its pod without a lookup", func(t *testing.T) {
		p := starts(a().Obj(), due)
		p.begins(t)
		if _, plan := p.plan(); plan.Create == nil || plan.Create.Name != pod0 {
			t.Errorf("plan %+v", plan)
		}
	})
	t.Run("if the start is not recorded, its check is not repeated for a minute", func(t *testing.T) {
		for title, tc := range map[string]struct {
			answer at.Answer
			after  time.Duration
			known  bool
		}{
			"accepted":    {at.Answer{}, 0, true},
			"unknown":     {at.Answer{Unknown: "timeout"}, 59 * time.Second, true},
			"changed":     {at.Answer{Changed: "the name of pod a-pod to x"}, 59 * time.Second, true},
			"old":         {at.Answer{Unknown: "timeout"}, time.Minute, false},
			"a rejection": {at.Answer{Rejection: &expectations.Rejection{Message: "no"}}, 0, false},
		} {
			p := starts(a().Obj(), due)
			p.record(at.Outcome{Answer: &tc.answer})
			p.now = p.now.Add(tc.after)
			_, plan := p.plan()
			if known := plan.Check == nil && plan.Answer != nil && *plan.Answer == tc.answer; !plan.Start || known != tc.known {
				t.Errorf("%s: plan %+v", title, plan)
			}
		}
	})
	t.Run("after a create that failed, the pod is looked up", func(t *testing.T) {
		p := starts(a().Obj(), due)
		p.begins(t)
		p.record(at.Outcome{CreateError: errors.New("timeout")})
		if _, plan := p.plan(); plan.Create != nil || len(plan.LookUp) != 1 {
			t.Errorf("plan %+v", plan)
		}
	})
	t.Run("a pod that was deleted before its UID was recorded is not created again", func(t *testing.T) {
		p := starts(a().Obj(), due)
		p.begins(t)
		p.record(at.Outcome{Created: ownPod().Obj()})
		p.seen.Pods = []*corev1.Pod{ownPod().Obj()}
		p.record(at.Outcome{})
		p.seen.Pods, p.seen.LookedUp, p.now = nil, map[string]*corev1.Pod{pod0: nil}, due.Add(time.Minute)
		p.record(at.Outcome{})
		p.now = p.now.Add(time.Minute)
		o, plan := p.plan()
		if got := at.MakeReport(o, plan, at.Outcome{}).Status; plan.Create != nil || got.Reason != cnatv1alpha1.ReasonPodLost || got.PodUID == "" {
			t.Errorf("created %v, status %+v", plan.Create, got)
		}
	})
	t.Run("what is known of an attempt does not count for the next one", func(t *testing.T) {
		p := starts(a().BackoffLimit(1).Recorded(1, pod0, pod0+"-uid").Obj(), due.Add(time.Minute))
		p.seen.Pods = []*corev1.Pod{failed().Obj()}
		p.record(at.Outcome{})
		p.seen.At = a().BackoffLimit(1).Begun(2).Obj()
		if _, plan := p.plan(); len(plan.LookUp) != 1 || plan.LookUp[0] != pod1 {
			t.Errorf("plan %+v", plan)
		}
	})
}

func TestState_LastState(t *testing.T) {
	p := starts(runs0().Obj(), due.Add(time.Minute))
	p.seen.Pods = []*corev1.Pod{running().Obj()}
	p.record(at.Outcome{})
	p.seen.Pods, p.seen.LookedUp = nil, map[string]*corev1.Pod{pod0: nil}
	if _, plan := p.record(at.Outcome{}); plan.LookUp != nil {
		t.Errorf("looked up again: %+v", plan)
	}
	if o, plan := p.plan(); at.MakeReport(o, plan, at.Outcome{}).Status.Phase != cnatv1alpha1.PhaseRunning {
		t.Error("the run is lost although its last state may still come")
	}
	p.seen.LastState = succeeded().Obj()
	if o, plan := p.plan(); at.MakeReport(o, plan, at.Outcome{}).Status.Reason != cnatv1alpha1.ReasonCompleted {
		t.Error("the last state is ignored")
	}
	p.seen.LastState = succeeded().UID("of another pod").Obj()
	if o, plan := p.plan(); at.MakeReport(o, plan, at.Outcome{}).Status.Phase != cnatv1alpha1.PhaseRunning {
		t.Error("the last state of another pod is used")
	}
}

func TestState_finishedPod(t *testing.T) {
	p := starts(runs0().Obj(), due.Add(time.Minute))
	p.seen.LookedUp = map[string]*corev1.Pod{pod0: succeeded().Obj()}
	p.record(at.Outcome{})
	p.seen.LookedUp, p.seen.Pods = nil, []*corev1.Pod{running().Obj()}
	if o, plan := p.record(at.Outcome{}); at.MakeReport(o, plan, at.Outcome{}).Status.Reason != cnatv1alpha1.ReasonCompleted {
		t.Error("a cache that is behind hides how the pod ended")
	}
	p.seen.Pods = []*corev1.Pod{running().UID("of another pod").Obj()}
	if o, plan := p.plan(); at.MakeReport(o, plan, at.Outcome{}).Status.Reason == cnatv1alpha1.ReasonCompleted {
		t.Error("the end of another pod counts")
	}
}

func TestState_RequeueAt(t *testing.T) {
	early := due.Add(-24 * time.Hour)
	for title, tc := range map[string]struct {
		at      *testutil.AtBuilder
		now     time.Time
		outcome at.Outcome
		want    time.Time
		canWait bool
	}{
		"the time of the At":                  {a(), due.Add(-time.Minute), at.Outcome{Answer: &at.Answer{}}, due, false},
		"the last check before it":            {a(), early, at.Outcome{Answer: &at.Answer{}}, due.Add(-30 * time.Minute), true},
		"a check that was not good":           {a(), early, at.Outcome{Answer: &at.Answer{Unknown: "x"}}, early.Add(time.Minute), true},
		"a suspended At is checked once":      {a().Suspend(), early, at.Outcome{Answer: &at.Answer{}}, time.Time{}, false},
		"a check that could not be made":      {a(), early, at.Outcome{}, early.Add(5 * time.Second), true},
		"the back-off of a rejection":         {a(), due, at.Outcome{Rejected: errors.New("quota"), Answer: &at.Answer{Rejection: &expectations.Rejection{}}}, due.Add(time.Second), false},
		"a pod that the cache does not show":  {a().Begun(1), due, at.Outcome{Created: ownPod().Obj()}, due.Add(expectations.ConfirmAfter), false},
		"an At that is done needs no requeue": {a().StartingDeadline(0), due.Add(time.Hour), at.Outcome{}, time.Time{}, false},
	} {
		p := starts(tc.at.Obj(), tc.now)
		p.seen.LookedUp = map[string]*corev1.Pod{pod0: nil}
		o, plan := p.record(tc.outcome)
		got, canWait := p.state.RequeueAt(o, plan, at.MakeReport(o, plan, tc.outcome), tc.outcome)
		if !got.Equal(tc.want) || canWait != tc.canWait {
			t.Errorf("%s: %s, can wait: %t; want %s", title, got, canWait, tc.want)
		}
	}
}

func TestState_Check(t *testing.T) {
	bad := &at.Answer{Rejection: &expectations.Rejection{Message: "no"}}
	p := starts(a().Obj(), due.Add(-48*time.Hour))
	var delays []time.Duration
	for range 8 {
		o, plan := p.record(at.Outcome{Answer: bad})
		if plan.Check == nil {
			t.Fatalf("nothing is checked after %v", delays)
		}
		next, _ := p.state.RequeueAt(o, plan, at.Report{}, at.Outcome{Answer: bad})
		delays = append(delays, next.Sub(p.now)/time.Minute)
		p.now = next
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, delays); diff != "" {
		t.Errorf("minutes (-want +got): %s", diff)
	}
	p.record(at.Outcome{Answer: &at.Answer{}})
	if _, plan := p.plan(); plan.Check != nil {
		t.Error("a pod that passed is checked again at once")
	}
	p.seen.At.Generation++
	if _, plan := p.plan(); plan.Check == nil {
		t.Error("an edited At is not checked")
	}

	for title, tc := range map[string]struct {
		ready metav1.Condition
		check bool
	}{
		"it passed":            {metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonWaiting}, false},
		"it would be rejected": {metav1.Condition{Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonWouldBeRejected, Message: "no"}, true},
		"it was not checked":   {metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonNotChecked}, true},
		"it was edited":        {metav1.Condition{Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonWaiting, ObservedGeneration: -1}, true},
	} {
		tc.ready.Type = cnatv1alpha1.ConditionReady
		tc.ready.ObservedGeneration++
		at0 := a().Status(cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{tc.ready}}).Obj()
		o, plan := starts(at0, due.Add(-48*time.Hour)).plan()
		if (plan.Check != nil) != tc.check {
			t.Errorf("%s before a restart: checked: %t", title, plan.Check != nil)
		}
		got := meta.FindStatusCondition(at.MakeReport(o, plan, at.Outcome{}).Status.Conditions, cnatv1alpha1.ConditionReady)
		if tc.ready.ObservedGeneration == 1 && (got.Status != tc.ready.Status || got.Reason != tc.ready.Reason) {
			t.Errorf("%s before a restart: Ready is %+v until the next answer", title, got)
		}
	}
	if _, plan := starts(a().Begun(0).Obj(), due).plan(); plan.Check == nil {
		t.Error("an At starts although this process has not checked its pod")
	}
}

func TestState_ReportNow(t *testing.T) {
	created := ownPod().Obj()
	for title, tc := range map[string]struct {
		at      *testutil.AtBuilder
		outcome at.Outcome
		want    bool
	}{
		"nothing was written":              {runs0(), at.Outcome{}, true},
		"a pod was created":                {a().Begun(1), at.Outcome{Created: created}, false},
		"a pod was deleted":                {runs0(), at.Outcome{Deleted: []*corev1.Pod{created}}, true},
		"a check was answered":             {a().Schedule("now + 1 day"), at.Outcome{Answer: &at.Answer{}}, true},
		"a check could not be made":        {a().Schedule("now + 1 day"), at.Outcome{}, false},
		"a create failed for the 1st time": {a().Begun(1), at.Outcome{CreateError: errors.New("timeout")}, false},
	} {
		p := starts(tc.at.Obj(), due)
		o, plan := p.plan()
		if got := p.state.ReportNow(o, plan, tc.outcome); got != tc.want {
			t.Errorf("%s: the status is written now: %t, want %t", title, got, tc.want)
		}
	}
}

// A single error says nothing about the next create, but users must learn about a webhook that does not work.
func TestState_ReportNow_failures(t *testing.T) {
	failing, waits := errors.New("creating Pod a-pod: no endpoints available for service"), at.Outcome{CreateError: errors.New("timeout")}
	p := starts(a().Begun(1).Obj(), due)
	p.seen.LookedUp = map[string]*corev1.Pod{pod0: nil}
	for _, step := range []struct {
		title   string
		after   time.Duration
		outcome at.Outcome
		want    bool
	}{
		{"the first error", 0, waits, false},
		{"errors for almost 5 s", 5*time.Second - 1, waits, false},
		{"errors for 5 s", 5 * time.Second, at.Outcome{CreateError: failing}, true},
		{"errors for an hour", time.Hour, waits, true},
		{"a create that was rejected", 2 * time.Hour, at.Outcome{Rejected: errors.New("exceeded quota")}, true},
		{"the first error after that", 3 * time.Hour, waits, false},
	} {
		p.now = due.Add(step.after)
		o, plan := p.plan()
		if got := p.state.ReportNow(o, plan, step.outcome); got != step.want {
			t.Errorf("%s: the status is written: %t, want %t", step.title, got, step.want)
		}
		p.state.Record(o, plan, step.outcome, p.now)
	}

	o := at.Observation{At: a().Begun(1).Obj(), Now: due, Known: at.Known{Begun: true}}
	report := at.MakeReport(o, at.MakePlan(o), at.Outcome{CreateError: failing})
	for _, kind := range []string{cnatv1alpha1.ConditionScheduled, cnatv1alpha1.ConditionReady} {
		c := meta.FindStatusCondition(report.Status.Conditions, kind)
		if c.Status != metav1.ConditionFalse || c.Reason != cnatv1alpha1.ReasonFailedCreate || c.Message != failing.Error() {
			t.Errorf("condition %+v", c)
		}
	}
	if meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionStalled) != nil {
		t.Error("the At is Stalled, but the operator retries, and that may succeed")
	}
	if diff := cmp.Diff([]event.Event{event.Warning("FailedCreate", "Schedule", failing.Error())}, report.Events); diff != "" {
		t.Errorf("events (-want +got): %s", diff)
	}
}

func TestState_Deleted(t *testing.T) {
	p := starts(a().Status(deadlineExceeded).Obj(), due)
	p.record(at.Outcome{Created: running().Obj()})
	if _, plan := p.plan(); plan.Delete != nil {
		t.Error("a pod that the cache does not show is deleted")
	}
	p.seen.Pods = []*corev1.Pod{running().Obj()}
	o, plan := p.plan()
	if plan.Delete == nil {
		t.Fatal("the pod is not deleted")
	}
	p.state.Record(o, plan, at.Outcome{Deleted: []*corev1.Pod{plan.Delete}}, due)
	if _, plan := p.plan(); plan.Delete != nil {
		t.Error("the pod is deleted twice")
	}
}

func TestState_Rejection(t *testing.T) {
	p := starts(a().Obj(), due)
	for _, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		o, plan := p.plan()
		answered := p.now.Add(300 * time.Millisecond)
		p.state.Record(o, plan, at.Outcome{Rejected: errors.New("quota")}, answered)
		o, _ = p.plan()
		if diff := cmp.Diff(&expectations.Rejection{Message: "quota", Until: answered.Add(delay)}, o.Rejection); diff != "" {
			t.Errorf("(-want +got): %s", diff)
		}
		edited := starts(a().Generation(2).Obj(), p.now)
		edited.state = p.state
		if o, _ := edited.plan(); o.Rejection != nil {
			t.Error("the rejection of an earlier generation is used")
		}
		p.now = answered.Add(delay)
	}
	p.record(at.Outcome{Created: ownPod().Obj()})
	if o, _ := p.plan(); o.Rejection != nil {
		t.Error("the rejection is remembered after a create")
	}
}

func TestState_Written(t *testing.T) {
	stale := a().Obj()
	stale.ResourceVersion = "1"
	p := starts(stale, due)
	next := written(stale, finished, "2")
	p.record(at.Outcome{Written: next})
	o, _ := p.plan()
	if diff := cmp.Diff(next, o.At); diff != "" || stale.ResourceVersion != "1" {
		t.Errorf("the At (-want +got): %s; the cached one has version %s", diff, stale.ResourceVersion)
	}
	p.seen.At = next
	p.record(at.Outcome{})
	if o, _ := p.plan(); o.At != next {
		t.Error("the cache shows the status, but is ignored")
	}
}

func TestState_Older(t *testing.T) {
	p := starts(a().Obj(), due)
	for _, name := range []string{pod1, pod0} {
		older := testutil.MakeAtPod(a().Obj(), name).Obj()
		older.OwnerReferences[0].UID = "older"
		p.seen.Older = append(p.seen.Older, older)
	}
	o, plan := p.plan()
	c := meta.FindStatusCondition(at.MakeReport(o, plan, at.Outcome{}).Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if plan.Start || c.Reason != cnatv1alpha1.ReasonNameTaken || !strings.Contains(c.Message, "pod a-pod belongs to a deleted At") {
		t.Errorf("plan %+v, condition %+v", plan, c)
	}
}
