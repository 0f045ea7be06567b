// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// Everybody who may create an At writes what an administrator sees in the list.
func TestCommandLine(t *testing.T) {
	for command, want := range map[string]string{
		"echo '\x1b]0;owned\a\x1b[2J\fx'": `echo '\x1b]0;owned\a\x1b[2J\fx'`,
		"a\n\tb\r\v\u009b\u202e\x7f":      `a\n\tb\r\v\u009b\u202e\x7f`,
		"echo 'grüße, 世界 👋' \"$(x)\" \\":  "echo 'grüße, 世界 👋' \"$(x)\" \\",
	} {
		if got := commandLine(&cnatv1alpha1.At{Spec: cnatv1alpha1.AtSpec{Command: command}}); got != want {
			t.Errorf("%q: got %s, want %s", command, got, want)
		}
	}
}

func TestColumns_fit(t *testing.T) {
	ats := []cnatv1alpha1.At{{
		ObjectMeta: metav1.ObjectMeta{Name: "at-7gk2p"},
		Spec:       cnatv1alpha1.AtSpec{Schedule: "2026-11-21T16:48:00Z", Command: "sh -c 'sleep 600; echo 世界; exit 3'"},
		Status:     cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending},
	}}
	for screen, want := range map[int]string{
		200: "at-7gk2p   Sat 21 Nov 2026 16:48 UTC   1h    PENDING   <none>   <none>   sh -c 'sleep 600; echo 世界; exit 3'",
		100: "at-7gk2p   Sat 21 Nov 2026 16:48 UTC   1h    PENDING   <none>   <none>   sh -c 'sleep 600; echo 世…",
		89:  "at-7gk2p   Sat 21 Nov 2026 16:48 UTC   1h    PENDING   <none>   sh -c 'sleep 600; echo …",
		80:  "at-7gk2p   1h    PENDING   <none>   sh -c 'sleep 600; echo 世界; exit 3'",
		60:  "at-7gk2p   1h    PENDING   <none>   sh -c 'sleep 600; echo …",
		12:  "at-7gk2p   …",
	} {
		got := columns{location: time.UTC}.fit(ats, saturday(), true, screen)
		if got[1] != want {
			t.Errorf("%d columns: got  %s\n            want %s", screen, got[1], want)
		}
	}
}

// Times have seconds if one of them has.
func TestColumns_seconds(t *testing.T) {
	ats := []cnatv1alpha1.At{{Spec: cnatv1alpha1.AtSpec{Schedule: "2026-11-21T16:48:00Z"}}, {Spec: cnatv1alpha1.AtSpec{Schedule: "2026-11-21T16:48:02Z"}}}
	for _, line := range (columns{location: time.UTC}).lines(ats, saturday(), false) {
		if !strings.Contains(line, " 16:48:0") {
			t.Errorf("got %s", line)
		}
	}
}
