// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/pods"
)

// waitingProblem returns what a pod that has not started its command waits for, or "" and when that is known.
func waitingProblem(pod *corev1.Pod, command corev1.ContainerState, now time.Time) (problem string, at time.Time) {
	if proof.IsGated(pod) { // The operator opens it.
		return "", time.Time{}
	}
	waits := "pod " + pod.Name + " is waiting: "
	if reason := pods.WaitingReason(pod); reason != "" {
		return waits + proof.JoinNonEmpty(": ", reason, pods.WaitingMessage(pod)), time.Time{}
	}
	if command.Running != nil {
		return "", time.Time{}
	}
	slow, at := pods.SlowStart(pod, now)
	if slow == "" {
		return "", at
	}
	if !isBound(pod) {
		return waits + "no scheduler has bound it to a node for more than a minute", time.Time{}
	}
	return waits + fmt.Sprintf("%s for more than a minute: %s", slow, cmp.Or(pods.NotReadyReason(pod), "see the events of the pod")), time.Time{}
}

// terminating returns why a pod that is being deleted has not ended, or "" and when that is known: at once if
// Kubernetes disrupts the pod, and otherwise some time after its grace period.
func terminating(pod *corev1.Pod, now time.Time) (why string, at time.Time) {
	at = pod.DeletionTimestamp.Add(stopGrace)
	disruption := proof.Disruption(pod)
	if disruption == "" && now.Before(at) {
		return "", at
	}
	return proof.JoinNonEmpty("; ", "pod "+pod.Name+" is being deleted, and its node has not confirmed that the command ended: it may still be running", disruption), time.Time{}
}

// stillRunning lists the containers of a pod that have not ended, except that of the command.
func stillRunning(pod *corev1.Pod) string {
	var names []string
	for _, status := range pods.ContainerStatuses(pod) {
		if status.State.Terminated == nil {
			names = append(names, status.Name)
		}
	}
	switch len(names) {
	case 0: // The cache does not show sidecars that run without a restart.
		return "other containers of the pod are still running"
	case 1:
		return "container " + names[0] + " is still running"
	}
	return "containers " + strings.Join(names, ", ") + " are still running"
}
