// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/redhat/podset-operator/internal/pods"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestPods(t *testing.T) {
	mk := func() *testutil.PodBuilder { return testutil.MakePod("x") }
	set := testutil.MakePodSet("a").Obj()
	initWaits := mk().Waiting("CrashLoopBackOff").Obj()
	initWaits.Status.InitContainerStatuses, initWaits.Status.ContainerStatuses = initWaits.Status.ContainerStatuses, nil
	notController := mk().OwnedBy(set).Obj()
	notController.OwnerReferences[0].Controller = ptr.To(false)
	type answers struct {
		Owner           string
		Finished, Ready bool
		Waiting         string
	}
	for title, tc := range map[string]struct {
		pod  *corev1.Pod
		want answers
	}{
		"a new pod":                         {mk().Obj(), answers{}},
		"a pod that an object controls":     {mk().OwnedBy(set).Obj(), answers{Owner: "a-uid"}},
		"a pod that an object only owns":    {notController, answers{}},
		"a pod that succeeded":              {mk().Finished(corev1.PodSucceeded, "").Obj(), answers{Finished: true}},
		"a pod that failed":                 {mk().Finished(corev1.PodFailed, "Evicted").Obj(), answers{Finished: true}},
		"a pod of an unknown phase":         {mk().Phase(corev1.PodUnknown).Obj(), answers{}},
		"a ready pod":                       {mk().Running().Obj(), answers{Ready: true}},
		"a pod that runs and is not ready":  {mk().Running().Unready().Obj(), answers{}},
		"a pod that no node can run":        {mk().Condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable").Obj(), answers{Waiting: "Unschedulable"}},
		"a pod on a node that is not ready": {mk().Condition(corev1.PodScheduled, corev1.ConditionTrue, "").Running().Unready().Obj(), answers{}},
		"a container waits on a node": {
			mk().Condition(corev1.PodScheduled, corev1.ConditionTrue, "").Waiting("CrashLoopBackOff").Obj(), answers{Waiting: "CrashLoopBackOff"},
		},
		"a pod whose containers are created":   {mk().Waiting("ContainerCreating").Obj(), answers{}},
		"a pod whose init containers run":      {mk().Waiting("PodInitializing").Obj(), answers{}},
		"a container that waits for no reason": {mk().Waiting("").Obj(), answers{}},
		"a pod whose image was not pulled":     {mk().Waiting("ErrImagePull").Obj(), answers{Waiting: "ImagePullBackOff"}},
		"the second of two containers waits":   {mk().Restarts(1).Waiting("CrashLoopBackOff").Obj(), answers{Waiting: "CrashLoopBackOff"}},
		"an init container waits":              {initWaits, answers{Waiting: "CrashLoopBackOff"}},
	} {
		got := answers{string(pods.OwnerUID(tc.pod)), pods.IsFinished(tc.pod), pods.IsReady(tc.pod), pods.WaitingReason(tc.pod)}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got): %s", title, diff)
		}
	}
}

func TestEarliest(t *testing.T) {
	one, two, never := testutil.Created, testutil.Created.Add(time.Second), time.Time{}
	// The wall clock went back by an hour after measured had been computed.
	now := testutil.WithMonotonic(testutil.Created, time.Minute)
	measured, stored := testutil.WithMonotonic(now.Add(time.Hour+2*time.Second), time.Minute+2*time.Second), now.Add(time.Hour).Round(0)
	for _, tc := range []struct {
		times []time.Time
		want  time.Time
	}{
		{[]time.Time{stored, measured}, measured}, {[]time.Time{measured, stored}, measured}, {nil, never}, {[]time.Time{never, never}, never}, {[]time.Time{one, two}, one},
		{[]time.Time{two, one}, one}, {[]time.Time{never, two}, two}, {[]time.Time{one, never}, one},
	} {
		if got := pods.Earliest(now, tc.times...); !got.Equal(tc.want) {
			t.Errorf("the earliest of %v is %v", tc.times, got)
		}
	}
}

