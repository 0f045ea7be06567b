// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// start makes the pod of an attempt, as the operator does, and what it logs.
func (s *shell) start(name, pod string, attempts int32, logs string) *corev1.Pod {
	s.Helper()
	created := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: pod, Annotations: map[string]string{cnatv1alpha1.AnnotationContainer: "busybox"}},
		Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "webhooks", Image: "a"}, {Name: "busybox", Image: "b"}}},
	}
	if err := admin.Create(s.Context(), created); err != nil {
		s.Fatal(err)
	}
	kubelet.set(s.namespace+"/"+pod+"/busybox", logs)
	s.setStatus(name, cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning, Attempts: attempts, PodName: pod})
	return created
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

func TestLogsAreFollowedFromTheStartThroughRetriesToTheEnd(t *testing.T) {
	s := newShell(t)
	output, ended := s.background(t.Context(), "now", "--name", "a", "--retries", "1", "--wait", "--", "true")
	output.expect("at/a runs at Sat 21 Nov 2026 16:48 CET (now)")
	s.setStatus("a", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, Conditions: []metav1.Condition{{
		Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonFailedCreate, Message: "exceeded quota",
		LastTransitionTime: metav1.NewTime(s.now),
	}}})
	output.expect("at/a waits: FailedCreate: exceeded quota")
	pod := s.start("a", "a-pod", 1, "first line\nsecond line\n")
	for _, reason := range []string{"ErrImagePull", "ImagePullBackOff", "ErrImagePull"} { // The kubelet alternates between them.
		s.setState(pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}})
	}
	output.expect("pod/a-pod waits: ImagePullBackOff")
	s.setState(pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	output.expect("first line")
	output.expect("second line")
	s.setState(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}})
	retry := s.start("a", "a-pod-1", 2, "again\n")
	s.setState(retry, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}})
	output.expect("again")
	status := done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3))
	status.Attempts = 2
	s.setStatus("a", status)
	if err := endOf(ended); err == nil || err.Error() != "error: at/a failed: NonZeroExitCode, exit code 3" {
		t.Errorf("got %v", err)
	}

	s.expect(result{out: "again\n"}, "", "logs", "a")
	s.expect(result{out: "again\n"}, "", "logs", "-f", "a")
	s.expect(result{out: "first line\nsecond line\n"}, "", "logs", "a", "--attempt", "0")
	s.expect(result{out: "first line\nsecond line\n"}, "", "logs", "a", "--attempt", "0", "-f")
	s.expect(result{errOut: "at/a has the attempts 0 to 1, and no attempt 2\n", code: 1}, "", "logs", "a", "--attempt", "2")
	s.expect(result{errOut: "at/a has the attempts 0 to 1, and no attempt 2\n", code: 1}, "", "logs", "-f", "a", "--attempt", "2")
	s.expect(result{errOut: "--attempt -1: it is a number from 0\n", code: 1}, "", "logs", "-f", "a", "--attempt", "-1")
	if err := admin.Delete(t.Context(), retry, &deleteNow); err != nil {
		t.Fatal(err)
	}
	s.expect(result{errOut: "pod/a-pod-1 is gone, and its logs with it\nthe log of at/a is not complete\n", code: 1}, "", "logs", "-f", "a")
}

func TestWhatAPodWaitsFor(t *testing.T) {
	waiting := func(name, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	runs := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	unschedulable := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node"}
	for title, tc := range map[string]struct {
		status  corev1.PodStatus
		started bool
		reason  string
	}{
		"a new pod":               {},
		"a container is created":  {status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("main", "ContainerCreating")}}},
		"an image is missing":     {status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("main", "ErrImagePull")}}, reason: "ImagePullBackOff"},
		"no node has space":       {status: corev1.PodStatus{Conditions: []corev1.PodCondition{unschedulable}}, reason: "Unschedulable: no node"},
		"the command runs":        {status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{runs, waiting("proxy", "ErrImagePull")}}, started: true},
		"the pod never got there": {status: corev1.PodStatus{Phase: corev1.PodFailed}, started: true},
		"the image of an init container is missing": {status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{waiting("init", "ImagePullBackOff")},
			ContainerStatuses:     []corev1.ContainerStatus{waiting("main", "PodInitializing")},
		}, reason: "ImagePullBackOff"},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}, Status: tc.status}
		if started, reason := hasStarted(pod); started != tc.started || reason != tc.reason {
			t.Errorf("%s: %t, %q", title, started, reason)
		}
	}
}

