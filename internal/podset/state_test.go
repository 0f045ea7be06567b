// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// step observes with a State, plans, and records an outcome.
func step(s *State, set *testutil.PodSetBuilder, cached []*corev1.Pod, now time.Time, act func(Plan) Outcome) (Observation, Plan) {
	o := s.Observe(Seen{Set: set.Obj(), Pods: cached}, now, Defaults{})
	plan := MakePlan(o)
	s.Record(o, plan, act(plan), now)
	return o, plan
}

// succeed is the outcome of a plan whose writes all succeed and whose status is written.
func succeed(plan Plan) Outcome {
	created := make([]*corev1.Pod, len(plan.Create))
	for i, pod := range plan.Create {
		created[i] = pod.DeepCopy()
		created[i].UID = types.UID(pod.Name + "-uid")
	}
	return Outcome{Created: created, Deleted: plan.Delete, CleanedUp: plan.Cleanup, Reported: true}
}

// A process that had no permission to list pods when it started has a cache without pods.
func TestState_start(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(3)
	shown, hidden := pod(set, 0).Running().Obj(), pod(set, 1).Running().Obj()
	named := set.Obj()
	named.Status.PodNames = []string{shown.Name, hidden.Name, "gone", "foreign", "no/name"}
	cached := []*corev1.Pod{shown}

	var s State
	o := s.Observe(Seen{Set: named, Pods: cached}, now, Defaults{})
	if diff := cmp.Diff([]string{hidden.Name, "gone", "foreign"}, o.Lookups); diff != "" {
		t.Errorf("lookups (-want +got): %s", diff)
	}
	found := map[string]*corev1.Pod{hidden.Name: hidden, "gone": nil, "foreign": testutil.MakePod("foreign").Obj()}
	o = s.Observe(Seen{Set: named, Pods: cached, LookedUp: found}, now, Defaults{})
	plan := MakePlan(o)
	if len(o.Lookups) > 0 || len(o.Pods) != 2 || len(plan.Create) != 1 || len(cached) != 1 {
		t.Errorf("%v are looked up again, %d pods, plan %+v", o.Lookups, len(o.Pods), plan)
	}
	s.Record(o, Plan{}, Outcome{}, now)
	if o := s.Observe(Seen{Set: named, Pods: cached}, now.Add(time.Second), Defaults{}); len(o.Lookups) > 0 || !o.WaitUntil.Equal(now.Add(expectations.ConfirmAfter)) {
		t.Errorf("after the first reconcile: %v are looked up, waits until %s", o.Lookups, o.WaitUntil)
	}
}

// A created pod that is gone before the cache shows it is looked up once in a while, and replaced.
func TestState_Wait(t *testing.T) {
	set := testutil.MakePodSet("a")
	var s State
	_, plan := step(&s, set, nil, now, succeed)
	created := succeed(plan).Created[0]
	observe := func(after time.Duration, lookedUp map[string]*corev1.Pod) Observation {
		return s.Observe(Seen{Set: set.Obj(), LookedUp: lookedUp}, now.Add(after), Defaults{})
	}
	if o := observe(expectations.ConfirmAfter, nil); len(o.Lookups) != 1 || o.Lookups[0] != created.Name {
		t.Errorf("looks up %v", o.Lookups)
	}
	s.Wait(observe(expectations.ConfirmAfter, map[string]*corev1.Pod{created.Name: created}))
	if o := observe(expectations.ConfirmAfter+1, nil); len(o.Lookups) > 0 || !o.WaitUntil.Equal(now.Add(2*expectations.ConfirmAfter)) {
		t.Errorf("an existing pod: looks up %v, waits until %s", o.Lookups, o.WaitUntil)
	}
	if o := observe(2*expectations.ConfirmAfter, map[string]*corev1.Pod{created.Name: nil}); !o.WaitUntil.IsZero() || len(MakePlan(o).Create) != 1 {
		t.Errorf("a pod that is gone: waits until %s", o.WaitUntil)
	}
}

