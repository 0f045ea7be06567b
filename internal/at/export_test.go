// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import "time"

// Passed returns a check that the pod passed at a time.
func Passed(generation int64, when time.Time) Check { return Check{generation: generation, at: when} }

// Waits reports whether the pod of an At that waits is checked from time to time.
func Waits(p Plan) bool { return p.waits }
