// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// ReasonCrashLoop is the kubelet's reason for a container that it restarts after a delay because it ended soon
	// after its start.
	ReasonCrashLoop = "CrashLoopBackOff"
	// reasonRunContainerError is the reason for a container whose command cannot be started. It alternates with
	// ReasonCrashLoop.
	reasonRunContainerError = "RunContainerError"

	// backOffReset is how long a container must run before the kubelet restarts it without a delay again.
	backOffReset = 10 * time.Minute
	// minStableRun is how long a container must run at least to leave a crash loop.
	minStableRun = time.Minute
)

// CrashLoop reports whether a container of pod keeps ending soon after its start, and returns when it will have left
// the crash loop if it keeps running, or zero. While the kubelet delays a restart, the state of the container is
// terminated or waiting, depending on the version of the kubelet. A container that runs again has left the crash loop
// once it has run for a minute and twice as long as before.
func CrashLoop(pod *corev1.Pod, now time.Time) (looping bool, until time.Time) {
	for i, status := range ContainerStatuses(pod) {
		switch state := status.State; {
		case state.Waiting != nil:
			reason := state.Waiting.Reason
			looping = looping || reason == ReasonCrashLoop || reason == reasonRunContainerError && status.RestartCount > 0
		case state.Terminated != nil && state.Terminated.ExitCode == 0 && i < len(pod.Status.InitContainerStatuses): // It has completed.
		case state.Terminated != nil:
			looping = looping || status.RestartCount > 0 && runTime(state.Terminated) < backOffReset
		default:
			if stable := stableAt(&status); now.Before(stable) {
				looping = true
				if stable.After(until) {
					until = stable
				}
			}
		}
	}
	return looping, until
}

// stableAt returns when a running container leaves its crash loop. It returns zero if the container is not in a crash
// loop, because it has not ended twice or its last run was long.
func stableAt(status *corev1.ContainerStatus) time.Time {
	running, last := status.State.Running, status.LastTerminationState.Terminated
	if running == nil || last == nil || status.RestartCount < 2 || runTime(last) >= backOffReset {
		return time.Time{}
	}
	return running.StartedAt.Add(min(max(2*runTime(last), minStableRun), backOffReset))
}

// runTime returns how long a container ran. The start time of a container that could not be started is 0 or absent.
func runTime(ended *corev1.ContainerStateTerminated) time.Duration {
	if ended.StartedAt.Unix() <= 0 {
		return 0
	}
	return ended.FinishedAt.Sub(ended.StartedAt.Time)
}
