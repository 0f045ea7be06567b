// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops tests what tools that wait for resources conclude from the statuses of PodSets and Ats: kstatus, which Flux, Helm, and kpt
// use, and the health checks and actions of config/components/argocd, run by the Lua library that Argo CD uses.
package gitops
