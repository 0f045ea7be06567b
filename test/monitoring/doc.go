// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests the alerts, the dashboard, and the configuration of kube-state-metrics, without a cluster.
package monitoring
