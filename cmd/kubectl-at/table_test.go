// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
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

// A screen shows whole words, or a column less.
func TestColumns_width(t *testing.T) {
	at := testutil.MakeAt("migrate").Command("rm -rf /data/old-releases /data/tmp").Status(done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, nil)).Obj()
	wide := *at
	wide.Spec.Command = "cp /backup/shop.sql.gz /archive"
	c := columns{location: time.UTC}
	whole := c.lines([]cnatv1alpha1.At{*at, wide}, saturday(), true)
	for width := 30; width < 140; width++ {
		c.width = width
		for i, line := range c.lines([]cnatv1alpha1.At{*at, wide}, saturday(), true) {
			if width >= 60 && len(line) > width {
				t.Errorf("%d: %q", width, line)
			}
			for _, word := range strings.Fields(line) {
				if word != "..." && !slices.Contains(strings.Fields(whole[i]), word) {
					t.Errorf("%d: %q is a part of a word in %q", width, word, line)
				}
			}
			if command := strings.Index(line, "rm -rf"); command >= 0 && !strings.HasSuffix(line, "/data/tmp") && !strings.HasSuffix(line, " ...") {
				t.Errorf("%d: the command is cut without a word: %q", width, line)
			}
		}
	}
}
