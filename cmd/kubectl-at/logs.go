// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/await"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/podlog"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/pods"
)

// newest stands for the newest attempt. Attempts count from 1.
const newest = 0

// logReader is "kubectl at logs" with its flags.
type logReader struct {
	*request

	out        io.Writer
	attempt    int
	timestamps bool
	tail       int64 // -1 for all
	since      durationValue
}

func logsVerb() verb {
	l, follow := &logReader{}, false
	return verb{
		use: "logs NAME", args: oneName,
		suggestFor: []string{"tail"},
		short:      "Print the logs of the run",
		long: `
			Print the logs of the run of an At.

			With -f it waits for the start, prints the logs as they come, those of retries included, and ends with the run.`,
		example: `
			# Wait for the start, and follow the logs
			kubectl at logs at-7gk2p -f

			# Print the logs of the first attempt, with the time of each line
			kubectl at logs at-7gk2p --attempt 1 --timestamps`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.BoolVarP(&follow, "follow", "f", false, "Wait for the start, and follow the logs until the end.")
			flags.IntVar(&l.attempt, "attempt", newest, "Which attempt: 1 is the first, 2 the first retry; the default is the newest.")
			flags.BoolVar(&l.timestamps, "timestamps", false, "Print the time before each line.")
			flags.Int64Var(&l.tail, "tail", -1, "How many of the last lines to print; the default is all.")
			flags.Var(&l.since, "since", "Print only lines that are newer than this, such as 5m; the default is all.")
			flags.Lookup("tail").DefValue = ""
		},
		run: func(r *request) error {
			l.request, l.out = r, r.raw
			switch {
			case l.attempt < 1 && r.cmd.Flags().Changed("attempt"):
				return fmt.Errorf("invalid --attempt %d: must be 1 or more", l.attempt)
			case !follow:
				return l.print()
			}
			at, problem, err := l.follow(r.names[0])
			if err == nil {
				err = hasAttempt(at, l.attempt)
			}
			return cmp.Or(err, problem)
		},
	}
}

// print prints what an attempt has logged so far.
func (l *logReader) print() error {
	at := &cnatv1alpha1.At{}
	if err := l.get(at); err != nil {
		return err
	}
	if err := hasAttempt(at, l.attempt); err != nil {
		return err
	}
	attempt := cmp.Or(l.attempt, int(at.Status.Attempts))
	pod, err := l.podOf(at, attempt)
	if err != nil {
		return err
	}
	if proof.IsGated(pod) {
		return notStarted(at)
	}
	log, err := l.logOf(at, pod, l.tail)
	if err != nil {
		return err
	}
	if err = log.ReadToEnd(l.ctx()); err != nil && log.IsEmpty() { // For example, the pod was evicted.
		l.printOutput(at, attempt)
	}
	if apierrors.IsBadRequest(err) && proof.IsDone(&at.Status) { // The node has lost the container.
		return fmt.Errorf("pod/%s has no log: at/%s ended with %s", pod.Name, at.Name, howEnded(at))
	}
	return err
}

// hasAttempt returns an error if an At has not had an attempt.
func hasAttempt(at *cnatv1alpha1.At, attempt int) error {
	switch attempts := int(at.Status.Attempts); {
	case attempts >= max(attempt, 1):
		return nil
	case attempts > 0:
		return fmt.Errorf("invalid --attempt %d: at/%s has the attempts 1 to %d", attempt, at.Name, attempts)
	case proof.IsDone(&at.Status):
		return fmt.Errorf("at/%s has no log: %s", at.Name, howEnded(at))
	case isSettled(at):
		return outcome(at)
	}
	return notStarted(at)
}

func notStarted(at *cnatv1alpha1.At) error {
	return fmt.Errorf("at/%s has not started; with -f, the logs are followed from its start", at.Name)
}

// errPodGone is the error about the logs of a pod that is deleted. How the run ended is in the status of the At.
var errPodGone = errors.New("the pod is gone, and its log with it")

// podOf returns the pod of an attempt. The status names that of the newest. If the pod is gone, podOf prints the end of
// its log that the status has.
func (l *logReader) podOf(at *cnatv1alpha1.At, attempt int) (*corev1.Pod, error) {
	name, isNewest := at.Status.PodName, attempt == int(at.Status.Attempts)
	if !isNewest {
		name = spec.PodName(at, attempt-1)
	}
	pod := &corev1.Pod{}
	err := l.Get(l.ctx(), l.key(name), pod)
	if !apierrors.IsNotFound(err) && (err != nil || proof.IsOwn(at, pod) && (!isNewest || pod.UID == at.Status.PodUID)) {
		return pod, err
	}
	l.printOutput(at, attempt)
	return nil, fmt.Errorf("%w: pod/%s", errPodGone, name)
}

// printOutput prints the end of the log that the status has, if it is that of the attempt.
func (l *logReader) printOutput(at *cnatv1alpha1.At, attempt int) {
	if output := at.Status.Output; attempt == int(at.Status.Attempts) && output != "" {
		_, _ = fmt.Fprintf(l.ErrOut, "This is only the end of the log of at/%s, from status.output:\n", at.Name)
		_, _ = io.WriteString(l.out, strings.TrimSuffix(output, "\n")+"\n") // The output keeps the error.
	}
}

