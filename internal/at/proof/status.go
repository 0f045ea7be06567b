// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"slices"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// TerminalReasons are the values of status.reason. Do not modify them.
var TerminalReasons = []string{
	cnatv1alpha1.ReasonCompleted,
	cnatv1alpha1.ReasonNonZeroExitCode,
	cnatv1alpha1.ReasonOOMKilled,
	cnatv1alpha1.ReasonStartError,
	cnatv1alpha1.ReasonEvicted,
	cnatv1alpha1.ReasonRanAgain,
	cnatv1alpha1.ReasonPodFailed,
	cnatv1alpha1.ReasonPodLost,
	cnatv1alpha1.ReasonNotStarted,
	cnatv1alpha1.ReasonPodModified,
	cnatv1alpha1.ReasonCanceled,
	cnatv1alpha1.ReasonMissedDeadline,
	cnatv1alpha1.ReasonDeadlineExceeded,
}

// IsDone reports whether a status shows how its At ended. It ignores the phase, which follows from the rest: a phase
// that was set by hand neither ends an At nor repeats a run.
func IsDone(s *cnatv1alpha1.AtStatus) bool {
	return s.CompletionTime != nil && slices.Contains(TerminalReasons, s.Reason) && s.Result == ResultOf(s.Reason)
}

// HasStarted reports whether a status records the start of an attempt. The spec cannot change after that.
func HasStarted(s *cnatv1alpha1.AtStatus) bool { return s.Attempts > 0 }

// ResultOf returns the result of an At that ended for a reason.
func ResultOf(reason string) cnatv1alpha1.Result {
	if reason == cnatv1alpha1.ReasonCompleted {
		return cnatv1alpha1.ResultSucceeded
	}
	return cnatv1alpha1.ResultFailed
}
