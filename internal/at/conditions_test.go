// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestMakeReport_message(t *testing.T) {
	notReady := func(pod *testutil.AtPodBuilder, condition corev1.PodConditionType, message string) *testutil.AtPodBuilder {
		return pod.Condition(condition, corev1.ConditionFalse, "", message)
	}
	const minute = time.Minute
	for name, test := range map[string]struct {
		pod   *testutil.AtPodBuilder
		age   time.Duration
		want  string
		ready string // the reason of the condition Ready
	}{
		"a new pod just starts":                        {ownPod(), 0, "pod a-pod was created", "Running"},
		"so does one whose container is being made":    {ownPod().Waiting("busybox", "ContainerCreating"), 59 * time.Second, "pod a-pod was created", "Running"},
		"and one whose init containers run":            {ownPod().Waiting("busybox", "PodInitializing").Waiting("x", ""), 0, "pod a-pod was created", "Running"},
		"and one that runs":                            {running(), time.Hour, "pod a-pod was created", "Running"},
		"the image cannot be pulled":                   {ownPod().Waiting("busybox", "ImagePullBackOff"), 0, "pod a-pod is waiting: ImagePullBackOff", "PodWaiting"},
		"the image cannot be pulled, the other word":   {ownPod().Waiting("busybox", "ErrImagePull"), 0, "pod a-pod is waiting: ImagePullBackOff", "PodWaiting"},
		"the image has no name":                        {ownPod().Waiting("busybox", "InvalidImageName"), 0, "pod a-pod is waiting: InvalidImageName", "PodWaiting"},
		"no node takes it, without counting the nodes": {ownPod().Unschedulable(), 0, "pod a-pod is waiting: Unschedulable", "PodWaiting"},
		"another container waits":                      {ownPod().Runs("busybox").Waiting("proxy", "CreateContainerError"), 0, "pod a-pod is waiting: CreateContainerError", "PodWaiting"},
		"a ConfigMap does not exist": {
			ownPod().WaitingWith("busybox", "CreateContainerConfigError", `configmap "c" not found`), 0,
			`pod a-pod is waiting: CreateContainerConfigError: configmap "c" not found`, "PodWaiting",
		},
		"a volume cannot be mounted": {
			notReady(ownPod().Waiting("busybox", "ContainerCreating"), corev1.PodReadyToStartContainers, ""), minute,
			"pod a-pod is waiting: ContainerCreating for more than a minute: a volume cannot be mounted, or the network is not ready; see the events of the pod", "PodWaiting",
		},
		"a sidecar never gets ready": {
			notReady(ownPod().Waiting("busybox", "PodInitializing"), corev1.PodInitialized, "containers with incomplete status: [proxy]"), minute,
			"pod a-pod is waiting: PodInitializing for more than a minute: containers with incomplete status: [proxy]", "PodWaiting",
		},
		"nothing is known":  {ownPod(), minute, "pod a-pod is waiting: ContainerCreating for more than a minute: see the events of the pod", "PodWaiting"},
		"a user deletes it": {running().Terminating(), 9 * time.Second, "pod a-pod was created", "Running"},
		"it was deleted, and does not end": {
			running().Terminating(), 10 * time.Second, "pod a-pod is being deleted, and its node has not confirmed that the command ended: it may still be running", "PodTerminating",
		},
		"its node does not respond": {
			running().Terminating().Condition(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"), 0,
			"pod a-pod is being deleted, and its node has not confirmed that the command ended: it may still be running; Kubernetes disrupted the pod: " +
				"DeletionByTaintManager: Taint manager: deleting due to NoExecute taint", "PodTerminating",
		},
		"the kubelet is about to end the pod": {
			ownPod().Phase(corev1.PodRunning).Exited("busybox", 3, "Error", "", due), 5*time.Second - 1, "pod a-pod was created", "Running",
		},
		"another container still runs": {
			ownPod().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due).Runs("istio-proxy"), 5 * time.Second,
			"the command ended with exit code 0; container istio-proxy is still running", "ContainersRunning",
		},
		"other containers still run": {
			ownPod().Phase(corev1.PodRunning).Exited("busybox", 3, "Error", "", due).Runs("a").Runs("b"), 5 * time.Second,
			"the command ended with exit code 3; containers a, b are still running", "ContainersRunning",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, report := decide(at.Observation{At: runs0().Obj(), Pods: []*corev1.Pod{test.pod.Obj()}, Now: due.Add(test.age)}, at.Outcome{})
			if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled).Message; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionReady).Reason; got != test.ready {
				t.Errorf("the reason of Ready is %q, want %q", got, test.ready)
			}
		})
	}
}

// The pod is removed soon after, so only the status still shows why it ended.
func TestMakeReport_disruption(t *testing.T) {
	pod := ownPod().Phase(corev1.PodRunning).Terminating().Exited("busybox", 143, "Error", "", due).
		Condition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod").Obj()
	_, report := decide(at.Observation{At: runs0().Obj(), Pods: []*corev1.Pod{pod}, Now: due.Add(time.Minute)}, at.Outcome{})
	want := "the command in pod a-pod ended with exit code 143; Kubernetes disrupted the pod: PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod"
	if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionFailed).Message; got != want || report.Events[len(report.Events)-1].Note != want {
		t.Errorf("got %q, events %v", got, report.Events)
	}
}

func TestMakeReport_missed(t *testing.T) {
	late := due.Add(time.Hour)
	observed := func(s *at.State, when time.Time, outcome at.Outcome) {
		o := s.Observe(at.Seen{At: a().StartingDeadline(10).Obj()}, when, at.Defaults{})
		s.Record(o, at.MakePlan(o), outcome, when)
	}
	for title, tc := range map[string]struct {
		before func(*at.State)
		want   string
	}{
		"the operator did not run": {func(*at.State) {}, ": the operator was not running at that time, or did not serve this namespace"},
		"a quota":                  {func(s *at.State) { observed(s, due, at.Outcome{Rejected: errors.New("exceeded quota")}) }, ": the last create was rejected: exceeded quota"},
		"not known":                {func(s *at.State) { observed(s, due, at.Outcome{Answer: &at.Answer{}}) }, ""},
	} {
		var s at.State
		tc.before(&s)
		o := s.Observe(at.Seen{At: a().StartingDeadline(10).Obj()}, late, at.Defaults{})
		report := at.MakeReport(o, at.MakePlan(o), at.Outcome{})
		want := "startingDeadlineSeconds (10) exceeded: the command was due at 2030-01-30T10:02:00Z and was not run" + tc.want
		if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionFailed).Message; got != want {
			t.Errorf("%s: got %q, want %q", title, got, want)
		}
	}
}
