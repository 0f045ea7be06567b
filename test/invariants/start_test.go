// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// replay replays changes, one per second, of which the operator wrote those in writes, by version. It reports whether an invariant did not
// hold.
func replay(invariant string, c *Checker, events []Event) bool {
	c.Replay(events)
	return slices.ContainsFunc(c.Violations, func(v Violation) bool { return v.Invariant == invariant })
}

// statusWrite is a write of the status of an At, and podWrite the create of a pod.
func statusWrite(version string, second int64) Write {
	at := time.Unix(second, 0)
	return Write{Call: &Call{Verb: "patch", Resource: "ats", Subresource: "status"}, Process: 1, Code: 200, UID: "at", Version: version, Sent: at, Clock: at}
}

func podWrite(uid types.UID, name string, second int64) Write {
	at := time.Unix(second, 0)
	return Write{Call: &Call{Verb: "create", Resource: "pods", Owner: "at", Requested: name}, Process: 1, Code: 200, UID: uid, Sent: at, Clock: at}
}

func TestA17(t *testing.T) {
	unbound := run(corev1.PodPending, nil)
	for title, tc := range map[string]struct {
		first *corev1.Pod
		run   *Run
		want  bool
	}{
		"it failed":                         {run(corev1.PodFailed, nil), &Run{Started: true, Code: ptr.To[int32](3)}, false},
		"it failed with another code":       {run(corev1.PodFailed, nil), &Run{Started: true, Code: ptr.To[int32](4)}, true},
		"it succeeded":                      {run(corev1.PodFailed, nil), &Run{Started: true, Code: ptr.To[int32](0)}, true},
		"it fails later":                    {run(corev1.PodFailed, nil), &Run{Started: true, Code: ptr.To[int32](3), Ended: time.Unix(9, 0)}, true},
		"nobody saw its end":                {run(corev1.PodFailed, ptr.To[int32](3)), &Run{Started: true}, true},
		"it was not started, and has ended": {run(corev1.PodFailed, nil), &Run{}, false},
		"it was not started, and may be":    {unbound, &Run{}, true},
	} {
		retried, second := at("at", cnatv1alpha1.AtStatus{}), run(corev1.PodPending, nil)
		retried.Spec.BackoffLimit, retried.Spec.RetryExitCodes = ptr.To[int32](1), []int32{3}
		second.Name, second.UID = "a-pod-1", "pod-1"
		c := NewChecker(true, []Write{podWrite("pod", "a-pod", 2), podWrite("pod-1", "a-pod-1", 3)}, nil)
		c.Runs = map[types.UID]*Run{"pod": tc.run}
		if got := replay("A17", c, changes(retried, tc.first, second)); got != tc.want {
			t.Errorf("%s: A17 is violated: %t", title, got)
		}
	}
}

// docs/at-most-once.md lists this exception: only the requested name of the pod is looked up.
func TestA1_renamed(t *testing.T) {
	for title, tc := range map[string]struct {
		first  Write
		second int64
		want   bool
	}{
		"the response was lost":                  {Write{Renamed: true, Fault: "lost"}, 2, false},
		"the response was lost some seconds ago": {Write{Renamed: true, Fault: "lost"}, 5, true},
		"the response arrived":                   {Write{Renamed: true}, 2, true},
		"the name is the requested one":          {Write{Fault: "lost"}, 2, true},
	} {
		first, again := run(corev1.PodPending, nil), run(corev1.PodPending, nil)
		again.Name, again.UID = "a-pod", "pod-1"
		write := podWrite("pod", "a-pod", 2)
		write.Renamed, write.Fault = tc.first.Renamed, tc.first.Fault
		c := NewChecker(true, []Write{write, podWrite("pod-1", "a-pod", tc.second)}, nil)
		if got := replay("A1", c, changes(at("at", cnatv1alpha1.AtStatus{}), first, again)); got != tc.want {
			t.Errorf("%s: A1 is violated: %t", title, got)
		}
	}
}

func TestA18(t *testing.T) {
	for title, tc := range map[string]struct {
		change   func(*cnatv1alpha1.At)
		attempts int32
		want     bool
	}{
		"it waits":               {func(*cnatv1alpha1.At) {}, 1, false},
		"two attempts at once":   {func(*cnatv1alpha1.At) {}, 2, true},
		"it is suspended":        {func(a *cnatv1alpha1.At) { a.Spec.Suspend = ptr.To(true) }, 1, true},
		"it is canceled":         {func(a *cnatv1alpha1.At) { a.Spec.Cancel = ptr.To(true) }, 1, true},
		"it is being deleted":    {func(a *cnatv1alpha1.At) { a.DeletionTimestamp = &metav1.Time{} }, 1, true},
		"cancel is false":        {func(a *cnatv1alpha1.At) { a.Spec.Cancel = ptr.To(false) }, 1, false},
		"nothing begins with it": {func(a *cnatv1alpha1.At) { a.Spec.Suspend = ptr.To(true) }, 0, false},
	} {
		waits, started := at("at", cnatv1alpha1.AtStatus{}), at("at", cnatv1alpha1.AtStatus{Attempts: tc.attempts})
		tc.change(waits)
		tc.change(started)
		if got := replay("A18", NewChecker(true, []Write{statusWrite("2", 2)}, nil), changes(waits, started)); got != tc.want {
			t.Errorf("%s: A18 is violated: %t", title, got)
		}
	}
}

