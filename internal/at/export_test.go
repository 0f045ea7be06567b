// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

// Lookup is for the tests of the state table, which show what one observation needs.
var Lookup = lookup