func TestState_Observe(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(3)
	var s State
	step(&s, set, nil, now, succeed)
	before := s
	cached := []*corev1.Pod{pod(set, 0).Finished(corev1.PodFailed, "").Obj()}
	first := s.Observe(Seen{Set: set.Obj(), Pods: cached}, now, Defaults{})
	second := s.Observe(Seen{Set: set.Obj(), Pods: cached}, now, Defaults{})
	if !reflect.DeepEqual(s.pods, before.pods) || s.cleanupAt != before.cleanupAt || s.cleanupBackoff != before.cleanupBackoff {
		t.Errorf("the State was %+v and is now %+v", before, s)
	}
	if first.CleanupAt != second.CleanupAt || first.CleanupAt != now.Add(10*time.Second) || cmp.Diff(names(first.Pods), names(second.Pods)) != "" {
		t.Errorf("two equal observations differ: %+v, %+v", first, second)
	}
	deleted, attempts := first.Deleted.Clone(), len(first.Attempts)
	s.Record(first, Plan{Create: []*corev1.Pod{pod(set, 1).Obj()}}, Outcome{Deleted: first.Pods, CreateError: errors.New("no answer")}, now)
	if !first.Deleted.Equal(deleted) || len(first.Attempts) != attempts {
		t.Errorf("Record changed the observation: deleted %v, attempts %v", first.Deleted, first.Attempts)
	}
}

func TestState_cleanup(t *testing.T) {
	set := testutil.MakePodSet("a")
	finished := func(attempt int) *corev1.Pod {
		return testutil.MakePod(podName(set.Obj(), slotAttempt{0, attempt})).OwnedBy(set.Obj()).Slot(0).Finished(corev1.PodFailed, "").Obj()
	}
	fail := func(plan Plan) Outcome {
		outcome := succeed(plan)
		outcome.CleanedUp, outcome.DeleteError = nil, errors.New("no answer")
		return outcome
	}
	partly := func(plan Plan) Outcome {
		outcome := fail(plan)
		outcome.CleanedUp = plan.Cleanup[:1]
		return outcome
	}
	var s State
	for _, tc := range []struct {
		title     string
		at        time.Duration
		cached    []*corev1.Pod
		act       func(Plan) Outcome
		cleanupAt time.Duration // or -1 if there are no finished pods
		cleanup   int
	}{
		{"no pod has finished", 0, nil, succeed, -1, 0},
		{"the first delay begins", 1, []*corev1.Pod{finished(0)}, succeed, 11, 0},
		{"it does not start over", 5, []*corev1.Pod{finished(0), finished(1)}, succeed, 11, 0},
		{"a failed cleanup", 11, []*corev1.Pod{finished(0), finished(1)}, fail, 11, 2},
		{"is retried with the same delay, and fails in part", 12, []*corev1.Pod{finished(0), finished(1)}, partly, 11, 2},
		{"the rest is retried with the same delay", 13, []*corev1.Pod{finished(0), finished(1)}, succeed, 11, 1},
		{"the deleted pods count as terminating", 14, []*corev1.Pod{finished(0), finished(1)}, succeed, -1, 0},
		{"the second delay is twice the first one", 20, []*corev1.Pod{finished(2)}, succeed, 40, 0},
		{"a finished pod that is gone", 21, nil, succeed, -1, 0},
		{"needs no cleanup, and the third delay doubles again", 40, []*corev1.Pod{finished(3)}, succeed, 80, 0},
		{"the pod is cleaned up", 80, []*corev1.Pod{finished(3)}, succeed, 80, 1},
		{"a pod that finishes before the next reconcile has a delay of its own", 81, []*corev1.Pod{finished(3), finished(4)}, succeed, 161, 0},
		{"that one is cleaned up", 161, []*corev1.Pod{finished(4)}, succeed, 161, 1},
		{"the delay before the longest", 162, []*corev1.Pod{finished(5)}, succeed, 322, 0},
		{"it is over", 322, []*corev1.Pod{finished(5)}, succeed, 322, 1},
		{"the longest delay", 323, []*corev1.Pod{finished(6)}, succeed, 623, 0},
	} {
		o, plan := step(&s, set, tc.cached, now.Add(tc.at*time.Second), tc.act)
		want := time.Time{}
		if tc.cleanupAt >= 0 {
			want = now.Add(tc.cleanupAt * time.Second)
		}
		if !o.CleanupAt.Equal(want) || len(plan.Cleanup) != tc.cleanup {
			t.Errorf("%s: %d pods are cleaned up, at %s, want %d at %s", tc.title, len(plan.Cleanup), o.CleanupAt, tc.cleanup, want)
		}
	}
}

