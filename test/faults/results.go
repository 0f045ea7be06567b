// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redhat/podset-operator/test/invariants"
)

// Violation is an invariant that did not hold.
type Violation = invariants.Violation

// Check records a violation if an invariant does not hold.
func (e *Env) Check(invariant string, holds bool, format string, args ...any) {
	e.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !holds {
		e.violations = append(e.violations, Violation{Invariant: invariant, What: fmt.Sprintf(format, args...)})
	}
}

func (e *Env) evaluate() []Violation {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Observer == nil {
		return nil
	}
	events, err := e.Observer.history()
	started := map[int]time.Time{}
	for _, p := range e.processes {
		started[p.Number] = p.Started
	}
	c := invariants.NewChecker(true, e.Log.All(), started)
	c.ChangesIdentity = e.ChangesIdentity
	c.Replay(events)
	c.Lists(e.Log.Calls(AnyCall))
	if err != nil {
		c.Violations = append(c.Violations, Violation{Invariant: "observer", What: err.Error()})
	}
	return append(c.Violations, e.violations...)
}

// report evaluates an environment when its test ends.
func (e *Env) report() {
	for _, v := range e.evaluate() {
		e.Errorf("%s: %s", e.fault, v)
	}
	if e.Failed() {
		e.Logf("replay with: %s", e.replay())
		e.Logf("writes of the operator:\n%s", e.Log)
	}
}

// replay returns the command that repeats the test.
func (e *Env) replay() string {
	name := strings.ReplaceAll(regexp.QuoteMeta(e.Name()), "/", "$$/^") // $$ is a $ to make.
	return fmt.Sprintf("make test-faults RUN='^%s$$'", name)
}
