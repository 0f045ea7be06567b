// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sim runs the controllers of the operator, as controllers.Add wires them, in a simulated cluster and in virtual time. One
// seed decides everything: which call is answered next, which cache shows which event, which call fails, when the process crashes,
// and what users do. A failure therefore replays from its seed. See docs/testing.md.
//
// Store is the API server. A process has the real caches, work queues, and reconcilers; only the connections of its informers and its
// clients are replaced. All goroutines run in a bubble of testing/synctest. When all of them are blocked, the scheduler takes the
// next step, so the order in which goroutines run has no effect.
//
// Limits:
//
//   - One process leads at a time, without a lease. All objects are in one namespace.
//   - Kubelets start each container once, and etcd is not restored: the exceptions of docs/at-most-once.md do not occur.
//   - If pods of a PodSet lose their owner, only their number is checked. Webhooks do not give them other fixed names.
//   - A webhook that removes the gate of a pod, which starts it, leaves its name and a sign of its At. Otherwise nothing would show a pod whose
//     create was not answered.
//   - Containers do not crash repeatedly while clocks differ: Degraded can flip if the clock of a node is a minute behind.
//   - With even seeds, the caches lag. Only odd seeds check P4, P6, and P9.
package sim
