// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package differential sends the same random sequences of requests to the simulated store of test/sim and to a real etcd and
// kube-apiserver, and compares every response and all watch events. See docs/testing.md.
package differential
