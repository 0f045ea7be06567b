// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/podlog"
)

// start does what the operator and the kubelet do: it makes the pod of an attempt, and records it. The pod logs some
// text.
func (s *shell) start(name, pod string, attempts int32, logs string) *corev1.Pod {
	s.Helper()
	created := s.create(name, pod, attempts)
	s.record(name, created, attempts, logs)
	s.bind(created)
	return created
}

// create makes the pod of an attempt, behind gates.
func (s *shell) create(name, pod string, attempts int32, gates ...string) *corev1.Pod {
	s.Helper()
	created := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: pod, Labels: map[string]string{cnatv1alpha1.LabelAt: name},
			Annotations:     map[string]string{cnatv1alpha1.AnnotationContainer: "busybox", cnatv1alpha1.AnnotationAttempt: fmt.Sprint(attempts)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.at(name), atKind)},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "fetch", Image: "c"}},
			Containers:     []corev1.Container{{Name: "webhooks", Image: "a"}, {Name: "busybox", Image: "b"}},
		},
	}
	for _, gate := range gates {
		created.Spec.SchedulingGates = append(created.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}
	if err := admin.Create(s.Context(), created); err != nil {
		s.Fatal(err)
	}
	return created
}

// record writes the start of an attempt into the status.
func (s *shell) record(name string, pod *corev1.Pod, attempts int32, logs string) {
	s.Helper()
	kubelet.set(s.namespace+"/"+pod.Name+"/busybox", logs, logs)
	s.setStatus(name, cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning, Attempts: attempts, PodName: pod.Name, PodUID: pod.UID})
}

// bind does what the scheduler does.
func (s *shell) bind(pod *corev1.Pod) {
	s.Helper()
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	if err := admin.SubResource("binding").Create(s.Context(), pod, binding); err != nil {
		s.Fatal(err)
	}
	if err := admin.Get(s.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		s.Fatal(err)
	}
}

// awaitAt waits until an At exists.
func (s *shell) awaitAt(name string) {
	s.Helper()
	if err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.run("", "cat", name).code == 0, nil
	}); err != nil {
		s.Fatal(err)
	}
}

// end does what the operator does when a run has ended.
func (s *shell) end(name string, result cnatv1alpha1.Result, reason string, exit *int32) {
	s.Helper()
	status := s.at(name).Status
	status.Phase, status.Result, status.Reason, status.ExitCode = cnatv1alpha1.PhaseDone, result, reason, exit
	status.CompletionTime = ptr.To(metav1.NewTime(s.now))
	s.setStatus(name, status)
}

// setState does what the kubelet does.
func (s *shell) setState(pod *corev1.Pod, state corev1.ContainerState) {
	s.Helper()
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: state}}
	if err := admin.Status().Update(s.Context(), pod); err != nil {
		s.Fatal(err)
	}
}

// lines are what a command that runs has printed.
type lines struct {
	test    *testing.T
	printed chan string
}

func (l lines) expect(want string) {
	l.test.Helper()
	select {
	case got, open := <-l.printed:
		if got != want || !open {
			l.test.Fatalf("got %q, want %q", got, want)
		}
	case <-time.After(45 * time.Second):
		l.test.Fatalf("got nothing, want %q", want)
	}
}

// background runs a command until it ends by itself, with both outputs in one.
func (s *shell) background(ctx context.Context, args ...string) (lines, chan error) {
	return s.backgroundTo(ctx, nil, args...)
}

// backgroundTo is background with a writer for standard output. The lines are those of standard error.
func (s *shell) backgroundTo(ctx context.Context, out io.Writer, args ...string) (lines, chan error) {
	reader, writer := io.Pipe()
	if out == nil {
		out = writer
	}
	cmd := newCommand(genericiooptions.IOStreams{Out: out, ErrOut: writer}, clocktesting.NewFakeClock(s.now))
	cmd.SetArgs(append(s.flags(), args...))
	done := make(chan error, 1)
	go func() {
		done <- cmd.ExecuteContext(ctx)
		_ = writer.Close()
	}()
	printed := make(chan string, 100)
	go func() {
		defer close(printed)
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			printed <- scanner.Text()
		}
	}()
	return lines{s.T, printed}, done
}

// endOf waits for the end of a command.
func endOf(ended chan error) error {
	select {
	case err := <-ended:
		return err
	case <-time.After(30 * time.Second):
		return errors.New("the command does not end")
	}
}

