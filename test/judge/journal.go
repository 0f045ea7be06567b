// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// kind says who saw an event, and what.
type kind string

const (
	begun   kind = "begun"  // the counter: a process began
	ended   kind = "ended"  // the counter: the process is about to exit with code
	over    kind = "over"   // the counter: the process closed its connection, so it is dead
	node    kind = "node"   // the API server: the kubelet has reported a container that terminated, with code
	pod     kind = "pod"    // the API server: another change of a pod
	claimed kind = "claims" // the API server: the object of the run claims something else than before
	user    kind = "user"   // the judge: a user did something
	fault   kind = "fault"  // the judge: a fault begins or ends; it has no name
)

// event is one line of the journal. process is the ID of a process of a command, uid that of its pod.
type event struct {
	when    time.Time
	name    string // of the run, or empty if the event concerns every run
	kind    kind
	pod     string
	uid     string
	process string
	code    int
	text    string
}

func (e event) String() string {
	words := []string{e.when.UTC().Format("15:04:05.000"), fmt.Sprintf("%-6s", e.kind)}
	if e.pod != "" {
		words = append(words, e.pod)
	}
	switch e.kind {
	case ended, node:
		words = append(words, fmt.Sprint("code ", e.code))
	}
	return strings.Join(append(words, e.text), " ")
}

// journal has the events of each run in order, and those of all runs under an empty name. It also writes each of them to a file, which
// remains if the judge is killed.
type journal struct {
	mutex  sync.Mutex
	file   io.Writer
	events map[string][]event
}

func (j *journal) add(e event) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	e.when = time.Now()
	j.events[e.name] = append(j.events[e.name], e)
	fmt.Fprintln(j.file, e.name, e)
}

// of returns the events of a run.
func (j *journal) of(name string) []event {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return slices.Clone(j.events[name])
}

// has reports whether a run has an event of a kind.
func (j *journal) has(name string, wanted kind) bool {
	return slices.ContainsFunc(j.of(name), func(e event) bool { return e.kind == wanted })
}

// timeline returns the events of a run, and the faults from a minute before its first event to its last event.
func (j *journal) timeline(name string) string {
	events := j.of(name)
	first, last := events[0].when.Add(-time.Minute), events[len(events)-1].when
	for _, e := range j.of("") {
		if e.when.After(first) && e.when.Before(last) {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.when.Compare(b.when) })
	var lines strings.Builder
	for _, e := range events {
		fmt.Fprintln(&lines, "   ", e)
	}
	return lines.String()
}

// tally counts what was done: the faults, the signals, and what users did with success.
func (j *journal) tally() map[string]int {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	count := map[string]int{}
	for _, events := range j.events {
		for _, e := range events {
			if text, done := strings.CutSuffix(e.text, ": done"); done && (e.kind == fault || e.kind == user) {
				count[text]++
			}
		}
	}
	return count
}
