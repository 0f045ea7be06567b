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
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/testutil"
)

// ending is what the status says about an end.
type ending struct {
	Result   cnatv1alpha1.Result
	Reason   string
	ExitCode *int32
	Output   string
	Message  string // of the condition Complete or Failed
	At       time.Duration
}

func TestHowAPodEnds(t *testing.T) {
	exitedAt := due.Add(5 * time.Second)
	for name, test := range map[string]struct {
		at   *testutil.AtBuilder // nil: one without a template
		pod  *testutil.AtPodBuilder
		want ending // its zero value: not ended
	}{
		"exit code 0": {
			pod:  ownPod().Phase(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "done\n", exitedAt),
			want: ending{"Succeeded", "Completed", ptr.To[int32](0), "done\n", "the command in pod a-pod ended with exit code 0", 5 * time.Second},
		},
		"another exit code": {
			pod:  failed(),
			want: ending{"Failed", "NonZeroExitCode", ptr.To[int32](3), "", "the command in pod a-pod ended with exit code 3", 5 * time.Second},
		},
		"out of memory": {
			pod: ownPod().Phase(corev1.PodFailed).Exited("busybox", 137, "OOMKilled", "", exitedAt),
			want: ending{"Failed", "OOMKilled", ptr.To[int32](137), "",
				"the command in pod a-pod was killed with exit code 137: it used more memory than its limit", 5 * time.Second},
		},
		"no such command, says containerd": {
			pod: ownPod().Phase(corev1.PodFailed).Exited("busybox", 128, "StartError", `exec: "nosuch": not found`, exitedAt),
			want: ending{"Failed", "StartError", ptr.To[int32](128), `exec: "nosuch": not found`,
				`the command in pod a-pod could not be started (exit code 128): exec: "nosuch": not found`, 5 * time.Second},
		},
		"no such command, say others": {
			pod: ownPod().Phase(corev1.PodFailed).Exited("busybox", 127, "ContainerCannotRun", "not found", exitedAt),
			want: ending{"Failed", "StartError", ptr.To[int32](127), "not found",
				"the command in pod a-pod could not be started (exit code 127): not found", 5 * time.Second},
		},
		"the deadline of the pod, though the command exited with 0 when told to stop": {
			pod: ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "Pod was active on the node longer than the specified deadline").
				Exited("busybox", 0, "Completed", "", exitedAt),
			want: ending{"Failed", "PodFailed", ptr.To[int32](0), "",
				"pod a-pod failed: DeadlineExceeded: Pod was active on the node longer than the specified deadline", 5 * time.Second},
		},
		"evicted before it had a container": {
			pod:  ownPod().Phase(corev1.PodFailed).Because("Evicted", "The node was low on resource: memory."),
			want: ending{"Failed", "Evicted", nil, "", "pod a-pod failed: Evicted: The node was low on resource: memory.; the command did not run", time.Minute},
		},
		"refused by its node": {
			pod:  ownPod().Phase(corev1.PodFailed).Because("OutOfcpu", ""),
			want: ending{"Failed", "PodFailed", nil, "", "pod a-pod failed: OutOfcpu; the command did not run", time.Minute},
		},
		"an init container failed": {
			pod:  ownPod().Phase(corev1.PodFailed).InitExited("fetch", 2).Waiting("busybox", "PodInitializing"),
			want: ending{"Failed", "PodFailed", nil, "", "pod a-pod failed before its command was seen to end: container fetch ended with exit code 2 (Error); the command did not run", time.Minute},
		},
		"failed, and nobody knows why": {
			pod:  ownPod().Phase(corev1.PodFailed),
			want: ending{"Failed", "PodFailed", nil, "", "pod a-pod failed before its command was seen to end", time.Minute},
		},
		"succeeded, and no container is known": {
			pod:  ownPod().Phase(corev1.PodSucceeded),
			want: ending{"Succeeded", "Completed", ptr.To[int32](0), "", "the command in pod a-pod ended with exit code 0", time.Minute},
		},
		"the clock of the node is ahead": {
			pod:  ownPod().Phase(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "", due.Add(time.Hour)),
			want: ending{"Succeeded", "Completed", ptr.To[int32](0), "", "the command in pod a-pod ended with exit code 0", time.Minute},
		},
		"the clock of the node is behind": {
			pod:  ownPod().Phase(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "", due.Add(-time.Hour)),
			want: ending{"Succeeded", "Completed", ptr.To[int32](0), "", "the command in pod a-pod ended with exit code 0", time.Minute},
		},
		"an injected container comes first and fails: the command decides": {
			at: a().Template(nil, "main"),
			pod: ownPod().Phase(corev1.PodFailed).Exited("proxy", 1, "Error", "", due.Add(7*time.Second)).
				Exited("main", 0, "Completed", "", exitedAt),
			want: ending{"Succeeded", "Completed", ptr.To[int32](0), "", "the command in pod a-pod ended with exit code 0", 7 * time.Second},
		},
		"an injected container has 30 s to end after the command": {
			pod: ownPod().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due.Add(31*time.Second)).Runs("proxy"),
		},
		"an injected container that does not end keeps the run going no longer": {
			pod:  ownPod().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", exitedAt).Runs("proxy"),
			want: ending{"Succeeded", "Completed", ptr.To[int32](0), "", "the command in pod a-pod ended with exit code 0", 5 * time.Second},
		},
		"the template was edited after the pod was created": {
			at:   a().Template(nil, "proxy"),
			pod:  failed().Annotation(cnatv1alpha1.AnnotationContainer, "busybox").Exited("proxy", 0, "Completed", "", exitedAt),
			want: ending{"Failed", "NonZeroExitCode", ptr.To[int32](3), "", "the command in pod a-pod ended with exit code 3", 5 * time.Second},
		},
		"the kubelet has lost the container": {
			pod: ownPod().Phase(corev1.PodFailed).Exited("busybox", 137, "ContainerStatusUnknown", "The container could not be located", exitedAt),
			want: ending{"Failed", "PodFailed", nil, "",
				"the kubelet does not know how the command in pod a-pod ended: The container could not be located", 5 * time.Second},
		},
		"a node that is lost does not change how the command ended": {
			pod:  ownPod().Phase(corev1.PodRunning).Because("NodeLost", "").Terminating().Exited("busybox", 0, "Completed", "", exitedAt),
			want: ending{"Succeeded", "Completed", ptr.To[int32](0), "", "the command in pod a-pod ended with exit code 0", 5 * time.Second},
		},
		"the second init container failed": {
			pod:  ownPod().Phase(corev1.PodFailed).InitExited("first", 0).InitExited("second", 2),
			want: ending{"Failed", "PodFailed", nil, "", "pod a-pod failed before its command was seen to end: container second ended with exit code 2 (Error); the command did not run", time.Minute},
		},
		"an injected container used too much memory": {
			pod:  ownPod().Phase(corev1.PodFailed).Exited("proxy", 137, "OOMKilled", "", exitedAt),
			want: ending{"Failed", "PodFailed", nil, "", "pod a-pod failed before its command was seen to end: container proxy ended with exit code 137 (OOMKilled)", 5 * time.Second},
		},
		"failed with a message and without a reason": {
			pod:  ownPod().Phase(corev1.PodFailed).Because("", "the node shut down"),
			want: ending{"Failed", "PodFailed", nil, "", "pod a-pod failed before its command was seen to end: the node shut down", time.Minute},
		},
		"the deadline of the At": {
			at:  a().ActiveDeadline(30),
			pod: ownPod().Phase(corev1.PodFailed).Because("DeadlineExceeded", "").Exited("busybox", 143, "Error", "bye", exitedAt),
			want: ending{"Failed", "DeadlineExceeded", ptr.To[int32](143), "bye",
				"the run took longer than 30 seconds; last attempt: pod a-pod failed: DeadlineExceeded", 5 * time.Second},
		},
		"no container has the name": {
			at:   a().Template(nil, "renamed"),
			pod:  failed().Exited("proxy", 4, "Error", "", exitedAt),
			want: ending{"Failed", "PodFailed", nil, "", "pod a-pod failed before its command was seen to end: container busybox ended with exit code 3 (Error)", 5 * time.Second},
		},
		"being deleted, and the command has ended": {
			pod:  ownPod().Phase(corev1.PodRunning).Terminating().Exited("busybox", 143, "Error", "", exitedAt).Runs("proxy"),
			want: ending{"Failed", "NonZeroExitCode", ptr.To[int32](143), "", "the command in pod a-pod ended with exit code 143", 5 * time.Second},
		},
		"being deleted, and the command has not ended": {
			pod: running().Terminating(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.at == nil {
				test.at = a()
			}
			_, report := decide(at.Observation{At: test.at.Obj(), Pods: []*corev1.Pod{test.pod.Obj()}, Now: due.Add(time.Minute)}, nil)
			s := report.Status
			if at.IsDone(&s) != (s.Phase == cnatv1alpha1.PhaseDone) {
				t.Errorf("phase %s, but %q is no reason of an end", s.Phase, s.Reason)
			}
			got := ending{Result: s.Result, Reason: s.Reason, ExitCode: s.ExitCode, Output: s.Output}
			if s.CompletionTime != nil {
				got.At = s.CompletionTime.Sub(due)
			}
			for _, condition := range []string{cnatv1alpha1.ConditionComplete, cnatv1alpha1.ConditionFailed} {
				if c := meta.FindStatusCondition(s.Conditions, condition); c != nil {
					got.Message += c.Message
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("end (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheMessageOfALivePod(t *testing.T) {
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
		"nothing is known": {ownPod(), minute, "pod a-pod is waiting: ContainerCreating for more than a minute: see the events of the pod", "PodWaiting"},
		"the kubelet is about to end the pod": {
			ownPod().Phase(corev1.PodRunning).Exited("busybox", 3, "Error", "", due), 5*time.Second - 1, "pod a-pod was created", "Running",
		},
		"another container still runs": {
			ownPod().Phase(corev1.PodRunning).Exited("busybox", 0, "Completed", "", due).Runs("istio-proxy"), 5 * time.Second,
			"the command ended with exit code 0; container istio-proxy still runs", "ContainersRunning",
		},
		"other containers still run": {
			ownPod().Phase(corev1.PodRunning).Exited("busybox", 3, "Error", "", due).Runs("a").Runs("b"), 5 * time.Second,
			"the command ended with exit code 3; containers a, b still run", "ContainersRunning",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, report := decide(at.Observation{At: a().Obj(), Pods: []*corev1.Pod{test.pod.Obj()}, Now: due.Add(test.age)}, nil)
			if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionScheduled).Message; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionReady).Reason; got != test.ready {
				t.Errorf("the reason of Ready is %q, want %q", got, test.ready)
			}
		})
	}
}

