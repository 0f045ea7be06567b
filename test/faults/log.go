// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redhat/podset-operator/test/invariants"
)

// Write is one write request of the operator.
type Write = invariants.Write

// Log holds every write of all processes of an operator, and all their calls without bodies.
type Log struct {
	mu     sync.Mutex
	writes []Write
	calls  []Call        // without their bodies
	next   chan struct{} // closed at the next write
}

func (l *Log) call(c Call) {
	c.Body = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

// Calls returns every call so far that matches, including reads, watches, and events. None of them has a body.
func (l *Log) Calls(match Match) []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.calls), func(c Call) bool { return !match(&c) })
}

func (l *Log) add(w Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, w)
	if l.next != nil {
		close(l.next)
		l.next = nil
	}
}

// All returns the writes so far in the order of their responses.
func (l *Log) All() []Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes[:len(l.writes):len(l.writes)]
}

// Count returns how many writes so far match.
func (l *Log) Count(match func(Write) bool) int {
	n := 0
	for _, w := range l.All() {
		if match(w) {
			n++
		}
	}
	return n
}

// Next returns a channel that is closed at the next write.
func (l *Log) Next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = make(chan struct{})
	}
	return l.next
}

func (l *Log) String() string {
	var text strings.Builder
	for i, w := range l.All() {
		fmt.Fprintf(&text, "%3d %s %s\n", i+1, w.Sent.Format("05.000"), w)
	}
	return text.String()
}
