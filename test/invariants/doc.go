// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package invariants checks what the operator did against the invariants in docs/testing.md. It uses only the changes of the
// objects and the writes of the operator. It shares no code with the operator on purpose. The fault suite and the simulation use
// it.
package invariants
