// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package atrun decides which pod is the run of an At, and what the end of that pod proves. It is pure, and both the operator and kubectl
// at use it.
//
// # Identity
//
// A pod is that of attempt n if it has the name PodName(n) and the At's UID controls it. Labels and annotations are for people. Changed
// compares the pod that the API server returns with the request: if admission changed the identity, the pod is not the run.
//
// # What an end proves
//
//	#  what the pod shows                                                   proof      another attempt
//	1  the container of the command has terminated with the reason Error,   Failed     if backoffLimit and retryExitCodes allow it
//	   OOMKilled, or Completed, a container ID, and a code from 1 to 255
//	2  the same with code 0                                                 Succeeded  no
//	3  the pod has failed, an init container that is not a sidecar has      NotRun     if backoffLimit allows it
//	   ended as in row 1, and the container of the command waits and has
//	   never run
//	4  the last state of a deleted pod has no node                          NotRun     if backoffLimit allows it
//	5  anything else                                                        Unknown    never
//
// The kubelet writes the state of a container. The container runtime reports its exit code with one of the reasons of row 1 only after the
// process has ended. Every other reason proves nothing, whatever the runtime: containerd also reports StartError if the start fails after
// the process has begun, and 255 Unknown for each container lost in a power failure; the kubelet reports ContainerStatusUnknown for a
// container that it lost; Evicted says nothing about the command; virtual kubelets have their own reasons.
package atrun
