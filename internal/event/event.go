// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package event describes events about an object as values. The pure packages return them, and the controllers send
// them.
package event

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// maxNote is the maximum length of a note in the API events.k8s.io/v1, in bytes.
const maxNote = 1024

// Event is an event about one object.
type Event struct {
	// Warning is true if a user or an administrator should act.
	Warning bool
	// Reason is why, in one CamelCase word.
	Reason string
	// Action is what the operator did or failed to do, in one CamelCase word.
	Action string
	// Note is the message for users.
	Note string
	// Related is another object that the event is about, or nil if there is none. Events that differ only in their note
	// are counted as repetitions of the first one, whose note is kept.
	Related runtime.Object
}

// About returns the event with a related object.
func (e Event) About(related runtime.Object) Event {
	e.Related = related
	return e
}

// Cut shortens a text to at most n bytes without splitting a character.
func Cut(text string, n int) string {
	const ellipsis = "..."
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len(ellipsis)], "") + ellipsis
}

// Normal returns an event about an expected change.
func Normal(reason, action, note string) Event {
	return Event{Reason: reason, Action: action, Note: Cut(note, maxNote)}
}

// Warning returns an event about a problem.
func Warning(reason, action, note string) Event {
	return Event{Warning: true, Reason: reason, Action: action, Note: Cut(note, maxNote)}
}
