// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// The header and the next At stay visible, and nothing scrolls.
func TestFit(t *testing.T) {
	ats := make([]cnatv1alpha1.At, 30)
	for i := range ats {
		ats[i].Name = fmt.Sprint(i)
		if i < 20 {
			ats[i].Status = done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonEvicted, nil)
		}
	}
	for _, test := range []struct {
		ats           []cnatv1alpha1.At
		height        int
		first, shown  int
		header, wants bool
	}{
		{ats, 0, 0, 30, true, true},       // the height is not known
		{ats, 100, 0, 30, true, true},     // there is space for all
		{ats, 32, 0, 30, true, true},      // just
		{ats, 31, 2, 28, true, true},      // not quite: one line has the number of the others
		{ats, 10, 20, 7, true, true},      // the next At is the first
		{ats, 3, 20, 1, true, true},       // no line for the number of the others
		{ats, 2, 20, 1, false, true},      // no line for the header
		{ats, 1, 20, 1, false, true},      // no space at all
		{ats, 10, 20, 8, false, false},    // --no-headers
		{ats[:20], 10, 13, 7, true, true}, // all are done: the newest
		{nil, 10, 0, 0, true, true},
	} {
		shown, header := fit(test.ats, test.height, test.wants)
		if len(shown) != test.shown || header != test.header || test.shown > 0 && shown[0].Name != fmt.Sprint(test.first) {
			t.Errorf("%d of a height of %d: got %d from %v, header %t, want %d from %d", len(test.ats), test.height, len(shown), shown[:min(1, len(shown))], header, test.shown, test.first)
		}
	}
}

func TestLines(t *testing.T) {
	at := cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: "世界"}, Spec: cnatv1alpha1.AtSpec{Schedule: "2026-11-22T02:00:00Z", Command: "echo 世界世界世界"}}
	columns := columns{location: time.UTC}
	for width, want := range map[int]string{
		0:  "世界    Sun 22 Nov 2026 02:00 UTC   10h 12m   <none>   <none>   <none>   echo 世界世界世界",
		10: "世界    Su",
		3:  "世",
		1:  "",
		86: "世界    Sun 22 Nov 2026 02:00 UTC   10h 12m   <none>   <none>   <none>   echo 世界世界",
	} {
		if got := columns.lines([]cnatv1alpha1.At{at}, saturday(), false, width)[0]; got != want {
			t.Errorf("width %d: got %q, want %q", width, got, want)
		}
	}
}