func TestState_rejection(t *testing.T) {
	set := testutil.MakePodSet("a")
	edited := testutil.FromPodSet(set.Obj()).Generation(2)
	reject := func(Plan) Outcome {
		return Outcome{Rejected: errors.New("exceeded quota"), Reported: true}
	}
	var s State
	for _, tc := range []struct {
		title    string
		set      *testutil.PodSetBuilder
		at       time.Duration
		act      func(Plan) Outcome
		creates  int
		rejected time.Duration // when the remembered rejection ends, afterwards, or -1 if there is none
	}{
		{"the first create is rejected", set, 0, reject, 1, 1},
		{"nothing is tried before the delay is over", set, 0, func(Plan) Outcome { return Outcome{Reported: true} }, 0, 1},
		{"the second one is rejected", set, 1, reject, 1, 3},
		{"an edited spec is tried at once, with the next delay", edited, 2, reject, 1, 6},
		{"a create succeeds", edited, 6, succeed, 1, -1},
		{"the next rejection has the first delay", edited, 7, reject, 1, 8},
	} {
		at := now.Add(tc.at * time.Second)
		gone := map[string]*corev1.Pod{}
		for _, name := range s.Observe(Seen{Set: tc.set.Obj()}, at.Add(time.Hour), Defaults{}).Lookups {
			gone[name] = nil // another client has deleted the created pod
		}
		o := s.Observe(Seen{Set: tc.set.Obj(), LookedUp: gone}, at, Defaults{})
		plan := MakePlan(o)
		outcome := tc.act(plan)
		s.Record(o, plan, outcome, at)
		if len(plan.Create) != tc.creates {
			t.Errorf("%s: %d creates", tc.title, len(plan.Create))
		}
		got := s.rejection.Of(tc.set.Obj().Generation)
		if tc.rejected < 0 {
			if got != nil {
				t.Errorf("%s: %v is remembered", tc.title, got)
			}
			continue
		}
		if got == nil || !got.Until.Equal(now.Add(tc.rejected*time.Second)) || got.Message != "exceeded quota" {
			t.Errorf("%s: got %+v, want one until %d s", tc.title, got, tc.rejected)
		} else if requeueAt := s.RequeueAt(o, MakeReport(o, plan, outcome), outcome); !requeueAt.Equal(got.Until) {
			t.Errorf("%s: requeued at %s, want %s", tc.title, requeueAt, got.Until)
		}
	}
}

func TestState_rejectionUntil(t *testing.T) {
	set := testutil.MakePodSet("a")
	var s State
	o := s.Observe(Seen{Set: set.Obj()}, now, Defaults{})
	answered := now.Add(30 * time.Second)
	s.Record(o, Plan{}, Outcome{Rejected: errors.New("no")}, answered)
	if got := s.rejection.Of(1).Until; !got.Equal(answered.Add(time.Second)) {
		t.Errorf("an answer that took 30 s is retried at %s", got)
	}
	o = s.Observe(Seen{Set: set.Obj()}, answered.Add(time.Second), Defaults{})
	again := answered.Add(time.Minute)
	s.Record(o, Plan{}, Outcome{Rejected: errors.New("no")}, again)
	if got := s.rejection.Of(1).Until; !got.Equal(again.Add(2 * time.Second)) {
		t.Errorf("after a second slow answer: retried at %s", got)
	}
}

func TestState_rejectionKept(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(2)
	for title, spoil := range map[string]func(*Outcome){
		"another create is not answered":         func(o *Outcome) { o.CreateError = errors.New("no answer") },
		"another create finds a conflicting pod": func(o *Outcome) { o.Conflicting = pod(set, 1).Obj() },
	} {
		var s State
		step(&s, set, nil, now, func(Plan) Outcome {
			return Outcome{Rejected: errors.New("exceeded quota"), Reported: true}
		})
		step(&s, set, nil, now.Add(time.Second), func(plan Plan) Outcome {
			outcome := succeed(Plan{Create: plan.Create[:1]})
			spoil(&outcome)
			return outcome
		})
		if s.rejection.Of(1) == nil {
			t.Errorf("%s: the rejection is forgotten", title)
		}
	}
}

