// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/backoff"
	"github.com/redhat/podset-operator/internal/pods"
)

func endedRun(o *Observation) (Plan, bool) {
	pod := o.run().pod
	if pod == nil {
		return Plan{}, false
	}
	return o.ended(atrun.EndOf(o.At, pod)), true // liveRun has excluded a pod that has not ended.
}

// ended returns what follows from the end of the newest attempt.
func (o *Observation) ended(e atrun.End) Plan {
	attempt := o.run().attempt
	retries := attempt < o.backoffLimit() && o.mayRetry(e) && !o.isDeleted()
	switch {
	case e.Proof == atrun.Succeeded && (!e.Stopped || !o.isCanceled() && !o.deadlineOver()): // 16
		return o.finish(e)
	case o.isCanceled() && (retries || e.Stopped): // 17
		return o.finish(canceledEnd(e))
	case o.deadlineOver() && (retries || e.ByDeadline || e.Stopped): // 18
		return o.finish(o.deadlineEnd(e))
	case !retries: // 20
		if attempt < o.backoffLimit() && e.Proof == atrun.Unknown {
			e.Message += ", so it is not retried"
		}
		return o.finish(e)
	}
	retry := backoff.Retry(attempt, o.Now) // 19
	p := o.wait(started(fmt.Sprintf("attempt %d of %d failed: %s: %s; the next one is due at %s",
		attempt+1, o.backoffLimit()+1, e.Reason, e.Message, formatTime(retry))), pods.Earliest(o.Now, retry, o.deadline()))
	p.retry, p.exitCode, p.output = retry, e.ExitCode, e.Output
	return p
}

// mayRetry reports whether the proof of an end allows another attempt.
func (o *Observation) mayRetry(e atrun.End) bool {
	codes := o.At.Spec.RetryExitCodes
	return e.Proof == atrun.NotRun || e.Proof == atrun.Failed && (len(codes) == 0 || slices.Contains(codes, *e.ExitCode))
}

// betweenAttempts continues a run whose newest attempt has failed, as the status records. Its pod does not matter anymore.
func betweenAttempts(o *Observation) (Plan, bool) {
	attempt, s := o.run().attempt, &o.At.Status
	if attempt < 0 || s.RetryTime == nil || attempt >= o.backoffLimit() {
		return Plan{}, false
	}
	e, known := atrun.RecordedEnd(s)
	if !known {
		e = atrun.End{Proof: atrun.NotRun, Reason: cnatv1alpha1.ReasonPodFailed, Message: fmt.Sprintf("pod %s did not run the command", s.PodName)}
	}
	switch {
	case o.isCanceled(): // 5
		return o.finish(canceledEnd(e)), true
	case o.deadlineOver(): // 6
		return o.finish(o.deadlineEnd(e)), true
	}
	message := fmt.Sprintf("attempt %d of %d failed: %s", attempt+1, o.backoffLimit()+1, e.Message)
	if stored := o.condition(cnatv1alpha1.ConditionScheduled); stored != nil && stored.Reason == cnatv1alpha1.ReasonStarted {
		message = stored.Message // It has more details.
	}
	var p Plan
	if retry := s.RetryTime.Time; o.Now.Before(retry) { // 7
		p = o.wait(started(message), pods.Earliest(o.Now, retry, o.deadline()))
	} else { // 8
		p = o.start(attempt+1, started(message))
	}
	p.retry, p.exitCode, p.output = s.RetryTime.Time, s.ExitCode, s.Output
	p.Delete = o.deletable(o.run().pod) // Its other containers may still run.
	return p, true
}
