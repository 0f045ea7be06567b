// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/kube/await"
	"github.com/redhat/podset-operator/internal/kube/podlog"
	"github.com/redhat/podset-operator/internal/pods"
	"github.com/redhat/podset-operator/internal/timespec"
)

// newest stands for the newest attempt.
const newest = -1

func logsVerb() verb {
	follow, attempt := false, newest
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

			# Print the logs of the first attempt
			kubectl at logs at-7gk2p --attempt 0`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVarP(&follow, "follow", "f", false, "Wait for the start, and follow the logs until the end.")
			cmd.Flags().IntVar(&attempt, "attempt", newest, "Which attempt: 0 is the first, 1 the first retry; the default is the newest.")
			hideDefaults(cmd.Flags(), "attempt")
		},
		run: func(r *request) error {
			if attempt < 0 && r.cmd.Flags().Changed("attempt") {
				return fmt.Errorf("invalid --attempt %d: must be 0 or more", attempt)
			}
			if !follow {
				return r.printLogs(attempt)
			}
			at, complete, err := r.follow(r.names[0], attempt)
			if err == nil {
				err = hasAttempt(at, attempt)
			}
			if err == nil && !complete {
				err = fmt.Errorf("the log of at/%s is not complete", at.Name)
			}
			return err
		},
	}
}

// printLogs prints what an attempt has logged so far.
func (r *request) printLogs(attempt int) error {
	at := &cnatv1alpha1.At{}
	if err := r.get(at); err != nil {
		return err
	}
	if err := hasAttempt(at, attempt); err != nil {
		return err
	}
	if attempt == newest {
		attempt = int(at.Status.Attempts) - 1
	}
	pod, err := r.podOf(r.ctx(), at, attempt)
	if err != nil {
		return err
	}
	log := &podlog.Log{Config: r.rest, Pod: pod, Container: atspec.ContainerName(&at.Spec), Out: r.raw}
	defer r.warnOfBeginning(at, log)
	return log.Read(r.ctx(), false)
}

// hasStartedAttempt reports whether the pod of an attempt was created. The name and the number of an attempt are recorded before.
func hasStartedAttempt(at *cnatv1alpha1.At, attempt int) bool {
	attempts := int(at.Status.Attempts)
	return attempts > attempt+1 || attempts == attempt+1 && at.Status.PodUID != ""
}

// hasAttempt returns an error if an At has not had an attempt.
func hasAttempt(at *cnatv1alpha1.At, attempt int) error {
	attempts := int(at.Status.Attempts)
	switch {
	case attempts > 0 && attempt >= attempts:
		return fmt.Errorf("invalid --attempt %d: at/%s has the attempts 0 to %d", attempt, at.Name, attempts-1)
	case attempts > 1 || hasStartedAttempt(at, 0):
		return nil
	case atrun.IsDone(&at.Status) && attempts == 0:
		return fmt.Errorf("at/%s was not run: %s%s", at.Name, at.Status.Reason, failure(at))
	case atrun.IsDone(&at.Status):
		return fmt.Errorf("at/%s has no known pod: %s%s", at.Name, at.Status.Reason, failure(at))
	case isOver(at):
		return outcome(at)
	}
	return fmt.Errorf("at/%s has not started; with -f, the logs are followed from its start", at.Name)
}

// errPodGone is the error about the logs of a pod that is deleted. How the run ended is in the status of the At.
var errPodGone = errors.New("the pod is gone, and its log with it")

// podOf returns the pod of an attempt. The status names that of the newest.
func (c *cluster) podOf(ctx context.Context, at *cnatv1alpha1.At, attempt int) (*corev1.Pod, error) {
	name, isNewest := at.Status.PodName, attempt == int(at.Status.Attempts)-1
	if !isNewest {
		name = atrun.PodName(at, attempt)
	}
	pod := &corev1.Pod{}
	err := c.Get(ctx, c.key(name), pod)
	if apierrors.IsNotFound(err) || err == nil && (!atrun.IsOwn(at, pod) || isNewest && pod.UID != at.Status.PodUID) {
		return nil, fmt.Errorf("%w: pod/%s", errPodGone, name)
	}
	return pod, err
}

// follow waits for the start of an At and prints its logs until it is done. It begins with the newest attempt, or prints
// the one attempt that is asked for. It returns the At as it is in the end, and whether the logs are complete. Logs that cannot be read
// are an error only for one attempt that is asked for.
func (r *request) follow(name string, attempt int) (at *cnatv1alpha1.At, complete bool, err error) {
	ctx, only := r.ctx(), attempt != newest
	complete = true
	for {
		at, err = r.awaitAt(ctx, name, func(at *cnatv1alpha1.At) bool { return hasStartedAttempt(at, max(attempt, 0)) || isOver(at) })
		if err != nil {
			return nil, false, err
		}
		if attempt == newest {
			attempt = max(int(at.Status.Attempts)-1, 0)
		}
		if !hasStartedAttempt(at, attempt) { // It is over, or an older attempt than the newest has ended.
			if isOver(at) {
				return at, complete, nil
			}
			continue
		}
		err = r.followAttempt(at, attempt)
		switch {
		case err != nil && !only && ctx.Err() == nil: // The exit code counts, and the command may still run.
			complete = false
			r.warn(fmt.Sprintf("the log of attempt %d of at/%s is not complete: %v", attempt, name, err))
		case err != nil:
			return at, complete, err
		}
		if only {
			return at, complete, nil
		}
		attempt++
	}
}

// followToEnd prints the logs of a run until it is done, and returns its outcome.
func (r *request) followToEnd(name string) error {
	at, complete, err := r.follow(name, newest)
	if err != nil {
		return err
	}
	if err := outcome(at); err != nil {
		return err
	}
	if !complete {
		return fmt.Errorf("at/%s succeeded, but its log is not complete", name)
	}
	return nil
}

// followAttempt waits for the command of an attempt to start and prints its log until it ends.
func (r *request) followAttempt(at *cnatv1alpha1.At, attempt int) error {
	ctx := r.ctx()
	pod, err := r.podOf(ctx, at, attempt)
	if err != nil {
		return err
	}
	reported, waited := "", false
	pod, err = r.awaitPod(ctx, pod, func(pod *corev1.Pod) bool {
		started, reason := hasStarted(at, pod)
		if reason != "" && reason != reported {
			reported = reason
			_, _ = fmt.Fprintf(r.ErrOut, "pod/%s waits: %s\n", pod.Name, reason)
		}
		waited = waited || !started
		return started
	})
	if err != nil {
		return err
	}
	log := &podlog.Log{Config: r.rest, Pod: pod, Container: atspec.ContainerName(&at.Spec), Out: r.raw}
	if err := r.followLog(ctx, at, log); apierrors.IsForbidden(err) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w; %q prints what the node has", err, r.hint("logs", at.Name))
	}
	if !waited {
		r.warnOfBeginning(at, log)
	}
	return nil
}

// statusPatience is how long a node may take to report the end of a container after the end of its log.
const statusPatience = 10 * time.Second

// followLog prints a log until its container ends. The API server ends a log without an error if its connection to the node breaks, and
// the node does if it rotates the log, so after the end of the container the log is read again.
func (r *request) followLog(ctx context.Context, at *cnatv1alpha1.At, log *podlog.Log) error {
	for {
		before := log.Printed
		err := log.Read(ctx, true)
		if err != nil && !podlog.IsInterruption(err) {
			return err
		}
		short, stop := context.WithTimeout(ctx, statusPatience)
		_, awaitErr := r.awaitPod(short, log.Pod, func(pod *corev1.Pod) bool { return hasEnded(at, pod) })
		stop()
		switch {
		case awaitErr == nil:
			return log.Read(ctx, false)
		case ctx.Err() != nil || short.Err() == nil:
			return awaitErr
		case log.Printed == before: // The next connection would not bring more either.
			return cmp.Or(err, errors.New("the connection to the node ended"))
		}
	}
}

// awaitPod watches a pod until done says so.
func (r *request) awaitPod(ctx context.Context, pod *corev1.Pod, done func(*corev1.Pod) bool) (*corev1.Pod, error) {
	found, err := await.Object(ctx, r.WithWatch, r.key(pod.Name), &corev1.PodList{}, &corev1.Pod{}, func(p *corev1.Pod) bool { return p.UID != pod.UID || done(p) })
	if apierrors.IsNotFound(err) || err == nil && found.UID != pod.UID {
		return nil, errPodGone
	}
	return found, err
}

// silence is how long a command may have printed nothing before its log is suspected to have lost its beginning. A node looks every 10 s
// whether it is time to rotate logs.
const silence = 10 * time.Second

// warnOfBeginning warns if a log begins so late that the node may have removed its beginning. Only the node knows.
func (r *request) warnOfBeginning(at *cnatv1alpha1.At, log *podlog.Log) {
	var started metav1.Time
	switch state := atrun.CommandState(at, log.Pod); {
	case state.Running != nil:
		started = state.Running.StartedAt
	case state.Terminated != nil:
		started = state.Terminated.StartedAt
	}
	if late := log.First.Sub(started.Time); !started.IsZero() && !log.First.IsZero() && late > silence {
		r.warn(fmt.Sprintf("the log of pod/%s begins %s after its container started: either the command printed nothing before, or the node has removed the beginning (by default, it keeps the last 10 MiB)",
			log.Pod.Name, timespec.FormatSeconds(int64(late/time.Second))))
	}
}

// hasEnded reports whether the container of the command has ended, or never will start.
func hasEnded(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	return pods.IsFinished(pod) || atrun.CommandEnded(at, pod)
}

// hasStarted reports whether the container of the command has started, or never will, and what keeps it from starting.
func hasStarted(at *cnatv1alpha1.At, pod *corev1.Pod) (started bool, reason string) {
	if hasEnded(at, pod) || atrun.CommandState(at, pod).Running != nil {
		return true, ""
	}
	reason = printable(pods.WaitingReason(pod))
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			reason += ": " + printable(condition.Message)
		}
	}
	return false, reason
}