func TestWait_logs(t *testing.T) {
	s := newShell(t)
	output, ended := s.background(t.Context(), "now", "--name", "a", "--retries", "1", "--wait", "--", "true")
	output.expect("at/a runs at Sat 21 Nov 2026 16:48 CET (now)")
	s.setStatus("a", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{{
		Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonFailedCreate, Message: "exceeded quota",
		LastTransitionTime: metav1.NewTime(s.now),
	}}})
	output.expect("at/a waits: FailedCreate: exceeded quota")
	pod := s.start("a", "a-pod", 1, "first line\nsecond line\n")
	status := s.at("a").Status
	for _, message := range []string{"no such image", "no such image"} {
		status.ObservedGeneration++ // an event without news
		status.Conditions = []metav1.Condition{{Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonPodWaiting, Message: message, LastTransitionTime: metav1.NewTime(s.now)}}
		s.setStatus("a", status)
	}
	output.expect("at/a waits: PodWaiting: no such image")
	s.setState(pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	output.expect("first line")
	output.expect("second line")
	s.setState(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}})
	status.RetryTime = ptr.To(metav1.NewTime(s.now.Add(10 * time.Second)))
	status.Conditions[0].Reason, status.Conditions[0].Message = cnatv1alpha1.ReasonBackOff, "attempt 1 of 2 failed"
	s.setStatus("a", status)
	output.expect("at/a waits: BackOff: attempt 1 of 2 failed")
	retry := s.start("a", "a-pod-1", 2, "again\n")
	s.setState(retry, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}})
	output.expect("again")
	s.end("a", cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3))
	if err := endOf(ended); err == nil || err.Error() != "error: at/a failed: NonZeroExitCode, exit code 3" {
		t.Errorf("got %v", err)
	}

	s.expect(result{out: "again\n"}, "", "logs", "a")
	s.expect(result{out: "again\n"}, "", "logs", "-f", "a")
	s.expect(result{out: "first line\nsecond line\n"}, "", "logs", "a", "--attempt", "1")
	s.expect(result{out: "first line\nsecond line\n"}, "", "logs", "a", "--attempt", "1", "-f")
	s.expect(result{errOut: "invalid --attempt 3: at/a has the attempts 1 to 2\n", code: 1}, "", "logs", "a", "--attempt", "3")
	s.expect(result{errOut: "invalid --attempt 3: at/a has the attempts 1 to 2\n", code: 1}, "", "logs", "-f", "a", "--attempt", "3")
	s.expect(result{errOut: "invalid --attempt 0: must be 1 or more\n", code: 1}, "", "logs", "-f", "a", "--attempt", "0")
	if err := admin.Delete(t.Context(), retry, &deleteNow); err != nil {
		t.Fatal(err)
	}
	s.expect(result{errOut: "Warning: attempt 2 of at/a: the pod is gone, and its log with it: pod/a-pod-1\nthe log of at/a may be incomplete\n", code: 1}, "", "logs", "-f", "a")
}

func TestHasStarted(t *testing.T) {
	waiting := corev1.ContainerStatus{Name: "busybox", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	runs := corev1.ContainerStatus{Name: "busybox", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	other := corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	for title, tc := range map[string]struct {
		status corev1.PodStatus
		want   bool
	}{
		"a new pod":               {},
		"the command waits":       {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting, other}}, false},
		"the command runs":        {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{runs}}, true},
		"the pod never got there": {corev1.PodStatus{Phase: corev1.PodFailed}, true},
	} {
		if got := hasStarted(&cnatv1alpha1.At{}, &corev1.Pod{Status: tc.status}); got != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}

