// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults runs an operator against a real API server, injects faults, and checks invariants.
//
// An Env (environment) is one namespace of the API server with
//
//   - the operator, as a sequence of processes: each is a manager with caches of its own, which can crash, and whose calls are recorded;
//   - a Kubelet, which starts pods, ends their commands, and removes pods that are being deleted;
//   - a user, whose client has no faults;
//   - an Observer, which watches everything on connections of its own.
//
// When a test ends, a checker replays the events that the observer received and the writes of the operator, and checks the
// invariants. The suite has the faults that need a real API server. All others are in the simulation.
package faults
