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

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/kube/await"
	"github.com/redhat/podset-operator/internal/kube/podlog"
	"github.com/redhat/podset-operator/internal/pods"
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
			cmd.Flags().Lookup("attempt").DefValue = ""
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
				err = fmt.Errorf("the log of at/%s may be incomplete", at.Name)
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
	if attempt == newest {
		attempt = max(int(at.Status.Attempts)-1, 0)
		if attempt > 0 && !hasStartedAttempt(at, attempt) && !atrun.IsDone(&at.Status) { // The pod of a retry does not exist yet.
			attempt--
		}
	}
	if err := hasAttempt(at, attempt); err != nil {
		return err
	}
	pod, err := r.podOf(r.ctx(), at, attempt)
	if err != nil {
		return err
	}
	log := r.logOf(at, pod)
	if err := log.ReadToEnd(r.ctx()); err != nil {
		return err
	}
	return r.checkBeginning(at, log)
}

// checkBeginning returns an error about a log that has probably lost its beginning, and warns of one that perhaps has.
func (r *request) checkBeginning(at *cnatv1alpha1.At, log *podlog.Log) error {
	why, isProbable := log.CheckBeginning(atrun.CommandState(at, log.Pod))
	problem := fmt.Sprintf("the log of pod/%s may be incomplete: %s", log.Pod.Name, why)
	switch {
	case isProbable:
		return errors.New(problem)
	case why != "":
		r.warn(problem)
	}
	return nil
}

// hasStartedAttempt reports whether the pod of an attempt was created. The name and the number of an attempt are recorded before.
func hasStartedAttempt(at *cnatv1alpha1.At, attempt int) bool {
	attempts := int(at.Status.Attempts)
	return attempts > attempt+1 || attempts == attempt+1 && at.Status.PodUID != ""
}

// hasAttempt returns an error if an At has not had an attempt.
func hasAttempt(at *cnatv1alpha1.At, attempt int) error {
	attempts, what := int(at.Status.Attempts), "at/"+at.Name
	switch {
	case hasStartedAttempt(at, max(attempt, 0)):
		return nil
	case attempts > 0 && attempt >= attempts:
		return fmt.Errorf("invalid --attempt %d: at/%s has the attempts 0 to %d", attempt, at.Name, attempts-1)
	case atrun.IsDone(&at.Status) && attempts == 0:
		return fmt.Errorf("at/%s was not run: %s%s", at.Name, at.Status.Reason, failure(at))
	case atrun.IsDone(&at.Status):
		return fmt.Errorf("at/%s has no known pod: %s%s", at.Name, at.Status.Reason, failure(at))
	case isOver(at):
		return outcome(at)
	case attempt > 0:
		what = fmt.Sprintf("attempt %d of %s", attempt, what)
	}
	return fmt.Errorf("%s has not started; with -f, the logs are followed from its start", what)
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

// logOf returns the log of the command in a pod.
func (r *request) logOf(at *cnatv1alpha1.At, pod *corev1.Pod) *podlog.Log {
	return &podlog.Log{Config: r.rest, Pod: pod, Container: atspec.ContainerName(&at.Spec), Out: r.raw}
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
		if err := r.followAttempt(at, attempt); err != nil {
			err = fmt.Errorf("the log of attempt %d of at/%s may be incomplete: %w", attempt, name, err)
			if only || ctx.Err() != nil {
				return at, false, err
			}
			complete = false // The exit code counts, and the command may still run.
			r.warn(err.Error())
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
		return fmt.Errorf("at/%s succeeded, but its log may be incomplete", name)
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
	log := r.logOf(at, pod)
	log.FromStart = waited
	if err := r.followLog(ctx, at, log); apierrors.IsForbidden(err) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w; %q prints what the node has", err, r.hint("logs", at.Name))
	}
	return r.checkBeginning(at, log)
}

const (
	// statusPatience is how long a node may take to report the end of a container after the end of its log.
	statusPatience = 10 * time.Second
	// fruitless is how short a connection is that is not made again if it has brought nothing. A longer one may have been idle for too long.
	fruitless = time.Second
)

// followLog prints a log until its container ends. The API server ends a log without an error if its connection to the node breaks, and
// the node does if it rotates the log, so after the end of the container the log is read again.
func (r *request) followLog(ctx context.Context, at *cnatv1alpha1.At, log *podlog.Log) error {
	for {
		printed, began := log.Printed, time.Now()
		err := log.Follow(ctx)
		if err != nil && !errors.As(err, new(podlog.InterruptedError)) {
			return err
		}
		isFruitless := log.Printed == printed && time.Since(began) < fruitless
		short, stop := context.WithTimeout(ctx, statusPatience)
		pod, awaitErr := r.awaitPod(short, log.Pod, func(pod *corev1.Pod) bool { return hasEnded(at, pod) })
		stop()
		switch {
		case awaitErr == nil:
			log.Pod = pod
			return log.ReadToEnd(ctx)
		case ctx.Err() != nil || short.Err() == nil:
			return awaitErr
		case isFruitless: // The next connection would not bring more either.
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
