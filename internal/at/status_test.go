// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/event"
	"github.com/redhat/podset-operator/internal/testutil"
)

// phaseChange is the event about a phase that the At has entered.
func phaseChange(phase cnatv1alpha1.Phase) event.Event {
	actions := map[cnatv1alpha1.Phase]string{"PENDING": "Schedule", "RUNNING": "Run", "DONE": "Finish"}
	return event.Normal("PhaseChange", actions[phase], string(phase))
}

// stored is a status as the API server gives it back: in JSON times have whole seconds and a zone of their own.
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

func TestTheStatusOfARun(t *testing.T) {
	at0 := a().BackoffLimit(1).Obj()
	at0.Generation = 7
	condition := func(kind string, status metav1.ConditionStatus, since time.Duration, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(due.Add(since)),
			Reason: reason, Message: message}
	}
	second := func(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(due.Add(d))) }
	retry := func() *testutil.AtPodBuilder { return testutil.MakeAtPod(at0, pod1).Created(due.Add(15 * time.Second)) }

	for _, step := range []struct {
		name   string
		now    time.Duration
		pods   []*corev1.Pod
		want   cnatv1alpha1.AtStatus
		events []event.Event
	}{
		{
			name: "it waits", now: -119*time.Second - 500*time.Millisecond,
			want: cnatv1alpha1.AtStatus{
				Phase: "PENDING", ScheduledTime: second(0), ObservedGeneration: 7,
				Conditions: []metav1.Condition{
					condition("Scheduled", "True", -120*time.Second, "Waiting", "runs at 2030-01-30T10:02:00Z"),
					condition("Ready", "True", -120*time.Second, "Waiting", "runs at 2030-01-30T10:02:00Z"),
				},
			},
			events: []event.Event{phaseChange("PENDING")},
		},
		{
			name: "it starts", now: 30 * time.Millisecond,
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7,
				StartTime: second(0), PodName: "a-pod", PodUID: "a-pod-uid", Attempts: 1,
				Conditions: []metav1.Condition{
					condition("Scheduled", "True", -120*time.Second, "Started", "pod a-pod was created"),
					condition("Ready", "False", 0, "Running", "pod a-pod was created"),
				},
			},
			events: []event.Event{phaseChange("RUNNING")},
		},
		{
			name: "it fails and waits for its retry", now: 6 * time.Second, pods: []*corev1.Pod{failed().Obj()},
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7,
				StartTime: second(0), PodName: "a-pod", PodUID: "a-pod-uid", Attempts: 1, RetryTime: second(15 * time.Second),
				Conditions: []metav1.Condition{
					condition("Scheduled", "True", -120*time.Second, "Started", "attempt 1 of 2 failed: NonZeroExitCode: the command in pod a-pod ended with exit code 3; the next one is due at 2030-01-30T10:02:15Z"),
					condition("Ready", "False", 0, "Running", "attempt 1 of 2 failed: NonZeroExitCode: the command in pod a-pod ended with exit code 3; the next one is due at 2030-01-30T10:02:15Z"),
				},
			},
		},
		{
			name: "it starts again", now: 15 * time.Second, pods: []*corev1.Pod{failed().Obj()},
			want: cnatv1alpha1.AtStatus{
				Phase: "RUNNING", ScheduledTime: second(0), ObservedGeneration: 7,
				StartTime: second(0), PodName: "a-pod-1", PodUID: "a-pod-1-uid", Attempts: 2,
				Conditions: []metav1.Condition{
					condition("Scheduled", "True", -120*time.Second, "Started", "pod a-pod-1 was created"),
					condition("Ready", "False", 0, "Running", "pod a-pod-1 was created"),
				},
			},
			events: []event.Event{event.Normal("Retry", "Run", "attempt 2 of 2 runs in pod a-pod-1")},
		},
		{
			name: "it fails again, its first pod is gone by then", now: 22 * time.Second,
			pods: []*corev1.Pod{retry().Phase(corev1.PodFailed).Exited("busybox", 4, "Error", "oh\n", due.Add(21*time.Second)).Obj()},
			want: cnatv1alpha1.AtStatus{
				Phase: "DONE", Result: "Failed", Reason: "NonZeroExitCode", ExitCode: ptr.To[int32](4), Output: "oh\n",
				ScheduledTime: second(0), StartTime: second(0), CompletionTime: second(21 * time.Second), ObservedGeneration: 7,
				PodName: "a-pod-1", PodUID: "a-pod-1-uid", Attempts: 2,
				Conditions: []metav1.Condition{
					condition("Scheduled", "True", -120*time.Second, "Started", "the pod was created"),
					condition("Failed", "True", 22*time.Second, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
					condition("Ready", "False", 0, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
					condition("Stalled", "True", 22*time.Second, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
				},
			},
			events: []event.Event{phaseChange("DONE"), event.Warning("Failed", "Run", "the command in pod a-pod-1 ended with exit code 4")},
		},
		{
			name: "it is left alone when its last pod is gone too", now: time.Hour,
			want: cnatv1alpha1.AtStatus{
				Phase: "DONE", Result: "Failed", Reason: "NonZeroExitCode", ExitCode: ptr.To[int32](4), Output: "oh\n",
				ScheduledTime: second(0), StartTime: second(0), CompletionTime: second(21 * time.Second), ObservedGeneration: 7,
				PodName: "a-pod-1", PodUID: "a-pod-1-uid", Attempts: 2,
				Conditions: []metav1.Condition{
					condition("Scheduled", "True", -120*time.Second, "Started", "the pod was created"),
					condition("Failed", "True", 22*time.Second, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
					condition("Ready", "False", 0, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
					condition("Stalled", "True", 22*time.Second, "NonZeroExitCode", "the command in pod a-pod-1 ended with exit code 4"),
				},
			},
		},
	} {
		_, report := decide(at.Observation{At: at0, Pods: step.pods, Now: due.Add(step.now)}, nil)
		if diff := cmp.Diff(step.want, report.Status); diff != "" {
			t.Errorf("%s: status (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.events, report.Events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", step.name, diff)
		}
		at0.Status = stored(t, report.Status)
	}
}

func TestEvents(t *testing.T) {
	held := func(reason, message string) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{{
			Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		}}}
	}
	invalid := event.Warning("InvalidSchedule", "Schedule", at.ScheduleMessage)
	noShell := func(word string) event.Event {
		return event.Warning("NoShell", "Schedule", "the command gets the word \""+word+"\" as it is: no shell runs it; for a shell, use sh -c '...'")
	}
	for name, test := range map[string]struct {
		at   *testutil.AtBuilder
		pods []*corev1.Pod
		out  *at.Outcome
		want []event.Event
	}{
		"an At that is due when it is created enters two phases at once": {
			at: a(), pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), pod0).Obj()},
			want: []event.Event{phaseChange("PENDING"), phaseChange("RUNNING")},
		},
		"a run that has ended before its first report entered all phases": {
			at: a(), pods: []*corev1.Pod{succeeded().Obj()},
			want: []event.Event{phaseChange("PENDING"), phaseChange("RUNNING"), phaseChange("DONE")},
		},
		"a run that has ended before its record has also run": {
			at: a().Status(cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending}), pods: []*corev1.Pod{succeeded().Obj()},
			want: []event.Event{phaseChange("RUNNING"), phaseChange("DONE")},
		},
		"a deadline that has passed before the first report": {
			at: a().StartingDeadline(1),
			want: []event.Event{phaseChange("PENDING"), phaseChange("DONE"), event.Warning("MissedDeadline", "Run",
				"startingDeadlineSeconds (1) exceeded: the command was due at 2030-01-30T10:02:00Z and was not run")},
		},
		"a lost pod": {
			at: a().Recorded(1, pod0, pod0+"-uid"),
			want: []event.Event{phaseChange("DONE"), event.Warning("PodLost", "Run",
				"the pod disappeared before its result was recorded; the command is not run again. To run it, create another At")},
		},
		"an exceeded deadline": {
			at: a().ActiveDeadline(1).Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{ownPod().Obj()},
			want: []event.Event{phaseChange("DONE"), event.Warning("DeadlineExceeded", "Run", "the run took longer than 1 seconds")},
		},
		"a foreign pod": {
			at: a(), out: &at.Outcome{Conflicting: ownPod().Unowned().Obj()},
			want: []event.Event{phaseChange("PENDING"), phaseChange("DONE"), event.Warning("PodNameConflict", "Run",
				"pod a-pod exists and does not belong to this At: the operator does not touch it; delete the pod, or choose another name, and create the At again")},
		},
		"a phase that was set by hand is corrected": {
			at: a().Suspend().Status(cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone}), want: []event.Event{phaseChange("PENDING")},
		},
		"a success is two changes of phase, this is the second": {
			at: a().Recorded(1, pod0, pod0+"-uid"), pods: []*corev1.Pod{succeeded().Obj()},
			want: []event.Event{phaseChange("DONE")},
		},
		"an unusable schedule": {
			at: a().Schedule("x"), want: []event.Event{invalid, phaseChange("PENDING")},
		},
		"an unusable schedule, once only": {
			at: a().Schedule("x").Status(held("InvalidSchedule", at.ScheduleMessage)),
		},
		"an unusable schedule after something else": {
			at: a().Schedule("x").Status(held("FailedCreate", "quota")), want: []event.Event{invalid},
		},
		"an operator of a shell": {
			at: a().Command("echo a | wc"), want: []event.Event{noShell("|"), phaseChange("PENDING"), phaseChange("RUNNING")},
			pods: []*corev1.Pod{testutil.MakeAtPod(a().Obj(), pod0).Obj()},
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
			at: a().Status(held("FailedCreate", "quota")), out: rejected("no"),
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
			_, report := decide(at.Observation{At: test.at.Obj(), Pods: test.pods, LookedUp: sets.New(pod0), Now: due.Add(time.Minute)}, test.out)
			if diff := cmp.Diff(test.want, report.Events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScheduledTimeIsInTheRangeOfTheAPI(t *testing.T) {
	for schedule, want := range map[string]string{
		"2030-01-30T11:02:00.999+01:00": "2030-01-30T10:02:00Z",
		"0001-01-01T00:00:00Z":          "0001-01-01T00:00:01Z",
		"0000-01-01T00:00:00+23:59":     "0001-01-01T00:00:01Z",
		"9999-12-31T23:59:59-23:59":     "9999-12-31T23:59:59Z",
		"now + 999999999 weeks":         "9999-12-31T23:59:59Z",
		"tomorrow":                      "",
	} {
		at0 := a().Schedule(schedule).Suspend().Obj()
		_, report := decide(at.Observation{At: at0, Now: due}, nil)
		got := ""
		if s := stored(t, report.Status); s.ScheduledTime != nil {
			got = s.ScheduledTime.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", schedule, got, want)
		}
	}
}

func TestAFarScheduleNeitherOverflowsNorRuns(t *testing.T) {
	for _, schedule := range []string{"9999-12-31T23:59:59-23:59", "now + 999999999 weeks"} {
		got, report := decide(at.Observation{At: a().Schedule(schedule).Obj(), Now: due}, nil)
		if got.Create != "" || !report.RequeueAt.After(due.AddDate(1000, 0, 0)) || report.RequeueAt.Sub(due) < 0 {
			t.Errorf("%s: created %q, requeued at %s", schedule, got.Create, report.RequeueAt)
		}
	}
}

func TestADoneAtKeepsItsStatus(t *testing.T) {
	at0 := a().Obj()
	_, report := decide(at.Observation{At: at0, Pods: []*corev1.Pod{succeeded().Obj()}, Now: due.Add(time.Minute)}, nil)
	at0.Status = stored(t, report.Status)

	t.Run("when its spec is edited, but for the generation", func(t *testing.T) {
		edited := at0.DeepCopy()
		edited.Generation = 2
		edited.Spec.Schedule, edited.Spec.Suspend = "tomorrow", ptr.To(true)
		_, report := decide(at.Observation{At: edited, Now: due.Add(time.Hour)}, nil)
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
		_, report := decide(at.Observation{At: forged, Now: due.Add(time.Hour)}, nil)
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

func TestReadyBeforeTheStart(t *testing.T) {
	older := ownPod().Obj()
	older.OwnerReferences[0].UID = "older"
	for name, test := range map[string]struct {
		at             *testutil.AtBuilder
		out            at.Outcome
		ready, stalled bool
	}{
		"suspended":         {at: a().Suspend(), ready: true},
		"the name is taken": {at: a(), out: at.Outcome{Conflicting: older}},
		"unusable":          {at: a().Schedule("x"), stalled: true},
	} {
		c := at.MakeReport(at.Decided(at.Observation{At: test.at.Obj(), Now: due}), test.out).Status.Conditions
		if meta.IsStatusConditionTrue(c, "Ready") != test.ready || meta.IsStatusConditionTrue(c, "Stalled") != test.stalled {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// Without its start, the next reconcile would find that the deadline of the run is over.
func TestTheRecordOfARunStaysWithoutItsPod(t *testing.T) {
	record := func(s cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{StartTime: s.StartTime, PodName: s.PodName, PodUID: s.PodUID, Attempts: s.Attempts}
	}
	for name, test := range map[string]struct {
		at   *testutil.AtBuilder
		pods []*corev1.Pod
	}{
		"a failed pod was deleted before its retry": {at: a().BackoffLimit(1).ActiveDeadline(60).RetryRecorded(1, pod0, 15*time.Second)},
		"the pod is lost":              {at: a().Recorded(1, pod0, pod0+"-uid")},
		"the pod of the retry is lost": {a().BackoffLimit(1).Recorded(2, pod1, pod1+"-uid"), []*corev1.Pod{failed().Obj()}},
	} {
		at0 := test.at.Obj()
		o := at.Observation{At: at0, Pods: test.pods, LookedUp: sets.New(pod0, pod1), Now: due.Add(14 * time.Second)}
		if diff := cmp.Diff(record(at0.Status), record(at.MakeReport(at.Decided(o), at.Outcome{}).Status)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheTimeOfARetryIsInUTC(t *testing.T) {
	pod := ownPod().Phase(corev1.PodFailed).Exited("busybox", 3, "Error", "", due.Add(5*time.Second).In(time.FixedZone("CET", 3600))).Obj()
	_, report := decide(at.Observation{At: a().BackoffLimit(1).Obj(), Pods: []*corev1.Pod{pod}, Now: due.Add(6 * time.Second)}, nil)
	want := "attempt 1 of 2 failed: NonZeroExitCode: the command in pod a-pod ended with exit code 3; the next one is due at 2030-01-30T10:02:15Z"
	if c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled); c.Message != want {
		t.Errorf("got  %s\nwant %s", c.Message, want)
	}
}

// The pod is gone between the attempts, so the condition is the only record of why the first one failed.
func TestTheFailureOfAnAttemptIsKept(t *testing.T) {
	failure := "attempt 1 of 2 failed: PodFailed: pod a-pod was preempted; the next one is due at 2030-01-30T10:02:15Z"
	at0 := a().BackoffLimit(1).RetryRecorded(1, pod0, 15*time.Second)
	waits, ends := at0.Obj(), at0.Deleting().Obj()
	for _, each := range []*cnatv1alpha1.At{waits, ends} {
		each.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: metav1.ConditionTrue, Reason: "Started", Message: failure}}
	}
	_, report := decide(at.Observation{At: waits, Now: due.Add(6 * time.Second)}, nil)
	if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled).Message; got != failure {
		t.Errorf("while it waits: %s", got)
	}
	_, report = decide(at.Observation{At: ends, LookedUp: sets.New(pod1), Now: due.Add(6 * time.Second)}, nil)
	if got := report.Status.Conditions; !strings.HasSuffix(meta.FindStatusCondition(got, cnatv1alpha1.ConditionFailed).Message, failure) {
		t.Errorf("after it was deleted: %v", got)
	}
}

func TestARunThatIsNotRetriedSaysWhy(t *testing.T) {
	pods := []*corev1.Pod{running().Phase(corev1.PodFailed).Obj()}
	_, report := decide(at.Observation{At: a().BackoffLimit(1).Obj(), Pods: pods, Now: due.Add(time.Minute)}, nil)
	c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionFailed)
	want := "pod a-pod failed before its command was seen to end; it is not retried, because the command may have succeeded, or may still run"
	if c == nil || c.Message != want {
		t.Errorf("got  %+v\nwant %s", c, want)
	}
}

func TestAnUnchangedStatusIsACopy(t *testing.T) {
	at0 := a().Deleting().Status(finished).Obj()
	report := at.MakeReport(at.Decided(at.Observation{At: at0, Now: due}), at.Outcome{})
	if !equality.Semantic.DeepEqual(at0.Status, report.Status) || report.Status.CompletionTime == at0.Status.CompletionTime {
		t.Error("the status is not an equal copy")
	}
}

func TestALongRejectionIsCut(t *testing.T) {
	_, report := decide(at.Observation{At: a().Obj(), Now: due}, rejected(strings.Repeat("x", 40000)))
	c := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if len(c.Message) != 1024 || len(report.Events[0].Note) != 1024 {
		t.Errorf("got %d and %d bytes", len(c.Message), len(report.Events[0].Note))
	}
}

func TestConditionsOfOthersAreKept(t *testing.T) {
	foreign := metav1.Condition{Type: "example.com/Audited", Status: metav1.ConditionTrue, Reason: "Audited", LastTransitionTime: metav1.NewTime(testutil.AtDue)}
	owner := testutil.MakeAt("a").Obj()
	owner.Status.Conditions = []metav1.Condition{foreign}
	_, report := decide(at.Observation{At: owner, Now: testutil.AtDue.Add(-time.Minute)}, nil)
	if c := meta.FindStatusCondition(report.Status.Conditions, foreign.Type); c == nil || *c != foreign {
		t.Errorf("the condition of another controller is %v", c)
	}
}