func TestHeldBy(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason, message string) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{Conditions: []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message}}}
	}
	for want, status := range map[string]cnatv1alpha1.AtStatus{
		"":                               condition(cnatv1alpha1.ConditionReady, metav1.ConditionFalse, cnatv1alpha1.ReasonRunning, "it runs"),
		"Suspended":                      condition(cnatv1alpha1.ConditionScheduled, metav1.ConditionFalse, cnatv1alpha1.ReasonSuspended, ""),
		"PodWaiting: gate x":             condition(cnatv1alpha1.ConditionReady, metav1.ConditionFalse, cnatv1alpha1.ReasonPodWaiting, "gate x"),
		"BackOff: attempt 1 of 2 failed": condition(cnatv1alpha1.ConditionReady, metav1.ConditionFalse, cnatv1alpha1.ReasonBackOff, "attempt 1 of 2 failed"),
	} {
		if got := heldBy(&cnatv1alpha1.At{Status: status}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWait_output(t *testing.T) {
	s := newShell(t)
	var out bytes.Buffer
	output, ended := s.backgroundTo(t.Context(), &out, "now", "--name", "a", "--wait", "--", "dump")
	output.expect("at/a runs at Sat 21 Nov 2026 16:48 CET (now)")
	s.setState(s.start("a", "a-pod", 1, "create table a;\n"), corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	s.end("a", cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0))
	if err := endOf(ended); err != nil || out.String() != "create table a;\n" {
		t.Errorf("got %q and %v", out.String(), err)
	}
}

// Standard output has the end of the At, and nothing else.
func TestWait_outputOfEnd(t *testing.T) {
	s := newShell(t)
	var out bytes.Buffer
	output, ended := s.backgroundTo(t.Context(), &out, "now", "--name", "a", "--wait", "--outcome-codes", "-o", "jsonpath={.status.exitCode}", "--", "dump")
	output.expect("at/a runs at Sat 21 Nov 2026 16:48 CET (now)")
	pod := s.start("a", "a-pod", 1, "create table a;\n")
	kubelet.remove(s.namespace + "/a-pod/busybox")
	s.setState(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	output.expect("Warning: attempt 1 of at/a: the server could not find the requested resource ( pods/log a-pod)")
	s.end("a", cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0))
	if err := endOf(ended); err != nil || out.String() != "0" {
		t.Errorf("got %q and %v", out.String(), err)
	}
}

// The exit code of the command counts more than its log.
func TestWait_unreadableLog(t *testing.T) {
	s := newShell(t)
	for name, want := range map[string]string{"failed": "error: at/failed failed: NonZeroExitCode, exit code 3", "succeeded": "at/succeeded succeeded, but its log may be incomplete"} {
		output, ended := s.background(t.Context(), "now", "--name", name, "--wait", "-q", "--", "true")
		s.awaitAt(name)
		pod := s.start(name, name+"-pod", 1, "")
		kubelet.remove(s.namespace + "/" + name + "-pod/busybox")
		s.setState(pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		output.expect("Warning: attempt 1 of at/" + name + ": the server could not find the requested resource ( pods/log " + name + "-pod)")
		result, reason, exit := cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)
		if name == "failed" {
			result, reason, exit = cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3)
		}
		s.end(name, result, reason, exit)
		if err := endOf(ended); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if got := s.run("", "logs", "-f", name, "--attempt", "1"); got.code != 1 {
			t.Errorf("an attempt that is asked for: got %+v", got)
		}
	}
}

func TestWait_unserved(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, command := range [][]string{{"now", "--name", "a", "--wait", "-q", "--", "true"}, {"wait", "a"}} {
		ctx, cancel := context.WithCancel(t.Context())
		output, ended := s.background(ctx, command...)
		output.expect("at/a waits: the operator has not answered yet; is podset-operator running, and does it serve the namespace " + s.namespace + `? "kubectl get deployment -A -l app.kubernetes.io/name=podset-operator" shows whether it is ready`)
		cancel()
		if err := endOf(ended); err == nil {
			t.Error("no error")
		}
	}
}

func TestLogs_notRun(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"deleted", "late"} {
		s.run("", "tomorrow", "--name", name, "--", "true")
	}
	s.setStatus("late", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonMissedDeadline, nil))
	s.expect(result{errOut: "at/late has no log: MissedDeadline\n", code: 1}, "", "logs", "-f", "late")
	s.setStatus("deleted", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{{
		Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonSuspended, Message: "spec.suspend is true",
		LastTransitionTime: metav1.NewTime(s.now),
	}}})
	output, ended := s.background(t.Context(), "logs", "-f", "deleted")
	output.expect("at/deleted waits: Suspended: spec.suspend is true") // Otherwise the deletion could come before the watch.
	s.expect(result{out: "at/deleted deleted\n"}, "", "rm", "deleted")
	if err := endOf(ended); err == nil || !strings.Contains(err.Error(), `ats.cnat.d2iq.com "deleted" not found`) {
		t.Errorf("got %v", err)
	}
}

func TestList_watchObjects(t *testing.T) {
	s := newShell(t)
	s.run("", "18:00", "--name", "a", "--", "true")
	ctx, cancel := context.WithCancel(t.Context())
	output, ended := s.background(ctx, "list", "-w", "-o", "name")
	output.expect("at.cnat.d2iq.com/a")
	s.setStatus("a", done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)))
	output.expect("at.cnat.d2iq.com/a")
	cancel()
	if err := endOf(ended); err != nil {
		t.Error(err)
	}
}

