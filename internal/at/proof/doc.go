// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proof decides which pod is the run of an At, and what the end of that pod proves. It is pure, and both the
// operator and kubectl at use it.
//
// # Identity
//
// A pod belongs to attempt n if the At's UID controls it and it has the name spec.PodName(n). Labels and annotations do
// not count, but if admission has taken its owner with its gate, the label with the UID shows whose it is: LostOwner.
// Modified compares the pod that the API server returns with the request, while the pod has its gate: if
// admission changed the identity, the pod is not started. After the UID of a pod is recorded, only the UID counts.
//
// # What an end proves
//
//	#  what the pod shows                                                   proof      another attempt
//	1  the container of the command has terminated with the reason Error,   Failed     if backoffLimit and retryExitCodes allow it
//	   OOMKilled, or Completed, a container ID, and a code from 1 to 254,
//	   or 255 if retryExitCodes lists it
//	2  the same with code 0, and nothing had asked the pod to stop          Succeeded  no
//	3  the pod has failed, not by its kubelet or a disruption; an init      NotRun     if backoffLimit allows it
//	   container that is never restarted has ended with a code from 1 to
//	   254 as in row 1; and no other container was created
//	4  the pod was deleted before it was bound to a node, or the runtime    NotRun     if backoffLimit allows it
//	   said that it could not execute the program of the command, in a
//	   container that was never started before
//	5  anything else                                                        Unknown    never
//
// If the pod shows that the node has started the command again after it had started before, it ran more than once,
// whatever its exit code. That is never retried.
//
// A pod is asked to stop by its deletion, by the condition DisruptionTarget or, from Kueue, TerminationTarget, by its
// activeDeadlineSeconds, which the operator lowers, and by its kubelet with the reasons Evicted, Preempting,
// NodeShutdown, and Terminated. A command that exits with 0 after that may not have finished.
//
// The kubelet writes the state of a container. The container runtime reports its exit code with one of the reasons of
// row 1 only after the process has ended. Every other reason proves nothing, whatever the runtime: containerd also
// reports StartError if the start fails after the process has begun, and 255 Unknown for each container lost in a power
// failure; CRI-O reports 255 Error with a container ID if the exit file of a container is gone, and containerd if its
// shim died, so 255 proves nothing either; the kubelet reports ContainerStatusUnknown for a container that it lost;
// Evicted says nothing about the command; virtual kubelets have their own reasons.
package proof