func TestStampConditions(t *testing.T) {
	before := metav1.NewTime(testutil.Created)
	now := testutil.Created.Add(time.Hour + time.Millisecond)
	stamped := metav1.NewTime(testutil.Created.Add(time.Hour))
	foreign := func(name string) metav1.Condition {
		return metav1.Condition{Type: name, Status: metav1.ConditionTrue, LastTransitionTime: before, ObservedGeneration: 7}
	}
	stored := []metav1.Condition{
		foreign("Audited"),
		{Type: "Same", Status: metav1.ConditionTrue, LastTransitionTime: before, ObservedGeneration: 1, Message: "old"},
		{Type: "Changed", Status: metav1.ConditionTrue, LastTransitionTime: before, ObservedGeneration: 1},
		{Type: "Over", Status: metav1.ConditionTrue, LastTransitionTime: before, ObservedGeneration: 1},
		foreign("Billed"),
	}
	computed := []metav1.Condition{
		{Type: "Same", Status: metav1.ConditionTrue, Message: "new"},
		{Type: "Changed", Status: metav1.ConditionFalse},
		{Type: "New", Status: metav1.ConditionTrue, Message: strings.Repeat("é", 2000)},
	}
	own := sets.New("Same", "Changed", "New", "Over")
	want := []metav1.Condition{
		{Type: "Same", Status: metav1.ConditionTrue, LastTransitionTime: before, ObservedGeneration: 2, Message: "new"},
		{Type: "Changed", Status: metav1.ConditionFalse, LastTransitionTime: stamped, ObservedGeneration: 2},
		{Type: "New", Status: metav1.ConditionTrue, LastTransitionTime: stamped, ObservedGeneration: 2, Message: strings.Repeat("é", 510) + "..."},
		foreign("Audited"), foreign("Billed"),
	}
	if diff := cmp.Diff(want, pods.StampConditions(computed, stored, own, 2, now)); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
}

// A status with more conditions than the CRDs allow could not be written, so it would never change again.
func TestStampConditions_full(t *testing.T) {
	var stored []metav1.Condition
	for _, letter := range "ABCDEFGHIJKLMNOP" {
		stored = append(stored, metav1.Condition{Type: "Foreign" + string(letter)})
	}
	got := pods.StampConditions([]metav1.Condition{{Type: "New"}}, stored, sets.New("New"), 1, testutil.Created)
	var types []string
	for _, c := range got {
		types = append(types, strings.TrimPrefix(c.Type, "Foreign"))
	}
	if want := "New A B C D E F G H I J K L M N O"; strings.Join(types, " ") != want {
		t.Errorf("got %v, want %s", types, want)
	}
}

func TestNotReadyReason(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, message string) *corev1.Pod {
		pod := testutil.MakePod("x").Obj()
		pod.Status.Conditions = []corev1.PodCondition{{Type: kind, Status: status, Message: message}}
		return pod
	}
	for title, tc := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"nothing is known":                  {testutil.MakePod("x").Obj(), ""},
		"another condition is false":        {condition(corev1.PodReady, corev1.ConditionFalse, "containers"), ""},
		"it is ready to start":              {condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, ""), ""},
		"it is not ready to start":          {condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, ""), "a volume cannot be mounted, or the network is not ready; see the events of the pod"},
		"init containers have not finished": {condition(corev1.PodInitialized, corev1.ConditionFalse, "containers with incomplete status: [init]"), "containers with incomplete status: [init]"},
	} {
		if got := pods.NotReadyReason(tc.pod); got != tc.want {
			t.Errorf("%s: got %q, want %q", title, got, tc.want)
		}
	}
}

func TestWaitingMessage(t *testing.T) {
	scheduled := func(reason string, gates ...string) *corev1.Pod {
		pod := testutil.MakePod("x").Condition(corev1.PodScheduled, corev1.ConditionFalse, reason).Obj()
		pod.Status.Conditions[0].Message = "0/3 nodes are available"
		for _, gate := range gates {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
		}
		return pod
	}
	waiting := func(reason, message string) *corev1.Pod {
		pod := testutil.MakePod("x").Restarts(0).Waiting(reason).Obj()
		pod.Status.ContainerStatuses[1].State.Waiting.Message = message
		return pod
	}
	for title, tc := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"it has no node":                        {scheduled(corev1.PodReasonUnschedulable), "0/3 nodes are available"},
		"it has gates":                          {scheduled(corev1.PodReasonSchedulingGated, "example.com/a", "example.com/b"), "scheduling gate example.com/a, example.com/b"},
		"its gates were removed a moment ago":   {scheduled(corev1.PodReasonSchedulingGated), ""},
		"its containers are created":            {waiting("ContainerCreating", "network"), ""},
		"it has crashed":                        {waiting("CrashLoopBackOff", "back-off 5m0s restarting"), ""},
		"its configuration is missing":          {waiting("CreateContainerConfigError", `configmap "a" not found`), `configmap "a" not found`},
		"its image is missing":                  {waiting("ErrImagePull", "not found"), "not found"},
		"its image is missing, in the back-off": {waiting("ImagePullBackOff", `Back-off pulling image "a": ErrImagePull: not found`), "not found"},
	} {
		if got := pods.WaitingMessage(tc.pod); got != tc.want {
			t.Errorf("%s: got %q, want %q", title, got, tc.want)
		}
	}
}
