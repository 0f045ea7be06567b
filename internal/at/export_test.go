// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

// Decided returns an observation that a test has made without a State, with the decision that State.Observe would add.
func Decided(o Observation) Observation {
	o.run = o.runOf()
	o.decision = decide(o)
	return o
}

// Lookup returns the name of the pod that a decision needs, or "".
func Lookup(o Observation) string { return o.decision.lookUp }
