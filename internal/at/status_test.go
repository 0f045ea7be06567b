// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// phaseChange is the event about a phase that the At has entered.
func phaseChange(phase cnatv1alpha1.Phase) event.Event {
	actions := map[cnatv1alpha1.Phase]string{"PENDING": "Schedule", "RUNNING": "Run", "DONE": "Finish"}
	return event.Normal("PhaseChange", actions[phase], string(phase))
}

// stored is a status as the API server returns it: JSON times have whole seconds and their own zone.
func stored(t testing.TB, status cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	t.Helper()
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var again cnatv1alpha1.AtStatus
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

// The statuses of a run from its creation to its end, each computed from the one before.
func TestMakeReport(t *testing.T) {
	at0 := a().BackoffLimit(1).Obj()
	at0.Generation = 7
	condition := func(kind string, status metav1.ConditionStatus, since time.Duration, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(due.Add(since)),
			Reason: reason, Message: message}
	}
	second := func(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(due.Add(d))) }
	retry := func() *testutil.AtPodBuilder { return testutil.MakeAtPod(at0, pod1).Created(due.Add(17 * time.Second)) }
	waits := []metav1.Condition{
		condition("Scheduled", "True", -120*time.Second, "Waiting", "runs at 2030-01-30T10:02:00Z"),
		condition("Ready", "True", -120*time.Second, "Waiting", "runs at 2030-01-30T10:02:00Z"),
	}
	runs := func(reason, message string) []metav1.Condition {
		return []metav1.Condition{condition("Scheduled", "True", -120*time.Second, "Started", message), condition("Ready", "False", 0, reason, message)}
	}
	const failure = "attempt 1 of 2 failed: NonZeroExitCode: the command in pod a-pod ended with exit code 3; the next one is due at 2030-01-30T10:02:16Z"

	for _, step := range []struct {
		name   string
		now    time.Duration
		pods   []*corev1.Pod
		want   cnatv1alpha1.AtStatus
		events []event.Event
	}{
		{
			name: "it waits", now: -119*time.Second - 500*time.Millisecond,
			want:   cnatv1alpha1.AtStatus{Phase: "PENDING", ScheduledTime: second(0), ObservedGeneration: 7, Conditions: waits},
			events: []event.Event{phaseChange("PENDING")},
		},
		{
			name: "its first attempt begins", now: 10 * time.Millisecond,
			want: cnatv1alpha1.AtStatus{Phase: "PENDING", ScheduledTime: second(0), ObservedGeneration: 7, PodName: "a-pod", Attempts: 1, Conditions: waits},
		},
		{
			name: "it runs", now: 30 * time.Millisecond, pods: []*corev1.Pod{ownPod().Obj()},
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7, StartTime: second(0), PodName: "a-pod", PodUID: "a-pod-uid", Attempts: 1,
				Conditions: runs("Running", "pod a-pod was created"),
			},
			events: []event.Event{phaseChange("RUNNING")},
		},
		{
			name: "its exit code is recorded while another container runs", now: 5 * time.Second, pods: []*corev1.Pod{failed().Phase(corev1.PodRunning).Runs("proxy").Obj()},
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7, StartTime: second(0), PodName: "a-pod", PodUID: "a-pod-uid", Attempts: 1,
				ExitCode: ptr.To[int32](3), Conditions: runs("Running", "pod a-pod was created"),
			},
		},
		{
			name: "it has failed and waits for its retry", now: 6 * time.Second, pods: []*corev1.Pod{failed().Obj()},
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7, StartTime: second(0), PodName: "a-pod", PodUID: "a-pod-uid", Attempts: 1,
				RetryTime: second(16 * time.Second), ExitCode: ptr.To[int32](3), Conditions: runs("Running", failure),
			},
		},
		{
			name: "its pod is deleted in the back-off", now: 7 * time.Second,
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7, StartTime: second(0), PodName: "a-pod", PodUID: "a-pod-uid", Attempts: 1,
				RetryTime: second(16 * time.Second), ExitCode: ptr.To[int32](3), Conditions: runs("Running", failure),
			},
		},
		{
			name: "its second attempt begins", now: 16 * time.Second,
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7, StartTime: second(0), PodName: "a-pod-1", Attempts: 2,
				Conditions: runs("Running", failure),
			},
			events: []event.Event{event.Normal("Retry", "Run", "attempt 2 of 2 runs in pod a-pod-1")},
		},
		{
			name: "it runs again", now: 17 * time.Second, pods: []*corev1.Pod{retry().Obj()},
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7, StartTime: second(0), PodName: "a-pod-1", PodUID: "a-pod-1-uid", Attempts: 2,
				Conditions: runs("Running", "pod a-pod-1 was created"),
			},
		},
		{
			name: "it fails again", now: 22 * time.Second,
			pods: []*corev1.Pod{retry().Phase(corev1.PodFailed).Exited("busybox", 4, "Error", "oh\n", due.Add(21*time.Second)).Obj()},
			want: failedStatus(condition, second), events: []event.Event{phaseChange("DONE"), event.Warning("Failed", "Run", "the command in pod a-pod-1 ended with exit code 4")},
		},
		{name: "it is left alone after its last pod is gone", now: time.Hour, want: failedStatus(condition, second)},
	} {
		_, report := decide(at.Observation{At: at0, Pods: step.pods, Now: due.Add(step.now)}, at.Outcome{Answer: &at.Answer{}})
		if diff := cmp.Diff(step.want, report.Status); diff != "" {
			t.Errorf("%s: status (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.events, report.Events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", step.name, diff)
		}
		at0.Status = stored(t, report.Status)
	}
}