func TestList_watch(t *testing.T) {
	s := newShell(t)
	s.run("", "18:00", "--name", "a", "--", "true")
	ctx, cancel := context.WithCancel(t.Context())
	output, ended := s.background(ctx, "list", "-w")
	output.expect("NAME   DUE                         IN       PHASE    RESULT   REASON             COMMAND")
	output.expect("a      Sat 21 Nov 2026 18:00 CET   1h 12m   <none>   <none>   AwaitingOperator   true")
	s.setStatus("a", done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)))
	output.expect("a     Sat 21 Nov 2026 18:00 CET   <none>   DONE   Succeeded   Completed   true")
	cancel()
	if err := endOf(ended); err != nil {
		t.Error(err)
	}
}

var deleteNow = client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}

// logged returns a run that has ended, with what of its log arrives with follow, and what the node has afterwards.
func (s *shell) logged(name, followed, log string) *corev1.Pod {
	s.Helper()
	s.run("", "now", "--name", name, "--", "true")
	pod := s.start(name, name+"-pod", 1, "")
	kubelet.set(s.namespace+"/"+pod.Name+"/busybox", followed, log)
	s.setState(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(s.now)}})
	s.end(name, cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0))
	return pod
}

func TestLogs_follow(t *testing.T) {
	s := newShell(t)
	s.logged("cut", "1\n", "1\n2\n")
	s.expect(result{out: "1\n2\n"}, "", "logs", "-f", "cut")
	s.logged("rotated", "1\n2\n", "")
	s.expect(result{out: "1\n2\n", code: 1,
		errOut: "Warning: attempt 1 of at/rotated: " + podlog.ErrRotated.Error() + "\nthe log of at/rotated may be incomplete\n"}, "", "logs", "-f", "rotated")
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutput_full(t *testing.T) {
	s := newShell(t)
	s.kubeconfig = adminKubeconfig
	s.logged("a", "1\n", "1\n")
	for _, command := range []string{
		"logs a", "logs -f a", "list", "list -o name", "list -o yaml", "list -w", "cat a", "wait a", "--version",
		"rerun a --name b", "rerun a -o yaml", "suspend b", "reschedule b tomorrow", "resume b", "cancel b", "rm b",
	} {
		cmd := newCommand(genericiooptions.IOStreams{Out: full{}, ErrOut: io.Discard}, clocktesting.NewFakeClock(s.now))
		cmd.SetArgs(append(s.flags(), strings.Fields(command)...))
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("kubectl at %s: no error", command)
		}
	}
}

// The status names the pod: it is neither computed nor any pod of that name.
func TestLogs_pod(t *testing.T) {
	s := newShell(t)
	s.logged("a", "1\n", "1\n")
	status := s.at("a").Status
	status.PodUID = "another"
	s.setStatus("a", status)
	s.expect(result{errOut: "the pod is gone, and its log with it: pod/a-pod\n", code: 1}, "", "logs", "a")
	status.Output = "table a is locked"
	s.setStatus("a", status)
	const end = "This is only the end of the log of at/a, from status.output:\n"
	s.expect(result{out: "table a is locked\n", errOut: end + "the pod is gone, and its log with it: pod/a-pod\n", code: 1}, "", "logs", "a")
	s.expect(result{out: "table a is locked\n", code: 1,
		errOut: end + "Warning: attempt 1 of at/a: the pod is gone, and its log with it: pod/a-pod\nthe log of at/a may be incomplete\n"}, "", "logs", "a", "-f")
	s.logged("c", evicted, evicted)
	status = s.at("c").Status
	status.Output = "table c is locked\n"
	s.setStatus("c", status)
	s.expect(result{out: "table c is locked\n", code: 1,
		errOut: strings.Replace(end, "at/a", "at/c", 1) + "the node cannot read the log: unable to retrieve container logs\n"}, "", "logs", "c")
	s.run("", "now", "--name", "b", "--", "true")
	s.start("b", "renamed-x7k2", 1, "renamed\n")
	s.expect(result{out: "renamed\n"}, "", "logs", "b")
}