func TestA19(t *testing.T) {
	check := func(change func(*Check)) Check {
		c := Check{Call: Call{Verb: "check", Owner: "at", Generation: 1}, Process: 1, Received: time.Unix(1, 0), Verdict: Accepted}
		change(&c)
		return c
	}
	for title, tc := range map[string]struct {
		checks []Check
		want   bool
	}{
		"it passed":                {[]Check{check(func(*Check) {})}, false},
		"nobody answered":          {[]Check{check(func(c *Check) { c.Verdict = NoAnswer })}, false},
		"it was rejected":          {[]Check{check(func(c *Check) { c.Verdict = Rejected })}, true},
		"it changes the identity":  {[]Check{check(func(*Check) {}), check(func(c *Check) { c.Verdict = Changed })}, true},
		"there was none":           {[]Check{}, true},
		"it came later":            {[]Check{check(func(c *Check) { c.Received = time.Unix(3, 0) })}, true},
		"of an older generation":   {[]Check{check(func(c *Check) { c.Generation = 0 })}, true},
		"of an earlier process":    {[]Check{check(func(c *Check) { c.Process = 0 })}, true},
		"more than an hour before": {[]Check{check(func(c *Check) { c.Received = time.Unix(-7200, 0) })}, true},
	} {
		waits, started := at("at", cnatv1alpha1.AtStatus{}), at("at", cnatv1alpha1.AtStatus{Attempts: 1})
		waits.Generation, started.Generation = 1, 1
		c := NewChecker(true, []Write{statusWrite("2", 2)}, nil)
		c.Checks = tc.checks
		if got := replay("A19", c, changes(waits, started)); got != tc.want {
			t.Errorf("%s: A19 is violated: %t", title, got)
		}
	}
}

func TestA19_status(t *testing.T) {
	for _, tc := range []struct {
		verdict           Verdict
		scheduled, reason string
		want              bool
	}{
		{Accepted, cnatv1alpha1.ReasonWaiting, cnatv1alpha1.ReasonWaiting, false},
		{Accepted, cnatv1alpha1.ReasonWaiting, cnatv1alpha1.ReasonWouldBeRejected, true},
		{NoAnswer, cnatv1alpha1.ReasonWaiting, cnatv1alpha1.ReasonNotChecked, false},
		{Rejected, cnatv1alpha1.ReasonWaiting, cnatv1alpha1.ReasonWaiting, true},
		{Rejected, cnatv1alpha1.ReasonSuspended, cnatv1alpha1.ReasonInvalidTemplate, false},
		{Changed, cnatv1alpha1.ReasonSuspended, cnatv1alpha1.ReasonSuspended, true},
		{Accepted, cnatv1alpha1.ReasonInvalidTemplate, cnatv1alpha1.ReasonInvalidTemplate, false},
	} {
		waits := at("at", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{
			{Type: cnatv1alpha1.ConditionScheduled, Reason: tc.scheduled}, {Type: cnatv1alpha1.ConditionReady, Reason: tc.reason},
		}})
		c := NewChecker(true, []Write{statusWrite("2", 2)}, nil)
		c.Checks = []Check{{Call: Call{Owner: "at"}, Process: 1, Verdict: tc.verdict}}
		if got := replay("A19", c, changes(at("at", cnatv1alpha1.AtStatus{}), waits)); got != tc.want {
			t.Errorf("%+v: A19 is violated: %t", tc, got)
		}
	}
}

func TestA19_backOff(t *testing.T) {
	for n, want := range map[int]bool{maxChecks: false, maxChecks + 1: true} {
		c := NewChecker(true, nil, nil)
		for i := range n {
			c.Checks = append(c.Checks, Check{Call: Call{Owner: "at"}, Received: time.Unix(int64(i), 0)})
		}
		if got := replay("A19", c, nil); got != want {
			t.Errorf("%d dry runs: A19 is violated: %t", n, got)
		}
	}
}

