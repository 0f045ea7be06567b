// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package event is what the pure packages have to tell about an object, as a value; the controllers send it.
package event

import "strings"

// maxNote is the bound that the API events.k8s.io/v1 sets on a note, in bytes.
const maxNote = 1024

// Event is one thing that happened to an object.
type Event struct {
	// Warning marks what needs somebody's attention.
	Warning bool
	// Reason is why, in one CamelCase word.
	Reason string
	// Action is what the operator did or failed to do, in one CamelCase word.
	Action string
	// Note is the sentence for people.
	Note string
}

// Cut bounds a text to n bytes, at a whole character.
func Cut(text string, n int) string {
	const ellipsis = "..."
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len(ellipsis)], "") + ellipsis
}

// Normal is something that went as it should.
func Normal(reason, action, note string) Event {
	return Event{Reason: reason, Action: action, Note: Cut(note, maxNote)}
}

// Warning is something that needs somebody's attention.
func Warning(reason, action, note string) Event {
	return Event{Warning: true, Reason: reason, Action: action, Note: Cut(note, maxNote)}
}
