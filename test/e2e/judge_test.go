// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"testing"
)

// The judge installs the operator itself, and fails if an At claims what its command did not do.
func TestJudge(t *testing.T) {
	skipInShortMode(t)
	counter := os.Getenv("E2E_JUDGE_COUNTER")
	if counter == "" {
		t.Skip("E2E_JUDGE_COUNTER is not set")
	}
	p := newProject(t)
	p.types("make judge RUNS=10 SEED=1 JUDGE_FLAGS='-counter %s'", counter)
	p.leavesNothing()
}