// A webhook that is down, or an API server that does not answer, may be so for days.
func TestState_failures(t *testing.T) {
	set, webhook := testutil.MakePodSet("a"), apierrors.NewInternalError(errors.New(`failed calling webhook "a.example.com"`))
	for title, outcome := range map[string]Outcome{
		"creates fail":                     {CreateError: errors.New("no answer"), Reported: true},
		"a webhook prevents creates":       {CreateError: webhook, Reported: true},
		"a webhook prevents deletions":     {DeleteError: webhook, Reported: true},
		"a webhook prevents status writes": {StatusError: webhook},
	} {
		var s State
		var delays []time.Duration
		for at := now; len(delays) < 14; {
			o, plan := step(&s, set, nil, at, func(Plan) Outcome { return outcome })
			next := s.RequeueAt(o, Report{}, outcome)
			if _, early := step(&s, set, nil, next.Add(-1), func(Plan) Outcome { return Outcome{Reported: true} }); len(plan.Create) != 1 || outcome.CreateError != nil && len(early.Create) > 0 {
				t.Errorf("%s: plan %+v, before the back-off is over %+v", title, plan, early)
			}
			delays, at = append(delays, next.Sub(at)), next
		}
		if delays[0] != 20*time.Millisecond || delays[1] != 40*time.Millisecond || delays[12] != time.Minute || delays[13] != time.Minute {
			t.Errorf("%s: the delays are %v", title, delays)
		}
	}
	var s State
	var cached []*corev1.Pod
	lose := func(plan Plan) Outcome {
		created := succeed(plan).Created[:1]
		cached = append(cached, created...)
		return Outcome{Created: created, CreateError: errors.New("no answer")}
	}
	for at := range 5 { // A back-off that grows would not be over.
		if _, plan := step(&s, testutil.MakePodSet("b").Replicas(9), cached, now.Add(time.Duration(at)*20*time.Millisecond), lose); len(plan.Create) != 9-at {
			t.Errorf("while some creates succeed, the delay grows: create %d creates %d pods", at, len(plan.Create))
		}
	}
}

func TestAttemptsAfter(t *testing.T) {
	set, attempts := testutil.MakePodSet("a"), map[int]MinAttempt{1: {Attempt: 2, Unanswered: true}}
	plan := Plan{Create: []*corev1.Pod{pod(set, 0).Obj()}}
	if diff := cmp.Diff(attempts, attemptsAfter(Observation{Set: set.Obj()}, attempts, plan, succeed(plan))); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	// A slot that waits for a pod keeps the name of that pod.
	waits := testutil.FromPodSet(set.Obj()).ReplacementPolicy(appv1alpha1.TerminationComplete).Obj()
	got := attemptsAfter(Observation{Set: waits}, nil, plan, Outcome{Conflicting: pod(set, 0).Terminating().Obj()})
	if diff := cmp.Diff(map[int]MinAttempt{0: {Unanswered: true}}, got); diff != "" {
		t.Errorf("a predecessor has the name (-want +got): %s", diff)
	}
}

