// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proof_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/testutil"
)

var (
	due = testutil.AtDue
	a   = func() *testutil.AtBuilder { return testutil.MakeAt("a") }
	pod = func(phase corev1.PodPhase) *testutil.AtPodBuilder {
		return testutil.MakeAtPod(a().Obj(), "a-pod").OnNode().Phase(phase)
	}
	exitedAt = due.Add(5 * time.Second)
)

// recorded returns an At whose status has recorded an exit code of the pod.
func recorded(code int32) *testutil.AtBuilder {
	status := a().Recorded(1, "a-pod", "a-pod-uid").Obj().Status
	status.ExitCode, status.Output = &code, "seen"
	return a().Status(status)
}

// lost returns the status of a container that the kubelet evicted and lost while it ran.
func lost(p *corev1.Pod) *corev1.Pod {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "busybox", RestartCount: 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}},
	}}
	return p
}

func sidecar(p *corev1.Pod, name string) *corev1.Pod {
	p.Spec.InitContainers = []corev1.Container{{Name: name, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
	return p
}

// withoutID removes the IDs of the containers that have ended.
func withoutID(p *corev1.Pod) *corev1.Pod {
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			if t := statuses[i].State.Terminated; t != nil {
				t.ContainerID = ""
			}
		}
	}
	return p
}

// created adds an ID to the container that waits: the runtime has created it.
func created(p *corev1.Pod) *corev1.Pod {
	p.Status.ContainerStatuses[0].ContainerID = "containerd://1"
	return p
}

// noProgram returns what runc says about a program that the image does not have.
func noProgram(name string) string {
	return `OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "` + name +
		`": executable file not found in $PATH`
}

// disrupted adds the condition of a pod that is drained.
func disrupted(p *corev1.Pod) *corev1.Pod {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "drain",
	})
	return p
}

// restartable makes an init container one that the kubelet restarts after a failure.
func restartable(p *corev1.Pod, name string) *corev1.Pod {
	p.Spec.InitContainers = []corev1.Container{{Name: name, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyOnFailure)}}
	return p
}

