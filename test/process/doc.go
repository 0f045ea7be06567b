// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process tests the manager as a process: its flags, environment, exit code, log, probes, metrics, lease, and memory, and how it
// survives outages and missing permissions. The tests build the manager and run it with a real API server.
package process