func TestState_podName(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(3)
	name := func(slot, attempt int) string { return podName(set.Obj(), slotAttempt{slot, attempt}) }
	lose := func(Plan) Outcome { return Outcome{CreateError: errors.New("no answer"), Reported: true} }
	collide := func(name string) func(Plan) Outcome {
		return func(plan Plan) Outcome {
			outcome := succeed(Plan{Create: plan.Create[:1]})
			outcome.Conflicting = testutil.MakePod(name).Obj()
			return outcome
		}
	}
	terminating := pod(set, 0).Terminating().Obj()
	first, second := testutil.MakePod(name(0, 1)).OwnedBy(set.Obj()).Slot(0).Obj(), testutil.MakePod(name(1, 1)).OwnedBy(set.Obj()).Slot(1).Obj()
	var s State
	for n, tc := range []struct {
		title  string
		cached []*corev1.Pod
		act    func(Plan) Outcome
		create []string
	}{
		{"a create is not answered", []*corev1.Pod{terminating}, lose, []string{name(0, 1), name(1, 0), name(2, 0)}},
		{"it has the same name again, although the first name of its slot is free", nil, collide(name(1, 0)), []string{name(0, 1), name(1, 0), name(2, 0)}},
		{"a conflicting pod has a name", []*corev1.Pod{first}, collide(name(2, 0)), []string{name(1, 1), name(2, 0)}},
		{"another one has another name", []*corev1.Pod{first, second}, succeed, []string{name(2, 1)}},
	} {
		_, plan := step(&s, set, tc.cached, now.Add(time.Duration(n)*time.Second), tc.act)
		if diff := cmp.Diff(tc.create, names(plan.Create)); diff != "" {
			t.Errorf("%s: creates (-want +got): %s", tc.title, diff)
		}
	}
	if len(s.attempts) != 0 {
		t.Errorf("all pods were created, and attempts %v are remembered", s.attempts)
	}
}

// Two creates of one name are committed, and both responses are lost. A user deletes the first pod in between. When the
// cache shows that pod, another name would give the slot a second pod.
func TestState_unansweredCreate(t *testing.T) {
	set := testutil.MakePodSet("a")
	lose := func(Plan) Outcome { return Outcome{CreateError: errors.New("no answer"), Reported: true} }
	var s State
	step(&s, set, nil, now, lose)
	step(&s, set, nil, now.Add(time.Second), lose)
	deleted := pod(set, 0).Terminating().Obj()
	_, plan := step(&s, set, []*corev1.Pod{deleted}, now.Add(2*time.Second), func(plan Plan) Outcome {
		return Outcome{Conflicting: deleted, Reported: true}
	})
	if diff := cmp.Diff([]string{deleted.Name}, names(plan.Create)); diff != "" {
		t.Errorf("creates (-want +got): %s", diff)
	}
	_, plan = step(&s, set, []*corev1.Pod{deleted}, now.Add(3*time.Second), succeed)
	if diff := cmp.Diff([]string{podName(set.Obj(), slotAttempt{0, 1})}, names(plan.Create)); diff != "" {
		t.Errorf("creates after the API server has answered (-want +got): %s", diff)
	}
}

func TestState_modifiedPod(t *testing.T) {
	set, taken := testutil.MakePodSet("a").Replicas(2), testutil.MakePod("taken").Obj()
	paused := testutil.FromPodSet(set.Obj()).Annotation(appv1alpha1.AnnotationPaused, "true")
	var s State
	step(&s, set, nil, now, func(Plan) Outcome {
		return Outcome{Modified: []*corev1.Pod{taken, pod(set, 1).Obj()}, Deleted: []*corev1.Pod{pod(set, 1).Obj()}, Rejected: errors.New("no"), Reported: true}
	})
	fail := func(Plan) Outcome { return Outcome{DeleteError: errors.New("no answer"), Reported: true} }
	for _, tc := range []struct {
		title          string
		set            *testutil.PodSetBuilder
		act            func(Plan) Outcome
		create, delete int
	}{
		{"its deletion fails", set, fail, 0, 1},
		{"the PodSet is paused", paused, fail, 0, 1},
		{"it is deleted", set, succeed, 0, 1},
		{"it is gone", set, succeed, 2, 0},
	} {
		o, plan := step(&s, tc.set, nil, now.Add(time.Minute), tc.act)
		if len(plan.Create) != tc.create || len(plan.Delete) != tc.delete {
			t.Errorf("%s: plan %+v", tc.title, plan)
		}
		if again := s.RequeueAt(o, Report{}, Outcome{Reported: true}).Equal(o.Now); again != (tc.delete > 0) {
			t.Errorf("%s: decides again: %t", tc.title, again)
		}
	}
}

