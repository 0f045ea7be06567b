// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"
)

// claim is what the object of a run says. Its zero value claims nothing.
type claim struct {
	done      bool
	succeeded bool
	didNotRun bool // the command did not run, in the pod if it is named
	attempts  int
	pod       string // of the newest attempt, or empty if the object does not name it
	exitCode  *int
	text      string // the reason and message, for the timeline
	waitsFor  string // why a run that is not done does not begin or end, or empty
}

// rule is a rule that each run must keep.
type rule string

const (
	twice     rule = "twice"
	early     rule = "early"
	falsely   rule = "false"
	forgotten rule = "forgotten"
)

type violation struct {
	rule rule
	text string
}

// subject is the run that is judged.
type subject struct {
	retries int       // how often the command may begin again, with proof
	due     time.Time // the command must not begin before
	gone    bool      // a user or the judge has deleted the object
	settled bool      // the faults are over, the run had time to end, and a quiet period has passed
	claim   claim     // the last one
}

// start is one process of the command. code is nil until the counter knows how it ends, seen until the kubelet has reported it.
type start struct {
	event
	code *int
	seen *int
	dead bool
}

// judge returns the violations of a run. events are those of its name, in order.
func judge(s subject, events []event) []violation {
	starts := startsOf(events)
	found := slices.Concat(judgeRepeats(s, events), judgeClaim(s.claim, starts))
	if len(starts) > 0 && starts[0].when.Before(s.due) {
		found = append(found, violation{early, fmt.Sprintf("begun %s before its time", s.due.Sub(starts[0].when))})
	}
	if s.settled && !s.gone && !s.claim.done && s.claim.waitsFor == "" {
		text := "the command did not begin, and the object does not say why"
		if len(starts) > 0 {
			text = "the command has begun, and the run does not end"
		}
		found = append(found, violation{forgotten, text})
	}
	return found
}

// startsOf returns the processes in the order in which they began, as they are after all events.
func startsOf(events []event) []*start {
	var starts []*start
	for _, e := range events {
		if e.kind == begun {
			starts = append(starts, &start{event: e})
		}
		for _, s := range starts {
			switch {
			case e.kind == ended && e.process == s.process:
				s.code = &e.code
			case e.kind == over && e.process == s.process:
				s.dead = true
			case e.kind == node && e.uid == s.uid:
				s.seen = &e.code
			}
		}
	}
	return starts
}

// judgeRepeats checks every beginning but the first. What the kubelet reports counts also if the judge has read it later.
func judgeRepeats(s subject, events []event) []violation {
	var found []violation
	seen := map[string]*int{}
	for _, later := range startsOf(events) {
		seen[later.uid] = later.seen
	}
	count := 0
	for i, e := range events {
		if e.kind != begun {
			continue
		}
		for _, earlier := range startsOf(events[:i]) {
			if problem := repeats(earlier, e, seen[earlier.uid]); problem != "" {
				found = append(found, violation{twice, problem})
				break
			}
		}
		if count > s.retries {
			found = append(found, violation{twice, fmt.Sprintf("begun %d times with %d retries", count+1, s.retries)})
		}
		count++
	}
	return found
}

// repeats says why e may not follow earlier, or returns an empty string. The command has ended with a code that permits a retry if it
// reported one other than 0, or if the kubelet did and the process is dead.
func repeats(earlier *start, e event, seen *int) string {
	switch {
	case earlier.uid == e.uid:
		return "begun twice in pod " + e.pod
	case earlier.code != nil && *earlier.code == 0:
		return "begun in " + e.pod + " after the command had ended with 0 in " + earlier.pod
	case earlier.code != nil:
		return ""
	case !earlier.dead:
		return "begun in " + e.pod + " while the command runs in " + earlier.pod
	case seen == nil || *seen < 1 || *seen > 254:
		return "begun in " + e.pod + " without proof of how the command ended in " + earlier.pod
	}
	return ""
}

func judgeClaim(c claim, starts []*start) []violation {
	if !c.done {
		return nil
	}
	var found []violation
	report := func(format string, args ...any) {
		found = append(found, violation{falsely, fmt.Sprintf(format, args...)})
	}
	pods := map[string]bool{}
	var last *start // of the pod that the claim is about
	succeeded := false
	for _, s := range starts {
		pods[s.uid] = true
		if c.pod == "" || c.pod == s.pod {
			last = s
			succeeded = succeeded || s.code != nil && *s.code == 0
		}
	}
	if c.didNotRun && last != nil {
		report("claims that the command did not run, but it has begun in %s", last.pod)
	}
	if c.succeeded && !succeeded {
		report("claims success, but the command has not ended with 0")
	}
	if c.exitCode != nil && !isPossible(*c.exitCode, last) {
		report("claims exit code %d, but the command has not ended so", *c.exitCode)
	}
	if c.attempts < len(pods) {
		report("claims %d attempts, but the command has begun in %d pods", c.attempts, len(pods))
	}
	return found
}

// isPossible reports whether the process can have ended with this code. A signal can end it before it reports anything, and after it has
// reported its end.
func isPossible(code int, process *start) bool {
	const killed, terminated, startup = 137, 143, 2 // a Go program that SIGTERM reaches before its handler exits with 2
	switch {
	case process == nil:
		return code == killed || code == terminated || code == startup
	case process.code == nil:
		return code == killed || code == terminated
	}
	return code == *process.code || code == killed
}
