// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults runs an operator in a world that fails, and judges what it does there.
//
// A Env is a namespace of a real API server. In it work
//
//   - the operator, as a row of processes: each is a manager with caches of its own behind a Injector, which delays,
//     refuses, loses and rewrites its calls, and cuts it off for ever when it crashes;
//   - a kubelet, which makes pods run and lets them end;
//   - a user, who is a plain client;
//   - a Observer, who watches everything on connections of its own, in order, and judges the invariants on every event.
//
// The operator is any Controllers: ours, or the naive ones of package control, on which the judgements must fail. See
// docs/testing.md.
package faults