// The numbers are those in doc.go.
func TestEndOf(t *testing.T) {
	const failed, succeeded = corev1.PodFailed, corev1.PodSucceeded
	for name, test := range map[string]struct {
		at      *testutil.AtBuilder // or nil for one without a template
		pod     *corev1.Pod
		proof   proof.Proof
		code    *int32
		reason  string
		message string
	}{
		"1 exit code 3": {
			pod: pod(failed).Exited("busybox", 3, "Error", "", exitedAt).Obj(), proof: proof.Failed, code: ptr.To[int32](3),
			reason: "NonZeroExitCode", message: "the command in pod a-pod ended with exit code 3",
		},
		"1 out of memory": {
			pod: pod(failed).Exited("busybox", 137, "OOMKilled", "", exitedAt).Obj(), proof: proof.Failed, code: ptr.To[int32](137),
			reason: "OOMKilled", message: "the command in pod a-pod exceeded its memory limit and was killed with exit code 137",
		},
		"1 evicted, with an exit code": {
			pod: pod(failed).Because("Evicted", "low on memory").Exited("busybox", 143, "Error", "", exitedAt).Obj(), proof: proof.Failed, code: ptr.To[int32](143),
			reason: "Evicted", message: "pod a-pod failed: Evicted: low on memory; exit code 143 (SIGTERM)",
		},
		"1 drained": {
			pod: disrupted(pod(failed).Exited("busybox", 143, "Error", "", exitedAt).Obj()), proof: proof.Failed, code: ptr.To[int32](143),
			reason: "Evicted", message: "the command in pod a-pod ended with exit code 143 (SIGTERM); Kubernetes disrupted the pod: EvictionByEvictionAPI: drain",
		},
		"1 preempted by Kueue": {
			pod:   pod(failed).Exited("busybox", 137, "Error", "", exitedAt).Condition("TerminationTarget", corev1.ConditionTrue, "WorkloadEvictedDueToPreempted", "by b").Obj(),
			proof: proof.Failed, code: ptr.To[int32](137), reason: "Evicted",
			message: "the command in pod a-pod ended with exit code 137 (SIGKILL); Kubernetes disrupted the pod: WorkloadEvictedDueToPreempted: by b",
		},
		"1 deleted while it ran": {
			pod: pod(failed).Exited("busybox", 137, "Error", "", exitedAt).Terminating().Obj(), proof: proof.Failed, code: ptr.To[int32](137),
			reason: "NonZeroExitCode", message: "the command in pod a-pod ended with exit code 137 (SIGKILL); the pod was deleted",
		},
		"2 exit code 0": {
			pod: pod(succeeded).Exited("busybox", 0, "Completed", "done\n", exitedAt).Obj(), proof: proof.Succeeded, code: ptr.To[int32](0),
			reason: "Completed", message: "the command in pod a-pod ended with exit code 0",
		},
		"4 exit code 0 of an evicted pod": {
			pod: pod(failed).Because("Evicted", "disk").Exited("busybox", 0, "Completed", "", exitedAt).Obj(), code: ptr.To[int32](0),
			reason: "Evicted", message: "the command in pod a-pod ended with exit code 0, but was interrupted and may not have finished: the kubelet stopped the pod: Evicted: disk",
		},
		"4 exit code 0 of a pod that was preempted on its node": {
			pod: pod(failed).Because("Preempting", "for a critical pod").Exited("busybox", 0, "Completed", "", exitedAt).Obj(), code: ptr.To[int32](0), reason: "PodFailed",
			message: "the command in pod a-pod ended with exit code 0, but was interrupted and may not have finished: the kubelet stopped the pod: Preempting: for a critical pod",
		},
		"4 exit code 0 of a node that was shut down": {
			pod: pod(failed).Because("Terminated", "").Exited("busybox", 0, "Completed", "", exitedAt).Obj(), code: ptr.To[int32](0), reason: "PodFailed",
			message: "the command in pod a-pod ended with exit code 0, but was interrupted and may not have finished: the kubelet stopped the pod: Terminated",
		},
		"4 exit code 0 of a node that was shut down, in old releases": {
			pod: pod(failed).Because("NodeShutdown", "").Exited("busybox", 0, "Completed", "", exitedAt).Obj(), code: ptr.To[int32](0), reason: "PodFailed",
			message: "the command in pod a-pod ended with exit code 0, but was interrupted and may not have finished: the kubelet stopped the pod: NodeShutdown",
		},
		"4 exit code 0 of a drained pod": {
			pod: disrupted(pod(failed).Exited("busybox", 0, "Completed", "", exitedAt).Obj()), code: ptr.To[int32](0), reason: "PodFailed",
			message: "the command in pod a-pod ended with exit code 0, but was interrupted and may not have finished: Kubernetes disrupted the pod: EvictionByEvictionAPI: drain",
		},
		"2 recorded before the pod was evicted": {
			at: recorded(0), pod: pod(failed).Because("Evicted", "").Exited("busybox", 0, "Completed", "", exitedAt).Obj(), proof: proof.Succeeded, code: ptr.To[int32](0),
			reason: "Completed", message: "the command in pod a-pod ended with exit code 0",
		},
		"3 exit code 255": {
			pod: pod(failed).Exited("busybox", 255, "Error", "", exitedAt).Obj(), reason: "PodFailed",
			message: "the container runtime reported exit code 255 for the command in pod a-pod, which it also does if it does not know the exit code; the command may have run",
		},
		"1 exit code 255 that the user expects": {
			at: a().RetryExitCodes(255), pod: pod(failed).Exited("busybox", 255, "Error", "", exitedAt).Obj(), proof: proof.Failed, code: ptr.To[int32](255),
			reason: "NonZeroExitCode", message: "the command in pod a-pod ended with exit code 255",
		},
		"5 an init container that can be restarted failed": {
			pod:    restartable(pod(failed).InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj(), "fetch"),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container fetch ended with exit code 2 (Error); the command may have run",
		},
		"5 an init container failed with 255": {
			pod:    pod(failed).InitExited("fetch", 255).Waiting("busybox", "PodInitializing").Obj(),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container fetch ended with exit code 255 (Error); the command may have run",
		},
		"5 an init container failed, and the pod was evicted": {
			pod:    pod(failed).Because("Evicted", "disk").InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj(),
			reason: "Evicted", message: "pod a-pod failed: Evicted: disk; the command may have run",
		},
		"5 an init container failed, and PodGC ended the pod": {
			pod:    disrupted(pod(failed).InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj()),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container fetch ended with exit code 2 (Error); Kubernetes disrupted the pod: EvictionByEvictionAPI: drain; the command may have run",
		},
		"5 an init container failed, and another container was created": {
			pod:    created(pod(failed).InitExited("fetch", 2).Waiting("proxy", "PodInitializing").Waiting("busybox", "PodInitializing").Obj()),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container fetch ended with exit code 2 (Error); the command may have run",
		},
		"2 while a child was out of memory": {
			pod: pod(succeeded).Exited("busybox", 0, "OOMKilled", "", exitedAt).Obj(), proof: proof.Succeeded, code: ptr.To[int32](0),
			reason: "Completed", message: "the command in pod a-pod ended with exit code 0; a process of its container was killed at the memory limit",
		},
		"2 although another container failed": {
			at: a().Template(nil, "main"), pod: pod(failed).Exited("proxy", 1, "Error", "", exitedAt).Exited("main", 0, "Completed", "", exitedAt).Obj(),
			proof: proof.Succeeded, code: ptr.To[int32](0), reason: "Completed", message: "the command in pod a-pod ended with exit code 0",
		},
		"2 recorded before the container was lost": {
			at: recorded(0), pod: pod(failed).Because("Evicted", "").Exited("busybox", 137, "ContainerStatusUnknown", "", exitedAt).Obj(),
			proof: proof.Succeeded, code: ptr.To[int32](0), reason: "Completed", message: "the command in pod a-pod ended with exit code 0",
		},
		"1 recorded before another code was shown": {
			at: recorded(3), pod: pod(failed).Exited("busybox", 137, "Error", "", exitedAt).Obj(), proof: proof.Failed, code: ptr.To[int32](3),
			reason: "NonZeroExitCode", message: "the command in pod a-pod ended with exit code 3",
		},
		"5 exit code 0 at the deadline of the pod": {
			pod: pod(failed).Because("DeadlineExceeded", "too long").Exited("busybox", 0, "Completed", "", exitedAt).Obj(), code: ptr.To[int32](0),
			reason: "PodFailed", message: "the command in pod a-pod ended with exit code 0, but was interrupted and may not have finished: the pod was stopped by its activeDeadlineSeconds",
		},
		"3 an init container failed": {
			pod: pod(failed).InitExited("first", 0).InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj(), proof: proof.NotRun,
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container fetch ended with exit code 2 (Error); the command did not run",
		},
		"5 an init container ended without an ID": {
			pod:    withoutID(pod(failed).InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj()),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container fetch ended with exit code 2 (Error); the command may have run",
		},
		"5 a sidecar crashed while the command waited": {
			pod:    sidecar(pod(failed).InitExited("proxy", 1).Waiting("busybox", "PodInitializing").Obj(), "proxy"),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container proxy ended with exit code 1 (Error); the command may have run",
		},
		"5 an init container failed, and the command was created": {
			pod:    created(pod(failed).InitExited("fetch", 2).Waiting("busybox", "PodInitializing").Obj()),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container fetch ended with exit code 2 (Error); the command may have run",
		},
		"5 an init container failed, and nothing is known of the command": {
			pod:    pod(failed).InitExited("fetch", 2).Obj(),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container fetch ended with exit code 2 (Error); the command may have run",
		},
		"5 the start failed": {
			pod:    pod(failed).Exited("busybox", 128, "StartError", `exec: "nosuch": not found`, exitedAt).Obj(),
			reason: "StartError", message: `the command in pod a-pod failed to start (code 128): exec: "nosuch": not found; the command may have run`,
		},
		"5 a hook of the runtime failed": {
			pod: pod(failed).Exited("busybox", 128, "StartError", `error running hook: exec: "echo": executable file not found in $PATH`, exitedAt).Obj(), reason: "StartError",
			message: `the command in pod a-pod failed to start (code 128): error running hook: exec: "echo": executable file not found in $PATH; the command may have run`,
		},
		"5 another program was not found": {
			pod: pod(failed).Exited("busybox", 128, "StartError", noProgram("nosuch"), exitedAt).Obj(), reason: "StartError",
			message: "the command in pod a-pod failed to start (code 128): " + noProgram("nosuch") + "; the command may have run",
		},
		"5 the program was not found at the second start": {
			pod:    pod(failed).Exited("busybox", 128, "StartError", noProgram("echo"), exitedAt).Restarted(corev1.ContainerStateTerminated{}).Obj(),
			reason: "StartError", message: "the command in pod a-pod failed to start (code 128): " + noProgram("echo") + "; the command may have run",
		},
		"4 the program was not found": {
			pod: pod(failed).Exited("busybox", 128, "StartError", noProgram("echo"), exitedAt).Obj(), proof: proof.NotRun,
			reason: "StartError", message: "the command in pod a-pod failed to start (code 128): " + noProgram("echo") + "; the command did not run",
		},
		"5 a loss of power": {
			pod:    pod(failed).Exited("busybox", 255, "Unknown", "", exitedAt).Obj(),
			reason: "PodFailed", message: "it is unknown how the command in pod a-pod ended: code 255: Unknown; the command may have run",
		},
		"5 the kubelet lost the container": {
			pod:    pod(failed).Exited("busybox", 137, "ContainerStatusUnknown", "not located", exitedAt).Obj(),
			reason: "PodFailed", message: "it is unknown how the command in pod a-pod ended: code 137: ContainerStatusUnknown: not located; the command may have run",
		},
		"5 a virtual kubelet": {
			pod:    pod(failed).Because("ProviderFailed", "").Exited("busybox", -137, "NotFound", "", exitedAt).Obj(),
			reason: "PodFailed", message: "pod a-pod failed: ProviderFailed; the command may have run",
		},
		"5 a code that no process has": {
			pod:    pod(failed).Exited("busybox", 256, "Error", "", exitedAt).Obj(),
			reason: "PodFailed", message: "it is unknown how the command in pod a-pod ended: code 256: Error; the command may have run",
		},
		"5 a code without a container": {
			pod:    withoutID(pod(failed).Exited("busybox", 137, "Error", "", exitedAt).Obj()),
			reason: "PodFailed", message: "it is unknown how the command in pod a-pod ended: code 137: Error; the command may have run",
		},
		"5 evicted, and the container is lost": {
			pod:    lost(pod(failed).Because("Evicted", "disk. ").Obj()),
			reason: "Evicted", message: "pod a-pod failed: Evicted: disk.; the command may have run",
		},
		"5 rejected by its node": {
			pod: pod(failed).Because("OutOfcpu", "").Obj(), reason: "PodFailed", message: "pod a-pod failed: OutOfcpu; the command may have run",
		},
		"5 succeeded, and no container is known": {
			pod: pod(succeeded).Obj(), reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end; the command may have run",
		},
		"5 no container has the name": {
			at: a().Template(nil, "renamed"), pod: pod(failed).Exited("busybox", 3, "Error", "", exitedAt).Obj(),
			reason: "PodFailed", message: "pod a-pod ended before the operator saw its command end: container busybox ended with exit code 3 (Error); the command may have run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.at == nil {
				test.at = a()
			}
			got := proof.EndOf(test.at.Obj(), test.pod)
			if got.Proof != test.proof || !cmp.Equal(got.ExitCode, test.code) || got.Reason != test.reason || got.Text() != test.message {
				t.Errorf("got %+v, exit code %v", got, ptr.Deref(got.ExitCode, -1))
			}
		})
	}
}

func TestEndOfDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		last   *corev1.Pod
		proven bool
		proof  proof.Proof
		reason string
	}{
		"2 it had succeeded":                     {pod(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "", exitedAt).Obj(), true, proof.Succeeded, "Completed"},
		"1 its command had ended":                {pod(corev1.PodRunning).Exited("busybox", 143, "Error", "", exitedAt).Obj(), true, proof.Failed, "NonZeroExitCode"},
		"5 it had a node, and its command ran":   {pod(corev1.PodRunning).Runs("busybox").Obj(), false, proof.Unknown, ""},
		"5 it had a node, and nothing was known": {pod(corev1.PodPending).Obj(), false, proof.Unknown, ""},
		"5 there is no last state":               {nil, false, proof.Unknown, ""},
	} {
		got, proven := proof.EndOfDeleted(a().Obj(), test.last)
		if proven != test.proven || got.Proof != test.proof || got.Reason != test.reason {
			t.Errorf("%s: %+v, %t", name, got, proven)
		}
	}
	unbound := testutil.MakeAtPod(a().Obj(), "a-pod").Unschedulable().Obj()
	if got := proof.EndOfUnbound(unbound); got.Proof != proof.NotRun || got.Reason != "NotStarted" || got.Text() != "pod a-pod was deleted before it was bound to a node; the command did not run" {
		t.Errorf("%+v", got)
	}
}

