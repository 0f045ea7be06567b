// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench compares the operator with a bare client, and with the controllers of Kubernetes that users would use instead. All of
// them work on the same etcd and kube-apiserver, one after the other, in a random order. `make bench` runs it, and docs/performance.md
// describes what is measured and shows results.
//
// Each benchmark works for seconds and is meant to run once, with -benchtime 1x. With -short, it has few objects: this shows that the
// benchmark works, and its figures mean nothing.
package bench