// The pod of an attempt is recorded while its gate keeps it from starting.
func TestLogs_gated(t *testing.T) {
	s := newShell(t)
	s.run("", "now", "--name", "a", "--", "true")
	s.expect(result{errOut: "at/a has not started; with -f, the logs are followed from its start\n", code: 1}, "", "logs", "a")
	pod := s.create("a", "a-pod", 1, cnatv1alpha1.StartGate)
	s.expect(result{out: "at/a deleted (dry run)\n"}, "", "rm", "a", "--dry-run") // It is not recorded.
	s.record("a", pod, 1, "started\n")
	s.expect(result{errOut: "at/a has not started; with -f, the logs are followed from its start\n", code: 1}, "", "logs", "a")
	output, ended := s.background(t.Context(), "logs", "-f", "a")
	pod.Spec.SchedulingGates = nil
	if err := admin.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	s.bind(pod)
	s.setState(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	output.expect("started")
	s.end("a", cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0))
	if err := endOf(ended); err != nil {
		t.Error(err)
	}
}

func TestLogs_part(t *testing.T) {
	s := newShell(t)
	s.logged("a", "one\ntwo\nthree\n", "one\ntwo\nthree\n")
	s.now = s.now.Add(5 * time.Second)
	for args, want := range map[string]string{
		"logs a --timestamps":               "2026-11-21T15:48:00Z one\n2026-11-21T15:48:01Z two\n2026-11-21T15:48:02Z three\n",
		"logs a --tail 1":                   "three\n",
		"logs -f a --tail 2":                "two\nthree\n",
		"logs a --tail 0":                   "",
		"logs a --since 4s":                 "two\nthree\n",
		"logs -f a --since 3s --timestamps": "2026-11-21T15:48:02Z three\n",
	} {
		s.expect(result{out: want}, "", strings.Fields(args)...)
	}
	s.logged("empty", "", "")
	s.expect(result{}, "", "logs", "empty", "--tail", "1")
}

// A command that did not start has no log, or that of the init container that failed.
func TestLogs_unstarted(t *testing.T) {
	s := newShell(t)
	pod := s.logged("init", "", "")
	kubelet.set(s.namespace+"/init-pod/fetch", "403 permission denied\n", "403 permission denied\n")
	pod.Status.Phase = corev1.PodFailed
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "fetch", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7}}}}
	s.setState(pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})
	says := "pod/init-pod: the command did not start, because the init container fetch failed with exit code 7. This is its log:\n"
	for _, args := range []string{"logs init", "logs -f init"} {
		s.expect(result{out: "403 permission denied\n", errOut: says}, "", strings.Fields(args)...)
	}
	pod = s.logged("nope", "", "")
	s.setState(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "exec: nope: not found\x1b"}})
	s.end("nope", cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonStartError, ptr.To[int32](128))
	const unstarted = "pod/nope-pod has no log, because the command did not start: StartError: exec: nope: not found\\x1b\n"
	s.expect(result{errOut: unstarted, code: 1}, "", "logs", "nope")
	s.expect(result{errOut: "Warning: attempt 1 of at/nope: " + unstarted + "the log of at/nope may be incomplete\n", code: 1}, "", "logs", "-f", "nope")
	s.logged("forgotten", "", lostContainer)
	if got := s.run("", "logs", "forgotten"); got.code != 1 || got.errOut != "pod/forgotten-pod has no log: at/forgotten ended with Completed\n" {
		t.Errorf("got %+v", got)
	}
	pod = s.logged("evicted", "", "")
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "DeadlineExceeded", "Pod was active too long"
	s.setState(pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})
	s.expect(result{errOut: "pod/evicted-pod has no log, because the command did not start: Pod was active too long\n", code: 1}, "", "logs", "evicted")
}

func TestWait_interrupted(t *testing.T) {
	s := newShell(t)
	for name, command := range map[string]string{"a": "now --name a --wait -q -- sleep 30", "b": "wait b"} {
		if name == "b" {
			s.run("", "now", "--name", "b", "--", "true")
		}
		ctx, interrupt := context.WithCancel(t.Context())
		output, ended := s.background(ctx, strings.Fields(command)...)
		s.awaitAt(name)
		s.setStatus(name, cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{{
			Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonFailedCreate, Message: command,
			LastTransitionTime: metav1.NewTime(s.now),
		}}})
		output.expect("at/" + name + " waits: FailedCreate: " + command)
		interrupt()
		err := endOf(ended)
		want := fmt.Sprintf(`at/%[1]s goes on: "kubectl at logs -f %[1]s -n %[2]s" follows it, "kubectl at cancel %[1]s -n %[2]s" stops it`, name, s.namespace)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", command, err, want)
		}
		if _, code := describe(err); code != 130 {
			t.Errorf("%s: got the exit code %d", command, code)
		}
	}
}
