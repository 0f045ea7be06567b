// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// atRunsOnce checks that an At that is due runs its command in one pod and succeeds.
func atRunsOnce(ctx context.Context, s *suite) error {
	return s.atEnds(ctx, "runs-once", "echo YAY", cnatv1alpha1.ResultSucceeded, 0)
}

// atReportsFailure checks that an At whose command fails reports the exit code and does not run again.
func atReportsFailure(ctx context.Context, s *suite) error {
	return s.atEnds(ctx, "reports-failure", "sh -c 'exit 3'", cnatv1alpha1.ResultFailed, 3)
}

func (s *suite) atEnds(ctx context.Context, name, command string, result cnatv1alpha1.Result, exitCode int32) error {
	at := &cnatv1alpha1.At{ObjectMeta: s.meta(name), Spec: cnatv1alpha1.AtSpec{Schedule: "now", Command: command}}
	if err := s.create(ctx, at); err != nil {
		return err
	}
	what := fmt.Sprintf("phase DONE, result %s, exit code %d, one pod", result, exitCode)
	return s.eventually(ctx, at, what, func(pods []corev1.Pod) string {
		got := at.Status
		switch {
		case got.Phase != cnatv1alpha1.PhaseDone:
			return fmt.Sprintf("the phase is %q", got.Phase)
		case got.Result != result:
			return fmt.Sprintf("the result is %q, reason %q", got.Result, got.Reason)
		case got.ExitCode == nil || *got.ExitCode != exitCode:
			return fmt.Sprintf("the exit code is %v", got.ExitCode)
		case len(pods) != 1 || got.Attempts != 1:
			return fmt.Sprintf("there are %d pods after %d attempts", len(pods), got.Attempts)
		}
		return ""
	})
}
