// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Write is one write that the operator tried.
type Write struct {
	*Call
	// Process is which start of the operator tried it, from 1.
	Process int
	// Sent is when.
	Sent time.Time
	// Clock is what the operator's own clock said then.
	Clock time.Time
	// StaleUntil is until when the operator was not told what becomes of PodSets and Ats; Sent: it still was not.
	StaleUntil time.Time
	// Code is the API server's answer, 0 when the call never reached it.
	Code int
	// UID and Version are those of the object in the answer.
	UID     types.UID
	Version string
	// Fault says what the operator was told instead of the answer; "" when nothing.
	Fault string
}

// Committed tells whether the write changed the world, whatever the operator was told.
func (w Write) Committed() bool { return w.Code >= 200 && w.Code < 300 }

func (w Write) String() string {
	told := ""
	if w.Fault != "" {
		told = ", operator told: " + w.Fault
	}
	return fmt.Sprintf("process %d: %s -> %d%s", w.Process, w.Call, w.Code, told)
}

// Log is every write that an operator tried, through all of its processes, and the headlines of all its calls.
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

// Calls returns every call so far that matches, reads, watches and events included. None of them has a body.
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

// All returns the writes so far in the order of their answers.
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
