// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repository tests the files that are not Go code, such as the documentation and the workflows, and checks that the documentation
// matches the rest.
package repository
