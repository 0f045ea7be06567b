// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

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
