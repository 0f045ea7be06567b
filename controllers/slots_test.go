// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import "testing"

func TestRequestSlots(t *testing.T) {
	var s requestSlots
	fill := func(namespace string, u urgency) (entered int) {
		for s.enter(namespace, u) {
			entered++
		}
		return entered
	}
	if got := fill("a", beforehand); got != maxRequests {
		t.Errorf("%d requests of one namespace at the same time, want %d", got, maxRequests)
	}
	if !s.enter("a", atItsTime) || !s.enter("b", beforehand) {
		t.Error("creates and dry runs delay a start, or another namespace")
	}
	s.leave("a", atItsTime)
	s.leave("b", beforehand)
	for range maxRequests {
		s.leave("a", beforehand)
	}
	if len(s.taken) > 0 {
		t.Errorf("%v is left", s.taken)
	}
	if got := fill("a", beforehand); got != maxRequests {
		t.Errorf("%d requests after the others were answered, want %d", got, maxRequests)
	}
}
