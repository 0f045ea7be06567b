// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// changes returns the events of changes, one in each second. It sets the resource versions, from 1.
func changes(objects ...client.Object) []Event {
	var events []Event
	for i, object := range objects {
		version := i + 1
		object.SetResourceVersion(strconv.Itoa(version))
		events = append(events, Event{Version: uint64(version), Kind: watch.Modified, Object: object, Seen: time.Unix(int64(version), 0)}) //nolint:gosec // small
	}
	return events
}

// violated replays changes, of which the operator wrote those in ours, and reports whether an invariant did not hold.
func violated(invariant string, ours map[int]bool, objects ...client.Object) bool {
	events := changes(objects...)
	var writes []Write
	for i, object := range objects {
		version := i + 1
		if ours[version] {
			call := &Call{Verb: "patch", Resource: "ats", Subresource: "status"}
			if _, ok := object.(*corev1.Pod); ok {
				call = &Call{Verb: "create", Resource: "pods"}
			}
			writes = append(writes, Write{Call: call, Code: 200, UID: object.GetUID(), Version: object.GetResourceVersion(), Clock: time.Unix(int64(version), 0)})
		}
	}
	return replay(invariant, NewChecker(true, writes, nil), events)
}

func at(uid types.UID, status cnatv1alpha1.AtStatus) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid},
		Spec:       cnatv1alpha1.AtSpec{Schedule: UnusableSchedule, Command: "true"}, Status: status,
	}
}

// replay replays events and reports whether an invariant did not hold.
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

func TestA19(t *testing.T) {
	for title, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{"it has its gate": {gated(), false}, "it has none": {run(corev1.PodPending, nil), true}} {
		c := NewChecker(true, []Write{podWrite("pod", "a-pod", 1), statusWrite("3", 3)}, nil)
		started := at("at", cnatv1alpha1.AtStatus{Attempts: 1, PodUID: "pod"})
		if got := replay("A19", c, changes(at("at", cnatv1alpha1.AtStatus{}), tc.pod, started)); got != tc.want {
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

// patchWrite is a patch of a pod by the operator, and gated a pod with the operator's gate.
func patchWrite(version string, second int64, change Call) Write {
	at := time.Unix(second, 0)
	change.Verb, change.Resource, change.Precondition = "patch", "pods", "pod"
	return Write{Call: &change, Process: 1, Code: 200, UID: "pod", Version: version, Sent: at, Clock: at}
}

func gated() *corev1.Pod {
	pod := run(corev1.PodPending, nil)
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{gate}
	return pod
}

func TestA21(t *testing.T) {
	for title, tc := range map[string]struct {
		recorded types.UID
		creates  bool
		want     bool
	}{
		"the recorded pod":      {"pod", true, false},
		"a pod of no status":    {"", true, true},
		"another pod":           {"other", true, true},
		"a pod that a user has": {"pod", false, true},
	} {
		writes := []Write{patchWrite("3", 3, Call{Opens: true})}
		if tc.creates {
			writes = append(writes, podWrite("pod", "a-pod", 1))
		}
		opened, status := run(corev1.PodPending, nil), cnatv1alpha1.AtStatus{Attempts: 1, PodUID: tc.recorded}
		if got := replay("A21", NewChecker(true, writes, nil), changes(gated(), at("at", status), opened)); got != tc.want {
			t.Errorf("%s: A21 is violated: %t", title, got)
		}
	}
}

func TestP4_patch(t *testing.T) {
	for title, tc := range map[string]struct {
		change func(*corev1.Pod)
		call   Call
		want   bool
	}{
		"it opens":                  {func(p *corev1.Pod) { p.Spec.SchedulingGates = nil }, Call{Opens: true}, false},
		"it stops":                  {func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) }, Call{Stops: true}, false},
		"it changes something else": {func(p *corev1.Pod) { p.Spec.NodeName = "node" }, Call{Opens: true}, true},
		"it adds a gate":            {func(p *corev1.Pod) { p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, gate) }, Call{Opens: true}, true},
		"it is for neither purpose": {func(*corev1.Pod) {}, Call{}, true},
	} {
		changed := gated()
		tc.change(changed)
		writes := []Write{podWrite("pod", "a-pod", 1), patchWrite("3", 3, tc.call)}
		if got := replay("P4", NewChecker(true, writes, nil), changes(gated(), at("at", cnatv1alpha1.AtStatus{PodUID: "pod"}), changed)); got != tc.want {
			t.Errorf("%s: P4 is violated: %t", title, got)
		}
	}
}

