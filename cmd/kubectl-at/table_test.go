// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// Times have seconds if one of them has.
func TestColumns_seconds(t *testing.T) {
	ats := []cnatv1alpha1.At{{Spec: cnatv1alpha1.AtSpec{Schedule: "2026-11-21T16:48:00Z"}}, {Spec: cnatv1alpha1.AtSpec{Schedule: "2026-11-21T16:48:02Z"}}}
	for _, line := range (columns{location: time.UTC}).lines(ats, saturday(), false) {
		if !strings.Contains(line, " 16:48:0") {
			t.Errorf("got %s", line)
		}
	}
}