// The PodSet controls a pod that admission has renamed, so the cache shows it, and may do so late.
func TestState_renamedPod(t *testing.T) {
	set := testutil.MakePodSet("a")
	renamed := testutil.MakePod("renamed").OwnedBy(set.Obj()).Slot(0).Obj()
	modify := func(deleted ...*corev1.Pod) func(Plan) Outcome {
		return func(Plan) Outcome {
			return Outcome{Modified: []*corev1.Pod{renamed}, Deleted: deleted, Rejected: errors.New("no"), Reported: true}
		}
	}
	for title, tc := range map[string]struct {
		act            func(Plan) Outcome
		cached         []*corev1.Pod
		create, delete int
	}{
		"deleted, and not shown yet":              {modify(renamed), nil, 1, 0},
		"deleted, and shown as it was":            {modify(renamed), []*corev1.Pod{renamed}, 1, 0},
		"its deletion failed":                     {modify(), nil, 0, 1},
		"its deletion failed, and it is in cache": {modify(), []*corev1.Pod{renamed}, 0, 1},
	} {
		var s State
		step(&s, set, nil, now, tc.act)
		o := s.Observe(Seen{Set: set.Obj(), Pods: tc.cached}, now.Add(time.Second), Defaults{})
		if plan := MakePlan(o); len(plan.Create) != tc.create || len(plan.Delete) != tc.delete {
			t.Errorf("%s: plan %+v", title, plan)
		}
	}
	var s State
	step(&s, set, nil, now, modify())
	taken := map[string]*corev1.Pod{"renamed": testutil.MakePod("renamed").Obj()}
	o := s.Observe(Seen{Set: set.Obj(), LookedUp: taken}, now.Add(time.Minute), Defaults{})
	if plan := MakePlan(o); len(plan.Create) != 1 || len(plan.Delete) != 0 {
		t.Errorf("a user has taken it: plan %+v", plan)
	}
}

func TestState_statusDue(t *testing.T) {
	set := testutil.MakePodSet("a")
	done := Outcome{Deleted: []*corev1.Pod{pod(set, 0).Obj()}}
	failed := Outcome{CreateError: errors.New("no answer")}
	var s State
	for _, tc := range []struct {
		title   string
		at      time.Duration
		outcome Outcome
		want    bool
	}{
		{"nothing was done", 0, Outcome{}, true},
		{"a pod was deleted", 0, done, false},
		{"another one was deleted soon after", 900 * time.Millisecond, done, false},
		{"something failed", 950 * time.Millisecond, failed, true},
		{"a pod was deleted after the report", 960 * time.Millisecond, done, false},
		{"a second went by", 1960 * time.Millisecond, done, true},
		{"a pod was deleted after the second report", 1970 * time.Millisecond, done, false},
	} {
		o := s.Observe(Seen{Set: set.Obj()}, now.Add(tc.at), Defaults{})
		got := s.ReportNow(o, tc.outcome)
		if got != tc.want {
			t.Errorf("%s: report now is %t", tc.title, got)
		}
		tc.outcome.Reported = got
		s.Record(o, Plan{}, tc.outcome, o.Now)
	}
}

func TestState_statusFailed(t *testing.T) {
	set := testutil.MakePodSet("a")
	var s State
	for at, want := range []bool{true, false, true} {
		outcome := Outcome{Reported: false} // The write failed.
		if at > 0 {
			outcome.Deleted = []*corev1.Pod{pod(set, 0).Obj()}
		}
		o := s.Observe(Seen{Set: set.Obj()}, now.Add(time.Duration(at)*600*time.Millisecond), Defaults{})
		if got := s.ReportNow(o, outcome); got != want {
			t.Errorf("after %d ms: report now is %t", at*600, got)
		}
		s.Record(o, Plan{}, outcome, o.Now)
	}
}

