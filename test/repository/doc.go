// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repository tests the files that are not Go code: documentation, workflows, and what the documentation says about the rest.
package repository