func TestStandardOutputOfWaitIsThatOfTheCommand(t *testing.T) {
	s := newShell(t)
	var out bytes.Buffer
	output, ended := s.backgroundTo(t.Context(), &out, "now", "--name", "a", "--wait", "--", "dump")
	output.expect("at/a runs at Sat 21 Nov 2026 16:48 CET (now)")
	s.setState(s.start("a", "a-pod", 1, "create table a;\n"), corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	status := done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0))
	status.Attempts = 1
	s.setStatus("a", status)
	if err := endOf(ended); err != nil || out.String() != "create table a;\n" {
		t.Errorf("got %q and %v", out.String(), err)
	}
}

func TestLogsThatCannotBeReadDoNotEndTheWait(t *testing.T) {
	s := newShell(t)
	output, ended := s.background(t.Context(), "now", "--name", "a", "--wait", "--", "true")
	output.expect("at/a runs at Sat 21 Nov 2026 16:48 CET (now)")
	pod := s.start("a", "a-pod", 1, "")
	kubelet.remove(s.namespace + "/a-pod/busybox")
	s.setState(pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	output.expect(`Warning: the logs of pod/a-pod end here: the server could not find the requested resource ( pods/log a-pod); "kubectl at logs -f a" starts them again`)
	status := done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3))
	status.Attempts = 1
	s.setStatus("a", status)
	if err := endOf(ended); err == nil || err.Error() != "error: at/a failed: NonZeroExitCode, exit code 3" {
		t.Errorf("got %v", err)
	}
	if got := s.run("", "logs", "-f", "a", "--attempt", "0"); got.code != 1 {
		t.Errorf("an attempt that is asked for: got %+v", got)
	}
}

// A connection to the node that breaks looks like the end of the log.
func TestALogThatEndsBeforeItsContainerIsReported(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	output, ended := s.background(t.Context(), "now", "--name", "a", "--wait", "--", "true")
	output.expect("at/a runs at Sat 21 Nov 2026 16:48 CET (now)")
	s.setState(s.start("a", "a-pod", 1, "row 1\n"), corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	output.expect("row 1")
	output.expect(`Warning: the logs of pod/a-pod end here: the connection to the node ended; "kubectl at logs -f a" starts them again`)
	status := done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0))
	status.Attempts = 1
	s.setStatus("a", status)
	if err := endOf(ended); err == nil || err.Error() != "at/a succeeded, but its log is not complete" {
		t.Errorf("got %v", err)
	}
}

func TestAnOperatorThatDoesNotServeTheNamespaceIsReported(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, command := range [][]string{{"now", "--name", "a", "--wait", "-q", "--", "true"}, {"wait", "a"}} {
		ctx, cancel := context.WithCancel(t.Context())
		output, ended := s.background(ctx, command...)
		for range 2 {
			output.expect("at/a waits: the operator has not seen it; is podset-operator running, and does it serve the namespace " + s.namespace + "?")
		}
		cancel()
		if err := endOf(ended); err == nil {
			t.Error("no error")
		}
	}
}

func TestLogsBeforeTheStartSayHowToWait(t *testing.T) {
	s := newShell(t)
	s.run("", "tomorrow", "--name", "a", "--", "true")
	s.expect(result{errOut: "at/a has not started; with -f, the logs are followed from its start\n", code: 1}, "", "logs", "a")
}

func TestFollowingEndsWhenTheAtIsDeletedOrNotRun(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"deleted", "late"} {
		s.run("", "tomorrow", "--name", name, "--", "true")
	}
	s.setStatus("late", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonMissedDeadline, nil))
	s.expect(result{errOut: "at/late was not run: MissedDeadline\n", code: 1}, "", "logs", "-f", "late")
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

func TestAWatchedListPrintsObjects(t *testing.T) {
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

func TestAWatchedListPrintsALineForEachChange(t *testing.T) {
	s := newShell(t)
	s.run("", "18:00", "--name", "a", "--", "true")
	ctx, cancel := context.WithCancel(t.Context())
	output, ended := s.background(ctx, "list", "-w")
	output.expect("NAME   DUE                         IN       PHASE    RESULT   COMMAND")
	output.expect("a      Sat 21 Nov 2026 18:00 CET   1h 12m   <none>   <none>   true")
	s.setStatus("a", done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)))
	output.expect("a     Sat 21 Nov 2026 18:00 CET   1h 12m   DONE   Succeeded   true")
	cancel()
	if err := endOf(ended); err != nil {
		t.Error(err)
	}
}

var deleteNow = client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