// The pod is gone soon after, so the status is the only record of why it ended.
func TestTheDisruptionOfAPodIsKept(t *testing.T) {
	pod := ownPod().Phase(corev1.PodRunning).Terminating().Exited("busybox", 143, "Error", "", due).
		Condition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod").Obj()
	_, report := decide(at.Observation{At: a().Obj(), Pods: []*corev1.Pod{pod}, Now: due.Add(time.Minute)}, nil)
	want := "the command in pod a-pod ended with exit code 143; Kubernetes disrupted the pod: PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod"
	if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionFailed).Message; got != want || report.Events[len(report.Events)-1].Note != want {
		t.Errorf("got %q, events %v", got, report.Events)
	}
}

func TestTheCauseOfAMissedDeadlineIsNamed(t *testing.T) {
	late, absent := due.Add(time.Hour), map[string]*corev1.Pod{pod0: nil}
	observed := func(s *at.State, when time.Time, outcome at.Outcome) {
		s.Record(s.Observe(a().StartingDeadline(10).Obj(), nil, nil, when, at.Defaults{}), outcome, when)
	}
	for title, tc := range map[string]struct {
		before func(*at.State)
		want   string
	}{
		"the operator did not run": {func(*at.State) {}, ": the operator was not running then, or did not serve this namespace"},
		"a quota":                  {func(s *at.State) { observed(s, due, at.Outcome{Rejected: errors.New("exceeded quota")}) }, ": the last create was rejected: exceeded quota"},
		"not known":                {func(s *at.State) { observed(s, due, at.Outcome{}) }, ""},
	} {
		var s at.State
		tc.before(&s)
		report := at.MakeReport(s.Observe(a().StartingDeadline(10).Obj(), nil, absent, late, at.Defaults{}), at.Outcome{})
		want := "startingDeadlineSeconds (10) exceeded: the command was due at 2030-01-30T10:02:00Z and was not run" + tc.want
		if got := meta.FindStatusCondition(report.Status.Conditions, cnatv1alpha1.ConditionFailed).Message; got != want {
			t.Errorf("%s: got %q, want %q", title, got, want)
		}
	}
}

func TestOutputIsTheEndOfTheTerminationMessage(t *testing.T) {
	long := strings.Repeat("é", 1024)
	for name, test := range map[string]struct{ message, want string }{
		"2 KiB are kept":                       {long, long},
		"of more, the end":                     {"a\n" + long, long},
		"from a whole character on":            {long + "b", strings.Repeat("é", 1023) + "b"},
		"what is not UTF-8 is made so":         {"a\xffb", "a\uFFFDb"},
		"a broken character at the start also": {"\xa9" + long, long},
	} {
		t.Run(name, func(t *testing.T) {
			pod := ownPod().Phase(corev1.PodSucceeded).Exited("busybox", 0, "", test.message, due).Obj()
			_, report := decide(at.Observation{At: a().Obj(), Pods: []*corev1.Pod{pod}, Now: due}, nil)
			if got := report.Status.Output; got != test.want {
				t.Errorf("got %d bytes %.20q..., want %d bytes", len(got), got, len(test.want))
			}
		})
	}
}
