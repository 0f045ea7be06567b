// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	return violates(invariant, writes, events)
}

// violates replays events and reports whether an invariant did not hold.
func violates(invariant string, writes []Write, events []Event) bool {
	c := NewChecker(true, writes, nil)
	c.Replay(events)
	return slices.ContainsFunc(c.Violations, func(v Violation) bool { return v.Invariant == invariant })
}

func at(uid types.UID, status cnatv1alpha1.AtStatus) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid},
		Spec:       cnatv1alpha1.AtSpec{Schedule: UnusableSchedule, Command: "true"}, Status: status,
	}
}

func TestA7(t *testing.T) {
	pending := cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending}
	all := []client.Object{at("1", cnatv1alpha1.AtStatus{}), at("1", pending), at("1", pending), at("1", pending)}
	if violated("A7", map[int]bool{2: true, 3: true}, all...) {
		t.Error("two writes violate A7")
	}
	if !violated("A7", map[int]bool{2: true, 3: true, 4: true}, all...) {
		t.Error("three writes do not violate A7")
	}
}

// A user writes the phase, and then the operator deletes the At after its TTL.
func TestReplay_phase(t *testing.T) {
	done := cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultSucceeded, Reason: cnatv1alpha1.ReasonCompleted,
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
	}
	forged := done
	forged.Phase = cnatv1alpha1.PhaseRunning
	for _, tc := range []struct {
		kind watch.EventType
		verb string
		want bool
	}{{watch.Deleted, "delete", false}, {watch.Modified, "patch", true}} {
		objects := []*cnatv1alpha1.At{at("1", done), at("1", forged), at("1", forged)}
		var events []Event
		for i, object := range objects {
			object.SetResourceVersion(strconv.Itoa(i + 1))
			events = append(events, Event{Version: uint64(i + 1), Kind: watch.Modified, Object: object}) //nolint:gosec // small
		}
		events[2].Kind = tc.kind
		c := NewChecker(true, []Write{
			{Call: &Call{Verb: "patch", Resource: "ats"}, Code: 200, UID: "1", Version: "1"},
			{Call: &Call{Verb: tc.verb, Resource: "ats"}, Code: 200, UID: "1", Version: "3"},
		}, nil)
		c.Replay(events)
		violated := slices.ContainsFunc(c.Violations, func(v Violation) bool { return strings.Contains(v.What, "went from DONE") })
		if violated != tc.want {
			t.Errorf("%s: got %v", tc.verb, c.Violations)
		}
	}
}

func TestA6(t *testing.T) {
	pod := func(owners ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "a-pod", UID: "pod", OwnerReferences: owners},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		}
	}
	of := func(uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{Kind: "At", Name: "a", UID: uid, Controller: ptr.To(true)}
	}
	done := cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultSucceeded, PodUID: "pod", Reason: cnatv1alpha1.ReasonCompleted}
	for title, tc := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"its own pod":         {pod(of("2")), ""},
		"an earlier At's pod": {pod(of("1")), "A6"},
		"a foreign pod":       {pod(), "A9"},
	} {
		for _, invariant := range []string{"A6", "A9"} {
			if got := violated(invariant, map[int]bool{2: true}, tc.pod, at("2", done)); got != (invariant == tc.want) {
				t.Errorf("%s: %s is violated: %t", title, invariant, got)
			}
		}
	}
}

func TestA1_retry(t *testing.T) {
	lost := run(corev1.PodFailed, nil) // Its command may still run on a node that does not respond.
	lost.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	for title, tc := range map[string]struct {
		first *corev1.Pod
		want  bool
	}{
		"Pending":                    {run(corev1.PodPending, nil), true},
		"Running":                    {run(corev1.PodRunning, nil), true},
		"Succeeded":                  {run(corev1.PodSucceeded, nil), true},
		"Failed after exit code 0":   {run(corev1.PodFailed, ptr.To[int32](0)), true},
		"Failed on a lost node":      {lost, true},
		"Failed":                     {run(corev1.PodFailed, nil), false},
		"Failed after exit code 1":   {run(corev1.PodFailed, ptr.To[int32](1)), false},
		"exit code 1 before its end": {run(corev1.PodRunning, ptr.To[int32](1)), false},
	} {
		retried, second := at("at", cnatv1alpha1.AtStatus{}), run(corev1.PodPending, nil)
		retried.Spec.BackoffLimit = ptr.To[int32](1)
		second.Name, second.UID = "a-pod-1", "pod-1"
		if got := violated("A1", map[int]bool{2: true, 3: true}, retried, tc.first, second); got != tc.want {
			t.Errorf("%s: A1 is violated: %t", title, got)
		}
	}
}