// failedStatus is the status of the At of TestMakeReport after its end.
func failedStatus(
	condition func(kind string, status metav1.ConditionStatus, since time.Duration, reason, message string) metav1.Condition,
	second func(time.Duration) *metav1.Time,
) cnatv1alpha1.AtStatus {
	return cnatv1alpha1.AtStatus{
		Phase: "DONE", Result: "Failed", Reason: "NonZeroExitCode", ExitCode: ptr.To[int32](4), Output: "oh\n",
		ScheduledTime: second(0), StartTime: second(0), CompletionTime: second(21 * time.Second), ObservedGeneration: 7,
		PodName: "a-pod-1", PodUID: "a-pod-1-uid", Attempts: 2,
		Conditions: []metav1.Condition{
			condition("Scheduled", "True", -120*time.Second, "Started", "the pod was created"),
			condition("Failed", "True", 22*time.Second, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
			condition("Ready", "False", 0, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
			condition("Stalled", "True", 22*time.Second, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
		},
	}
}

func TestMakeReport_events(t *testing.T) {
	held := func(reason, message string) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{{
			Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		}}}
	}
	invalid := event.Warning("InvalidSchedule", "Schedule", atspec.ScheduleMessage)
	noShell := func(word string) event.Event {
		return event.Warning("NoShell", "Schedule", "the command receives the word \""+word+"\" as is, because it does not run in a shell; for a shell, use sh -c '...'")
	}
	for name, test := range map[string]struct {
		at   *testutil.AtBuilder
		pods []*corev1.Pod
		out  at.Outcome
		want []event.Event
	}{
		"an At that is due when it is created enters two phases at once": {
			at: a().Status(cnatv1alpha1.AtStatus{Attempts: 1}), pods: []*corev1.Pod{ownPod().Obj()},
			want: []event.Event{phaseChange("PENDING"), phaseChange("RUNNING")},
		},
		"a run that has ended before its first report entered all phases": {
			at: a().Status(cnatv1alpha1.AtStatus{Attempts: 1}), pods: []*corev1.Pod{succeeded().Obj()},
			want: []event.Event{phaseChange("PENDING"), phaseChange("RUNNING"), phaseChange("DONE")},
		},
		"a run that has ended before its record has also run": {
			at: a().Begun(1), pods: []*corev1.Pod{succeeded().Obj()},
			want: []event.Event{phaseChange("RUNNING"), phaseChange("DONE")},
		},
		"a deadline that has passed before the first report": {
			at: a().StartingDeadline(1),
			want: []event.Event{phaseChange("PENDING"), phaseChange("DONE"), event.Warning("MissedDeadline", "Run",
				"startingDeadlineSeconds (1) exceeded: the command was due at 2030-01-30T10:02:00Z and was not run")},
		},
		"a lost pod": {
			at: runs0(),
			want: []event.Event{phaseChange("DONE"), event.Warning("PodLost", "Run",
				"pod a-pod disappeared before its end was recorded; the command may have run, so it is not run again. To run it, create another At")},
		},
		"an exceeded deadline": {
			at: runs0().ActiveDeadline(1),
			want: []event.Event{phaseChange("DONE"), event.Warning("DeadlineExceeded", "Run",
				"activeDeadlineSeconds (1) exceeded; last attempt: its pod is gone, and it is unknown how the command ended")},
		},
		"a foreign pod": {
			at: a().Begun(1), out: at.Outcome{Conflicting: ownPod().Unowned().Obj()},
			want: []event.Event{phaseChange("DONE"), event.Warning("PodNameConflict", "Run",
				"pod a-pod already exists and does not belong to this At: delete the pod or choose another name, then create the At again")},
		},
		"a phase that was set by hand is corrected": {
			at: a().Suspend().Status(cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone}), want: []event.Event{phaseChange("PENDING")},
		},
		"a success is two changes of phase, this is the second": {
			at: runs0(), pods: []*corev1.Pod{succeeded().Obj()},
			want: []event.Event{phaseChange("DONE")},
		},
		"an unusable schedule": {
			at: a().Schedule("x"), want: []event.Event{invalid, phaseChange("PENDING")},
		},
		"an unusable schedule, once only": {
			at: a().Schedule("x").Status(held("InvalidSchedule", atspec.ScheduleMessage)),
		},
		"an unusable schedule after something else": {
			at: a().Schedule("x").Status(held("FailedCreate", "quota")), want: []event.Event{invalid},
		},
		"an operator of a shell": {
			at: a().Command("echo a | wc"), want: []event.Event{noShell("|"), phaseChange("PENDING")},
		},
		"an operator of a shell behind a line break, and an empty word": {
			at: a().Command("backup '' \\\n&& notify\n").Schedule("x"), want: []event.Event{noShell("&&"), invalid, phaseChange("PENDING")},
		},
		"an operator of a shell, once only": {
			at: a().Command("echo a | wc").Suspend().Status(held("Suspended", "")),
		},
		"an operator in quotes is meant": {
			at: a().Command(`cut -d '|' -f 1 "<" \; && x`).Schedule("x"), want: []event.Event{noShell("&&"), invalid, phaseChange("PENDING")},
		},
		"an operator in the script of a shell": {
			at: a().Command("sh -c 'echo a | wc > b'").Schedule("x"), want: []event.Event{invalid, phaseChange("PENDING")},
		},
		"the semicolon of find": {
			at: a().Command("find / -exec rm {} ;").Schedule("x"), want: []event.Event{invalid, phaseChange("PENDING")},
		},
		"another rejection": {
			at: a().Status(held("FailedCreate", "quota")), out: at.Outcome{Rejected: errors.New("no")},
			want: []event.Event{event.Warning("FailedCreate", "Schedule", "no")},
		},
		"a user's own action needs no warning": {
			at: a().Suspend().Status(held("FailedCreate", "quota")),
		},
		"a missed deadline is reported once": {
			at: a().StartingDeadline(1).Status(held("Suspended", "")),
			want: []event.Event{phaseChange("DONE"), event.Warning("MissedDeadline", "Run",
				"startingDeadlineSeconds (1) exceeded: the command was due at 2030-01-30T10:02:00Z and was not run: spec.suspend was true")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, report := decide(at.Observation{At: test.at.Obj(), Pods: test.pods, LookedUp: map[string]*corev1.Pod{pod0: nil}, Now: due.Add(time.Minute)}, test.out)
			if diff := cmp.Diff(test.want, report.Events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMakeReport_scheduledTime(t *testing.T) {
	for schedule, want := range map[string]string{
		"2030-01-30T11:02:00.999+01:00": "2030-01-30T10:02:00Z",
		"0001-01-01T00:00:00Z":          "0001-01-01T00:00:01Z",
		"0000-01-01T00:00:00+23:59":     "0001-01-01T00:00:01Z",
		"9999-12-31T23:59:59-23:59":     "9999-12-31T23:59:59Z",
		"now + 999999999 weeks":         "9999-12-31T23:59:59Z",
		"tomorrow":                      "",
	} {
		at0 := a().Schedule(schedule).Suspend().Obj()
		_, report := decide(at.Observation{At: at0, Now: due}, at.Outcome{})
		got := ""
		if s := stored(t, report.Status); s.ScheduledTime != nil {
			got = s.ScheduledTime.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", schedule, got, want)
		}
	}
}

func TestMakePlan_farSchedule(t *testing.T) {
	for _, schedule := range []string{"9999-12-31T23:59:59-23:59", "now + 999999999 weeks"} {
		got, report := decide(at.Observation{At: a().Schedule(schedule).Obj(), Now: due}, at.Outcome{})
		if got.Create != "" || !report.RequeueAt.After(due.AddDate(1000, 0, 0)) || report.RequeueAt.Sub(due) < 0 {
			t.Errorf("%s: created %q, requeued at %s", schedule, got.Create, report.RequeueAt)
		}
	}
}

func TestMakeReport_done(t *testing.T) {
	at0 := a().Obj()
	_, report := decide(at.Observation{At: runs0().Obj(), Pods: []*corev1.Pod{succeeded().Obj()}, Now: due.Add(time.Minute)}, at.Outcome{})
	at0.Status = stored(t, report.Status)

	t.Run("when its spec is edited, but for the generation", func(t *testing.T) {
		edited := at0.DeepCopy()
		edited.Generation = 2
		edited.Spec.Schedule, edited.Spec.Suspend = "tomorrow", ptr.To(true)
		_, report := decide(at.Observation{At: edited, Now: due.Add(time.Hour)}, at.Outcome{})
		want := at0.Status.DeepCopy()
		want.ObservedGeneration = 2
		for i := range want.Conditions {
			want.Conditions[i].ObservedGeneration = 2
		}
		if diff := cmp.Diff(want, &report.Status); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
	t.Run("when phase and conditions were changed by hand", func(t *testing.T) {
		forged := at0.DeepCopy()
		forged.Status.Phase = cnatv1alpha1.PhasePending
		forged.Status.Conditions = []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "X"}, {Type: "Failed", Status: metav1.ConditionTrue, Reason: "X"}}
		_, report := decide(at.Observation{At: forged, Now: due.Add(time.Hour)}, at.Outcome{})
		corrected := metav1.Condition{
			Type: "Complete", Status: metav1.ConditionTrue, Reason: "Completed", ObservedGeneration: 1,
			LastTransitionTime: metav1.NewTime(due.Add(time.Hour)),
		}
		want := []metav1.Condition{corrected, corrected, forged.Status.Conditions[0]}
		want[1].Type = "Ready"
		if report.Status.Phase != cnatv1alpha1.PhaseDone || report.Status.Result != cnatv1alpha1.ResultSucceeded {
			t.Errorf("got phase %s, result %s", report.Status.Phase, report.Status.Result)
		}
		if diff := cmp.Diff(want, report.Status.Conditions); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]event.Event{phaseChange("DONE")}, report.Events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestMakeReport_Ready(t *testing.T) {
	older := ownPod().Obj()
	older.OwnerReferences[0].UID = "older"
	const early = -time.Minute
	answer := func(answer at.Answer) at.Outcome { return at.Outcome{Answer: &answer} }
	for name, test := range map[string]struct {
		at             *testutil.AtBuilder
		now            time.Duration
		older          *corev1.Pod
		out            at.Outcome
		ready, stalled bool
		reason         string
		message        string // how the message of Ready ends
	}{
		"suspended":         {at: a().Suspend(), out: answer(at.Answer{}), ready: true, reason: "Suspended"},
		"the name is taken": {at: a(), older: older, reason: "NameTaken"},
		"unusable":          {at: a().Schedule("x"), stalled: true, reason: "InvalidSchedule"},
		"its pod passes":    {at: a(), now: early, out: answer(at.Answer{}), ready: true, reason: "Waiting", message: "runs at 2030-01-30T10:02:00Z"},
		"its pod would be rejected": {
			at: a(), now: early, out: answer(at.Answer{Rejection: &expectations.Rejection{Message: "violates PodSecurity"}}), stalled: true,
			reason: "WouldBeRejected", message: "the API server would reject the pod now: violates PodSecurity",
		},
		"it is suspended, and its pod would be rejected": {
			at: a().Suspend(), out: answer(at.Answer{Rejection: &expectations.Rejection{Message: "violates PodSecurity"}}), stalled: true,
			reason: "WouldBeRejected", message: "the API server would reject the pod now: violates PodSecurity",
		},
		"its template is invalid": {
			at: a().Template(nil, "c"), now: early, out: answer(at.Answer{Rejection: &expectations.Rejection{Message: "spec.containers[0].image", Invalid: true}}), stalled: true,
			reason: "InvalidTemplate", message: "spec.containers[0].image",
		},
		"the default pod is invalid": {
			at: a(), now: early, out: answer(at.Answer{Rejection: &expectations.Rejection{Message: "no", Invalid: true}}), stalled: true, reason: "WouldBeRejected", message: "now: no",
		},
		"admission would change its pod": {
			at: a(), now: early, out: answer(at.Answer{Changed: "the name of pod a-pod to x"}), stalled: true, reason: "WouldBeRejected",
			message: "admission would change the name of pod a-pod to x; the At would end as PodModified. Exclude pods with the label " +
				"app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again",
		},
		"a webhook does not answer": {
			at: a(), now: early, out: answer(at.Answer{Unknown: "timeout"}), ready: true, reason: "NotChecked",
			message: "runs at 2030-01-30T10:02:00Z; the API server could not check the pod: timeout",
		},
	} {
		o := at.Observation{At: test.at.Obj(), Now: due.Add(test.now), Older: test.older}
		c := at.MakeReport(o, at.MakePlan(o), test.out).Status.Conditions
		if meta.IsStatusConditionTrue(c, "Ready") != test.ready || meta.IsStatusConditionTrue(c, "Stalled") != test.stalled {
			t.Errorf("%s: %+v", name, c)
		}
		if ready := meta.FindStatusCondition(c, "Ready"); ready.Reason != test.reason || !strings.HasSuffix(ready.Message, test.message) {
			t.Errorf("%s: reason %s, message %q", name, ready.Reason, ready.Message)
		}
	}
}

// Without its start, the next reconcile would find that the deadline of the run is over.
func TestMakeReport_record(t *testing.T) {
	record := func(s cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{StartTime: s.StartTime, PodName: s.PodName, PodUID: s.PodUID, Attempts: s.Attempts}
	}
	for name, test := range map[string]struct {
		at   *testutil.AtBuilder
		pods []*corev1.Pod
	}{
		"a failed pod was deleted before its retry": {at: a().BackoffLimit(1).ActiveDeadline(60).RetryRecorded(1, pod0, 15*time.Second)},
		"the pod is lost":              {at: runs0()},
		"the pod of the retry is lost": {a().BackoffLimit(1).Recorded(2, pod1, pod1+"-uid"), []*corev1.Pod{failed().Obj()}},
	} {
		at0 := test.at.Obj()
		o := at.Observation{At: at0, Pods: test.pods, LookedUp: map[string]*corev1.Pod{pod0: nil, pod1: nil}, Now: due.Add(14 * time.Second)}
		if diff := cmp.Diff(record(at0.Status), record(at.MakeReport(o, at.MakePlan(o), at.Outcome{}).Status)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMakeReport_noRetry(t *testing.T) {
	pods := []*corev1.Pod{running().Phase(corev1.PodFailed).Obj()}
	_, report := decide(at.Observation{At: runs0().BackoffLimit(1).Obj(), Pods: pods, Now: due.Add(time.Minute)}, at.Outcome{})
	c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionFailed)
	want := "pod a-pod ended before the operator saw its command end; the command may have run, so it is not retried"
	if c == nil || c.Message != want {
		t.Errorf("got  %+v\nwant %s", c, want)
	}
}

func TestMakeReport_copy(t *testing.T) {
	at0 := a().Deleting().Status(finished).Obj()
	o := at.Observation{At: at0, Now: due}
	report := at.MakeReport(o, at.MakePlan(o), at.Outcome{})
	if !equality.Semantic.DeepEqual(at0.Status, report.Status) || report.Status.CompletionTime == at0.Status.CompletionTime {
		t.Error("the status is not an equal copy")
	}
}

func TestMakeReport_longRejection(t *testing.T) {
	_, report := decide(at.Observation{At: a().Obj(), Now: due}, at.Outcome{Rejected: errors.New(strings.Repeat("x", 40000))})
	c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if len(c.Message) != 1024 || len(report.Events[0].Note) != 1024 {
		t.Errorf("got %d and %d bytes", len(c.Message), len(report.Events[0].Note))
	}
}

func TestMakeReport_foreignConditions(t *testing.T) {
	foreign := metav1.Condition{Type: "example.com/Audited", Status: metav1.ConditionTrue, Reason: "Audited", LastTransitionTime: metav1.NewTime(testutil.AtDue)}
	owner := testutil.MakeAt("a").Obj()
	owner.Status.Conditions = []metav1.Condition{foreign}
	_, report := decide(at.Observation{At: owner, Now: testutil.AtDue.Add(-time.Minute)}, at.Outcome{})
	if c := meta.FindStatusCondition(report.Status.Conditions, foreign.Type); c == nil || *c != foreign {
		t.Errorf("the condition of another controller is %v", c)
	}
}