func TestState_statusWritten(t *testing.T) {
	set := testutil.MakePodSet("a").Obj()
	set.ResourceVersion = "5"
	written := set.DeepCopy()
	written.ResourceVersion, written.Status.Replicas = "9", 1
	var s State
	s.Record(s.Observe(Seen{Set: set}, now, Defaults{}), Plan{}, Outcome{Reported: true, Written: written}, now)
	if diff := cmp.Diff(written, s.Observe(Seen{Set: set}, now, Defaults{}).Set); diff != "" || set.ResourceVersion != "5" {
		t.Errorf("the PodSet (-want +got): %s; the cached one has version %s", diff, set.ResourceVersion)
	}
	newer := written.DeepCopy()
	newer.ResourceVersion = "10"
	if o := s.Observe(Seen{Set: newer}, now, Defaults{}); o.Set != newer {
		t.Errorf("the cache is newer, and the set has version %s", o.Set.ResourceVersion)
	}
}

func TestState_hash(t *testing.T) {
	set := testutil.MakePodSet("a").Image("v1")
	edited := testutil.FromPodSet(set.Obj()).Image("v2").Generation(2)
	var s State
	for _, tc := range []*testutil.PodSetBuilder{set, edited, set} {
		o, _ := step(&s, tc, nil, now, succeed)
		if want := HashTemplate(tc.Obj().Spec.Template); o.TemplateHash != want {
			t.Errorf("generation %d: hash %s, want %s", o.Set.Generation, o.TemplateHash, want)
		}
	}
	s.templateHash, s.hashedGeneration = "remembered", 1
	if o := s.Observe(Seen{Set: set.Obj()}, now, Defaults{}); o.TemplateHash != "remembered" {
		t.Error("the hash of the same generation is computed again")
	}
}

// The order of two pods changes while there is no answer: their age ranks differ.
func TestState_unansweredDelete(t *testing.T) {
	set := testutil.MakePodSet("a")
	since := func(slot int, age time.Duration) *corev1.Pod {
		return pod(set, slot).ReadySince(now.Add(-age)).Created(now.Add(-time.Hour)).UID(types.UID('z' - rune(slot))).Obj()
	}
	cached := []*corev1.Pod{since(0, 16*time.Second), since(1, 18*time.Second)}
	lose := func(Plan) Outcome { return Outcome{DeleteError: errors.New("no answer"), Reported: true} }
	var s State
	_, first := step(&s, set, cached, now, lose)
	for _, later := range []time.Duration{0, time.Second, 2 * time.Second, 10 * time.Second} {
		_, plan := step(&s, set, cached, now.Add(later), lose)
		if diff := cmp.Diff(names(first.Delete), names(plan.Delete)); diff != "" || len(plan.Delete) != 1 {
			t.Errorf("%s later (-first +now): %s", later, diff)
		}
	}
	step(&s, set, cached, now, succeed)
	if o := s.Observe(Seen{Set: set.Obj(), Pods: cached}, now, Defaults{}); o.MaybeDeleted.Len() > 0 {
		t.Errorf("the deletion was answered, and %v is to be repeated", o.MaybeDeleted)
	}
}

// A create that finds the pod of the same slot waits until the cache shows that pod or its end.
func TestRequeueAt_slot(t *testing.T) {
	set := testutil.MakePodSet("a").ReplacementPolicy(appv1alpha1.TerminationComplete)
	for title, tc := range map[string]struct {
		conflicting *corev1.Pod
		want        time.Time
	}{
		"its own pod":           {pod(set, 0).Terminating().Obj(), now.Add(retryPredecessor)},
		"the pod of a stranger": {testutil.MakePod(podName(set.Obj(), slotAttempt{})).Obj(), now},
	} {
		o := Observation{Set: set.Obj(), Now: now}
		if got := MakeReport(o, Plan{}, Outcome{Conflicting: tc.conflicting}).RequeueAt; !got.Equal(tc.want) {
			t.Errorf("%s: requeued at %s, want %s", title, got, tc.want)
		}
	}
}

func TestState_warnings(t *testing.T) {
	set := testutil.MakePodSet("a")
	var s State
	for _, tc := range []struct{ warnings, want string }{{"first", "first"}, {"", "first"}, {"second", "second"}} {
		step(&s, set, nil, now, func(Plan) Outcome { return Outcome{Warnings: tc.warnings, Reported: true} })
		if got := s.Observe(Seen{Set: set.Obj()}, now, Defaults{}).Warnings; got != tc.want {
			t.Errorf("after %q, the last warnings are %q, want %q", tc.warnings, got, tc.want)
		}
	}
}