func TestA20(t *testing.T) {
	for title, tc := range map[string]struct {
		second int64
		clock  time.Duration
		want   bool
	}{
		"10 s after the failure":    {12, 0, false},
		"at once":                   {4, 0, true},
		"after a jump of the clock": {4, time.Hour, false},
	} {
		failed := at("at", cnatv1alpha1.AtStatus{Attempts: 1, RetryTime: &metav1.Time{Time: time.Unix(12, 0)}})
		second := run(corev1.PodPending, nil)
		second.Name, second.UID = "a-pod-1", "pod-1"
		create := podWrite("pod-1", "a-pod-1", tc.second)
		create.Clock = create.Clock.Add(tc.clock)
		c := NewChecker(true, []Write{statusWrite("2", 2), create}, nil)
		if got := replay("A20", c, changes(at("at", cnatv1alpha1.AtStatus{Attempts: 1}), failed, second)); got != tc.want {
			t.Errorf("%s: A20 is violated: %t", title, got)
		}
	}
}

func TestA11_exitCode(t *testing.T) {
	for title, tc := range map[string]struct {
		pod      *corev1.Pod
		deadline *int64
		recorded *int32
		want     bool
	}{
		"it is recorded":        {run(corev1.PodRunning, ptr.To[int32](3)), nil, ptr.To[int32](3), false},
		"it is not":             {run(corev1.PodRunning, ptr.To[int32](3)), nil, nil, true},
		"another one is":        {run(corev1.PodRunning, ptr.To[int32](3)), nil, ptr.To[int32](4), true},
		"0 is not":              {run(corev1.PodRunning, ptr.To[int32](0)), nil, nil, true},
		"0, and a deadline":     {run(corev1.PodRunning, ptr.To[int32](0)), ptr.To[int64](9), nil, false},
		"the pod does not show": {run(corev1.PodRunning, nil), nil, nil, false},
	} {
		tc.pod.Spec.ActiveDeadlineSeconds = tc.deadline
		status := cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning, Attempts: 1, PodUID: "pod", ExitCode: tc.recorded}
		c := NewChecker(true, []Write{statusWrite("2", 2)}, nil)
		c.Runs = map[types.UID]*Run{"pod": {Started: true, Code: exitCode(tc.pod)}}
		if got := replay("A11", c, changes(tc.pod, at("at", status))); got != tc.want {
			t.Errorf("%s: A11 is violated: %t", title, got)
		}
	}
}

func TestA11_stopped(t *testing.T) {
	for title, tc := range map[string]struct {
		pod  *corev1.Pod
		run  Run
		want bool
	}{
		"it runs":         {run(corev1.PodRunning, nil), Run{Started: true}, true},
		"it was not run":  {run(corev1.PodPending, nil), Run{}, false},
		"it has ended":    {run(corev1.PodRunning, ptr.To[int32](1)), Run{Started: true, Code: ptr.To[int32](1)}, false},
		"its node failed": {run(corev1.PodFailed, nil), Run{Started: true}, false},
	} {
		canceled := at("at", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultFailed, Reason: cnatv1alpha1.ReasonCanceled, PodUID: "pod"})
		canceled.Spec.Cancel = ptr.To(true)
		c := NewChecker(true, []Write{statusWrite("2", 2)}, nil)
		c.Runs = map[types.UID]*Run{"pod": &tc.run}
		if got := replay("A11", c, changes(tc.pod, canceled)); got != tc.want {
			t.Errorf("%s: A11 is violated: %t", title, got)
		}
	}
}

func TestP15(t *testing.T) {
	for title, tc := range map[string]struct {
		change Write
		owner  types.UID
		want   bool
	}{
		"admission renamed it":                            {Write{Renamed: true}, "set", true},
		"admission renamed it, and a user took it":        {Write{Renamed: true}, "", false},
		"admission removed the owner":                     {Write{Stripped: true}, "", true},
		"admission changed neither":                       {Write{}, "set", false},
		"admission renamed it, and the response was lost": {Write{Renamed: true, Fault: "lost"}, "set", false},
	} {
		set, pod := &appv1alpha1.PodSet{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "set"}}, run(corev1.PodRunning, nil)
		pod.OwnerReferences = nil
		if tc.owner != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "PodSet", Name: "a", UID: tc.owner, Controller: ptr.To(true)}}
		}
		write := podWrite("pod", "a-pod", 2)
		write.Owner, write.Renamed, write.Stripped, write.Fault = "set", tc.change.Renamed, tc.change.Stripped, tc.change.Fault
		c := NewChecker(true, []Write{write}, map[int]time.Time{1: time.Unix(1, 0)})
		c.FaultsEnded, c.End = time.Unix(2, 0), time.Unix(60, 0)
		if got := replay("P15", c, changes(set, pod)); got != tc.want {
			t.Errorf("%s: P15 is violated: %t", title, got)
		}
	}
}
