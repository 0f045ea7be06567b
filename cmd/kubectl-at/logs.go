// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubectl/pkg/util/templates"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/pods"
)

// newest stands for the newest attempt.
const newest = -1

func newLogsCommand(p *plugin) *cobra.Command {
	follow, attempt := false, newest
	cmd := &cobra.Command{
		Use:        "logs NAME",
		SuggestFor: []string{"tail"},
		Short:      "Print the logs of the run",
		Long: templates.LongDesc(`
			Print the logs of the run of an At.

			With -f it waits for the start, prints the logs as they come, those of retries included, and ends with the run.`),
		Example: templates.Examples(`
			# Wait for the start, and follow the logs
			kubectl at logs at-7gk2p -f

			# Print the logs of the first attempt
			kubectl at logs at-7gk2p --attempt 0`),
		Args:              exactlyOneName,
		ValidArgsFunction: p.completeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, name, err := p.connectTo(args[0])
			if err != nil {
				return err
			}
			if attempt < 0 && cmd.Flags().Changed("attempt") {
				return fmt.Errorf("--attempt %d: it is a number from 0", attempt)
			}
			if !follow {
				return p.printLogs(cmd.Context(), c, name, attempt)
			}
			a, complete, err := p.follow(cmd.Context(), c, name, attempt)
			if err == nil {
				err = hasAttempt(a, attempt)
			}
			if err == nil && !complete {
				err = fmt.Errorf("the log of at/%s is not complete", name)
			}
			return err
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "Wait for the start, and follow the logs until the end.")
	cmd.Flags().IntVar(&attempt, "attempt", newest, "Which attempt: 0 is the first, 1 the first retry; the default is the newest.")
	hideDefaults(cmd.Flags(), "attempt")
	completeValues(cmd, "attempt")
	return cmd
}

// printLogs prints what an attempt has logged so far.
func (p *plugin) printLogs(ctx context.Context, c *cluster, name string, attempt int) error {
	a := &cnatv1alpha1.At{}
	if err := c.Get(ctx, c.key(name), a); err != nil {
		return err
	}
	if err := hasAttempt(a, attempt); err != nil {
		return err
	}
	if attempt == newest {
		attempt = int(a.Status.Attempts) - 1
	}
	pod := &corev1.Pod{}
	if err := c.Get(ctx, c.key(atrun.PodName(a, attempt)), pod); err != nil {
		return err
	}
	return p.copyLogs(ctx, c, pod, false)
}

// hasAttempt returns an error if an At has not had an attempt.
func hasAttempt(a *cnatv1alpha1.At, attempt int) error {
	attempts := int(a.Status.Attempts)
	switch {
	case attempts == 0 && isDone(a):
		return fmt.Errorf("at/%s was not run: %s%s", a.Name, a.Status.Reason, failure(a))
	case attempts == 0 && isOver(a):
		return outcome(a)
	case attempts == 0:
		return fmt.Errorf("at/%s has not started; with -f, the logs are followed from its start", a.Name)
	case attempt >= attempts:
		return fmt.Errorf("at/%s has the attempts 0 to %d, and no attempt %d", a.Name, attempts-1, attempt)
	}
	return nil
}

// follow waits for the start of an At and prints its logs until it is done. It begins with the newest attempt, or prints
// the one attempt that is asked for. It returns the At as it is in the end, and whether the logs are complete. Logs that cannot be read
// are an error only for one attempt that is asked for.
func (p *plugin) follow(ctx context.Context, c *cluster, name string, attempt int) (a *cnatv1alpha1.At, complete bool, err error) {
	only := attempt != newest
	complete = true
	for {
		a, err = p.awaitAt(ctx, c, name, func(a *cnatv1alpha1.At) bool { return int(a.Status.Attempts) > max(attempt, 0) || isOver(a) })
		if err != nil {
			return nil, false, err
		}
		if attempt == newest {
			attempt = max(int(a.Status.Attempts)-1, 0)
		}
		if int(a.Status.Attempts) <= attempt { // it is over
			return a, complete, nil
		}
		pod := atrun.PodName(a, attempt)
		err = p.followPod(ctx, c, pod)
		switch {
		case errors.Is(err, errPodGone):
			complete = false
			_, _ = fmt.Fprintf(p.ErrOut, "pod/%s is gone, and its logs with it\n", pod)
		case err != nil && !only && ctx.Err() == nil: // The command still runs, and its exit code counts.
			complete = false
			_, _ = fmt.Fprintf(p.ErrOut, "Warning: the logs of pod/%s end here: %v; \"kubectl at logs -f %s\" starts them again\n", pod, err, name)
		case err != nil:
			return a, complete, err
		}
		if only {
			return a, complete, nil
		}
		attempt++
	}
}

// errPodGone is the error about the logs of a pod that is deleted. How the run ended is in the status of the At.
var errPodGone = errors.New("the pod is gone")

// followPod waits for a pod's container to start and prints its logs until it ends.
func (p *plugin) followPod(ctx context.Context, c *cluster, name string) error {
	reported := ""
	pod, err := await(ctx, c, name, &corev1.PodList{}, &corev1.Pod{}, func(pod *corev1.Pod) bool {
		started, reason := hasStarted(pod)
		if reason != "" && reason != reported {
			reported = reason
			_, _ = fmt.Fprintf(p.ErrOut, "pod/%s waits: %s\n", name, reason)
		}
		return started
	})
	if apierrors.IsNotFound(err) {
		return errPodGone
	}
	if err != nil {
		return err
	}
	if err := p.copyLogs(ctx, c, pod, true); err != nil {
		return err
	}
	return c.checkEnded(ctx, name)
}

// statusPatience is how long a node may take to report the end of a container after the end of its log.
const statusPatience = 10 * time.Second

// checkEnded returns an error if a pod has not ended although its log has. The API server ends a log without an error if its connection
// to the node breaks.
func (c *cluster) checkEnded(ctx context.Context, name string) error {
	short, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	_, err := await(short, c, name, &corev1.PodList{}, &corev1.Pod{}, hasEnded)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case short.Err() != nil && ctx.Err() == nil:
		return errors.New("the connection to the node ended")
	}
	return err
}

// hasEnded reports whether the container of the command has ended.
func hasEnded(pod *corev1.Pod) bool {
	return pods.IsFinished(pod) ||
		slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.Name == mainContainer(pod) && s.State.Terminated != nil
		})
}

// hasStarted reports whether the container of the command has started, or never will, and what keeps it from starting.
func hasStarted(pod *corev1.Pod) (started bool, reason string) {
	if pods.IsFinished(pod) || slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == mainContainer(pod) && (s.State.Running != nil || s.State.Terminated != nil)
	}) {
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

// mainContainer returns the name of the container that runs the command: the operator says so in an annotation.
func mainContainer(pod *corev1.Pod) string {
	return cmp.Or(pod.Annotations[cnatv1alpha1.AnnotationContainer], pod.Spec.Containers[0].Name)
}

// copyLogs prints the logs of a pod.
func (p *plugin) copyLogs(ctx context.Context, c *cluster, pod *corev1.Pod, follow bool) error {
	reader, err := typedcorev1.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	logs, err := reader.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: mainContainer(pod), Follow: follow}).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = logs.Close() }()
	if _, err := io.Copy(p.Out, logs); err != nil {
		return fmt.Errorf("reading the logs of pod/%s: %w", pod.Name, err)
	}
	return nil
}
