// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestRequestSlots(t *testing.T) {
	var s requestSlots
	key := func(namespace string, n int) client.ObjectKey {
		return client.ObjectKey{Namespace: namespace, Name: fmt.Sprint(n)}
	}
	for n := range maxStarts + 2 {
		if got := s.enter(key("slow", n), forStart); got != (n < maxStarts) {
			t.Errorf("start %d of a namespace: %t", n, got)
		}
	}
	for n := range maxDryRuns + 1 {
		if got := s.enter(key("slow", 100+n), forDryRun); got != (n < maxDryRuns) {
			t.Errorf("dry run %d of a namespace: %t", n, got)
		}
	}
	if !s.enter(key("other", 0), forStart) || !s.enter(key("other", 1), forDryRun) {
		t.Error("another namespace waits")
	}
	if s.enter(key("slow", maxStarts), forStart) || len(s.waiting) != 3 {
		t.Errorf("an At waits twice: %v", s.waiting)
	}
	go s.leave(t.Context(), key("slow", 0))
	if e := <-s.events(); e.Object.GetName() != fmt.Sprint(maxStarts) {
		t.Errorf("the next one is %s", e.Object.GetName())
	}
	if !s.enter(key("slow", maxStarts), forStart) {
		t.Error("the At that was requested finds no slot")
	}
	if s.enter(key("slow", 200), forStart) {
		t.Error("a new At passes one that waits")
	}
}