// logOf returns the log of the command in a pod, from the last lines on unless tail is negative. If an init container
// failed before the command could start, it returns the log of this container, and says so.
func (l *logReader) logOf(at *cnatv1alpha1.At, pod *corev1.Pod, tail int64) (*podlog.Log, error) {
	core, err := typedcorev1.NewForConfig(l.rest)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	log := &podlog.Log{Pods: core.Pods(pod.Namespace), Pod: pod.Name, Container: spec.ContainerName(&at.Spec), Out: l.out, Timestamps: l.timestamps}
	if l.since > 0 {
		log.Since = l.clock.Now().Add(-time.Duration(l.since))
	}
	if tail >= 0 {
		log.Tail = &tail
	}
	ended := cmp.Or(proof.CommandState(at, pod).Terminated, &corev1.ContainerStateTerminated{})
	isUnstarted := proof.IsStartFailure(ended) || pods.IsFinished(pod) && !proof.CommandEnded(at, pod)
	switch init := pods.FailedInit(pod); {
	case !isUnstarted:
	case init != nil:
		log.Container = init.Name
		_, _ = fmt.Fprintf(l.ErrOut, "pod/%s: the command did not start, because the init container %s failed with exit code %d. This is its log:\n",
			pod.Name, init.Name, init.State.Terminated.ExitCode)
	default:
		reason := cmp.Or(proof.JoinNonEmpty(": ", ended.Reason, ended.Message), pod.Status.Message, pod.Status.Reason, at.Status.Reason)
		return nil, fmt.Errorf("pod/%s has no log, because the command did not start: %s", pod.Name, printable(reason))
	}
	return log, nil
}

// follow waits for the start of an At and prints its logs until it is done. It begins with the newest attempt, or
// prints the one attempt that is asked for. It returns the At as it is in the end, and the problem with its newest log.
// Logs that cannot be read are an error only for one attempt that is asked for: otherwise the exit code counts, and the
// command may still run.
func (l *logReader) follow(name string) (at *cnatv1alpha1.At, problem, err error) {
	for attempt := max(l.attempt, 1); ; attempt++ {
		at, err = l.awaitAt(l.ctx(), name, func(at *cnatv1alpha1.At) bool { return int(at.Status.Attempts) >= attempt || isSettled(at) })
		if err != nil {
			return nil, nil, err
		}
		if l.attempt == newest && attempt == 1 {
			attempt = max(int(at.Status.Attempts), 1)
		}
		if int(at.Status.Attempts) < attempt {
			return at, problem, nil
		}
		err := l.followAttempt(at, attempt)
		if l.attempt != newest || l.ctx().Err() != nil {
			return at, nil, err
		}
		if err != nil {
			problem = fmt.Errorf("the log of at/%s may be incomplete", name)
			l.warn(fmt.Sprintf("attempt %d of at/%s: %s", attempt, name, err))
		}
	}
}

// followToEnd prints the logs of a run until it is done, and returns its outcome.
func (r *request) followToEnd(name string) error {
	l := &logReader{request: r, out: r.raw, attempt: newest, tail: -1}
	if r.printer != nil {
		l.out = r.ErrOut
	}
	at, problem, err := l.follow(name)
	if err != nil {
		return r.unread(err)
	}
	if err := r.end(at); err != nil || problem == nil {
		return err
	}
	problem = fmt.Errorf("at/%s succeeded, but its log may be incomplete", name)
	if hasOutcomeCodes(r.cmd) {
		r.warn(problem.Error())
		return nil
	}
	return problem
}

// followAttempt waits for the command of an attempt to start and prints its log until it ends.
func (l *logReader) followAttempt(at *cnatv1alpha1.At, attempt int) error {
	pod, err := l.podOf(at, attempt)
	if err != nil {
		return err
	}
	waiting, started := context.WithCancel(l.ctx())
	said, tail := make(chan struct{}), l.tail
	go func() { // The operator says what the pod waits for.
		defer close(said)
		_, _ = l.awaitAt(waiting, at.Name, func(at *cnatv1alpha1.At) bool { return isSettled(at) || int(at.Status.Attempts) != attempt })
	}()
	pod, err = l.awaitPod(l.ctx(), pod, func(pod *corev1.Pod) bool {
		if !hasStarted(at, pod) {
			tail = -1 // All lines are new.
		}
		return hasStarted(at, pod)
	})
	started()
	<-said
	if err != nil {
		return err
	}
	log, err := l.logOf(at, pod, tail)
	if err != nil {
		return err
	}
	return log.FollowToEnd(l.ctx(), func(ctx context.Context) error {
		_, err := l.awaitPod(ctx, pod, func(pod *corev1.Pod) bool { return hasEnded(at, pod) })
		return err
	})
}

// awaitPod watches a pod until done says so.
func (r *request) awaitPod(ctx context.Context, pod *corev1.Pod, done func(*corev1.Pod) bool) (*corev1.Pod, error) {
	found, err := await.Object(ctx, r.WithWatch, r.key(pod.Name), &corev1.PodList{}, &corev1.Pod{}, func(p *corev1.Pod) bool { return p.UID != pod.UID || done(p) })
	if apierrors.IsNotFound(err) || err == nil && found.UID != pod.UID {
		return nil, errPodGone
	}
	return found, err
}

// hasEnded reports whether the container of the command has ended, or never will start.
func hasEnded(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	return pods.IsFinished(pod) || proof.CommandEnded(at, pod)
}

// hasStarted reports whether the container of the command has started, or never will.
func hasStarted(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	return hasEnded(at, pod) || proof.CommandState(at, pod).Running != nil
}
