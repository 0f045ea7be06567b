// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expectations stores the writes of a process that its cache may not show yet.
//
// A controller decides from a cache, and the cache lags behind the API server. Without this package a controller that
// has just created a pod would not see it and create another one, and would count a pod that it has just deleted as
// running. As the ReplicaSet controller, it waits until its cache shows the pods that it created.
//
//   - Pods are the pods that this process created or deleted.
//   - Status is the last status that this process wrote.
//   - LastRejection is the last rejection of a create. No cache ever shows it.
//
// All three are values. A method that changes something returns the new value and leaves its receiver and everything
// that the receiver refers to as it is, so a copy by assignment is independent of the original. The exhaustive test
// of package at depends on that.
//
// Nothing in this package calls the API server. Pods.Observe returns the pods to look up, and the caller passes it the
// answers.
package expectations
