// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package invariants checks the actions of the operator against the invariants in docs/testing.md. It uses only the changes of the objects
// and the writes of the operator, and intentionally shares no code with the operator. The fault suite and the simulation use it.
package invariants