func TestA22(t *testing.T) {
	says := []metav1.Condition{{Message: "pod a-pod was not scheduled; the command did not run"}}
	for title, tc := range map[string]struct {
		status cnatv1alpha1.AtStatus
		ran    bool
		want   bool
	}{
		"it ran":                 {cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Attempts: 1, Conditions: says}, true, true},
		"it did not run":         {cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Attempts: 1, Conditions: says}, false, false},
		"it missed its deadline": {cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Reason: cnatv1alpha1.ReasonMissedDeadline}, true, true},
		"another attempt ran":    {cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Attempts: 2, Conditions: says}, true, false},
		"nothing is said":        {cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Attempts: 1}, true, false},
	} {
		c := NewChecker(true, []Write{podWrite("pod", "a-pod", 1), statusWrite("3", 3)}, nil)
		c.Runs = map[types.UID]*Run{"pod": {Started: tc.ran}}
		if got := replay("A22", c, changes(at("at", cnatv1alpha1.AtStatus{Attempts: 1}), run(corev1.PodPending, nil), at("at", tc.status))); got != tc.want {
			t.Errorf("%s: A22 is violated: %t", title, got)
		}
	}
}

func TestA23(t *testing.T) {
	for title, tc := range map[string]struct {
		first *corev1.Pod
		want  bool
	}{
		"it runs":       {run(corev1.PodRunning, nil), true},
		"it has failed": {run(corev1.PodFailed, nil), false},
	} {
		second := run(corev1.PodPending, nil)
		second.UID, second.OwnerReferences[0].UID = "pod-1", "at-1"
		create := podWrite("pod-1", "a-pod", 104)
		create.Owner = "at-1"
		c := NewChecker(true, []Write{podWrite("pod", "a-pod", 2), create}, nil)
		if got := replay("A23", c, changes(at("at", cnatv1alpha1.AtStatus{}), tc.first, at("at-1", cnatv1alpha1.AtStatus{}), second)); got != tc.want {
			t.Errorf("%s: A23 is violated: %t", title, got)
		}
	}
}

func TestA24(t *testing.T) {
	for title, tc := range map[string]struct {
		stops bool
		grace int64
		bound string
		want  bool
	}{
		"it was not stopped":           {false, 0, "node", true},
		"its grace period is over":     {true, 0, "node", false},
		"its grace period is not over": {true, 30, "node", true},
		"it was never bound":           {false, 30, "", false},
	} {
		pods := []*corev1.Pod{run(corev1.PodRunning, nil), run(corev1.PodRunning, nil), run(corev1.PodRunning, nil)}
		for _, pod := range pods {
			pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = tc.bound, &tc.grace
		}
		create, deletion := podWrite("pod", "a-pod", 2), patchWrite("4", 20, Call{})
		create.Gated, deletion.Verb = true, "delete"
		writes := []Write{create, deletion}
		if tc.stops {
			pods[1].Spec.ActiveDeadlineSeconds, pods[2].Spec.ActiveDeadlineSeconds = ptr.To[int64](1), ptr.To[int64](1)
			writes = append(writes, patchWrite("3", 3, Call{Stops: true}))
		}
		pods[2].DeletionTimestamp = &metav1.Time{}
		events := changes(at("at", cnatv1alpha1.AtStatus{PodUID: "pod"}), pods[0], pods[1], pods[2])
		events[3].Seen = time.Unix(20, 0)
		if got := replay("A24", NewChecker(true, writes, nil), events); got != tc.want {
			t.Errorf("%s: A24 is violated: %t", title, got)
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