func TestStartedAgain(t *testing.T) {
	first := corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", ContainerID: "containerd://1"}
	lost := corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}
	counted := func(b *testutil.AtPodBuilder) *corev1.Pod {
		return b.Restarted(corev1.ContainerStateTerminated{}).Obj()
	}
	runs := pod(corev1.PodRunning).Obj()
	for name, test := range map[string]struct {
		before, pod *corev1.Pod
		want        bool
	}{
		"it runs":                                 {nil, runs, false},
		"it ran before, and runs":                 {nil, pod(corev1.PodRunning).Runs("busybox").Restarted(first).Obj(), true},
		"it ran before, and ended":                {nil, pod(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "", exitedAt).Restarted(first).Obj(), true},
		"it was seen to run, and ended":           {runs, counted(pod(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "", exitedAt)), true},
		"the number of restarts alone":            {pod(corev1.PodPending).Obj(), counted(pod(corev1.PodSucceeded).Exited("busybox", 0, "Completed", "", exitedAt)), false},
		"a restart that was seen before":          {counted(pod(corev1.PodRunning).Runs("busybox")), counted(pod(corev1.PodRunning).Runs("busybox")), false},
		"it was evicted, and its container lost":  {runs, pod(corev1.PodFailed).Waiting("busybox", "ContainerCreating").Restarted(lost).Obj(), false},
		"it ran before, and could not be started": {nil, pod(corev1.PodFailed).Exited("busybox", 128, "StartError", "", exitedAt).Restarted(first).Obj(), false},
	} {
		if got := proof.StartedAgain(a().Obj(), test.before, test.pod); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCommandStarted(t *testing.T) {
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"nothing is known of a new pod":     {pod(corev1.PodPending).Obj(), false},
		"its image is pulled":               {pod(corev1.PodPending).Waiting("busybox", "ImagePullBackOff").Obj(), false},
		"another container runs":            {pod(corev1.PodRunning).Runs("proxy").Waiting("busybox", "ImagePullBackOff").Obj(), false},
		"it runs":                           {pod(corev1.PodRunning).Runs("busybox").Obj(), true},
		"the cache does not show that":      {pod(corev1.PodRunning).Obj(), true},
		"it ended":                          {pod(corev1.PodRunning).Exited("busybox", 0, "Completed", "", exitedAt).Obj(), true},
		"it runs before the pod is Running": {pod(corev1.PodPending).Runs("busybox").Obj(), true},
	} {
		if got := proof.CommandStarted(a().Obj(), test.pod); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestExitSeen(t *testing.T) {
	started := func(p *corev1.Pod, limit int64) *corev1.Pod {
		p.Status.StartTime, p.Spec.ActiveDeadlineSeconds = &p.CreationTimestamp, &limit
		return p
	}
	ends := func(code int32) *corev1.Pod {
		return pod(corev1.PodRunning).Exited("busybox", code, "Completed", "bye", exitedAt).Runs("proxy").Obj()
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want *int32
	}{
		"the command runs":                     {pod(corev1.PodRunning).Runs("busybox").Obj(), nil},
		"it exited with 0":                     {ends(0), ptr.To[int32](0)},
		"it exited with 0 before its deadline": {started(ends(0), 6), ptr.To[int32](0)},
		"it exited with 0 at its deadline":     {started(ends(0), 5), nil},
		"it exited with 3 at its deadline":     {started(ends(3), 5), ptr.To[int32](3)},
		"its end is not known":                 {pod(corev1.PodRunning).Exited("busybox", 255, "Unknown", "", exitedAt).Obj(), nil},
	} {
		got, output := proof.ExitSeen(a().Obj(), test.pod)
		if !cmp.Equal(got, test.want) || (output == "bye") != (got != nil) {
			t.Errorf("%s: %v, output %q", name, ptr.Deref(got, -1), output)
		}
	}
}

func TestEndOf_Output(t *testing.T) {
	long := strings.Repeat("é", 1024)
	for name, test := range map[string]struct{ message, want string }{
		"2 KiB are kept":                       {long, long},
		"of more, the end":                     {"a\n" + long, long},
		"from a whole character on":            {long + "b", strings.Repeat("é", 1023) + "b"},
		"what is not UTF-8 is made so":         {"a\xffb", "a\uFFFDb"},
		"a broken character at the start also": {"\xa9" + long, long},
	} {
		if got := proof.EndOf(a().Obj(), pod(corev1.PodSucceeded).Exited("busybox", 0, "Completed", test.message, due).Obj()).Output; got != test.want {
			t.Errorf("%s: got %d bytes %.20q..., want %d bytes", name, len(got), got, len(test.want))
		}
	}
}

func TestRecordedEnd(t *testing.T) {
	for code, reason := range map[int32]string{0: cnatv1alpha1.ReasonCompleted, 3: cnatv1alpha1.ReasonNonZeroExitCode} {
		if got, ok := proof.RecordedEnd(&recorded(code).Obj().Status); !ok || got.Reason != reason || *got.ExitCode != code || got.Output != "seen" {
			t.Errorf("exit code %d: %+v, %t", code, got, ok)
		}
	}
	if got, ok := proof.RecordedEnd(&a().Obj().Status); ok {
		t.Errorf("nothing is recorded: %+v", got)
	}
}

// TestAnyStarted has what shows that a pod may have a log.
func TestAnyStarted(t *testing.T) {
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"nothing is known of a new pod": {pod(corev1.PodPending).Obj(), false},
		"its containers are created":    {pod(corev1.PodPending).Waiting("busybox", "ContainerCreating").Obj(), false},
		"an init container has ended":   {pod(corev1.PodPending).InitExited("fetch", 0).Waiting("busybox", "PodInitializing").Obj(), true},
		"a proxy runs":                  {pod(corev1.PodPending).Runs("proxy").Waiting("busybox", "ImagePullBackOff").Obj(), true},
		"it crashed":                    {pod(corev1.PodPending).Waiting("proxy", "CrashLoopBackOff").Restarted(corev1.ContainerStateTerminated{}).Obj(), true},
		"it runs":                       {pod(corev1.PodRunning).Obj(), true},
	} {
		if got := proof.AnyStarted(test.pod); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
