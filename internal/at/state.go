// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// State is what one process knows about one At beyond what its caches show. The zero value is the State of a process that has just started:
// nothing in it must survive a restart.
//
// Each reconcile observes, plans, acts, reports, and records:
//
//	o := state.Observe(seen, now, defaults)       // the caller repeats this after it has read the pod of plan.LookUp
//	plan := MakePlan(o)
//	...                                           // the caller carries out the plan, which gives an outcome
//	if state.ReportNow(o, plan, outcome) { ... }  // the caller writes the status of MakeReport(o, plan, outcome)
//	state.Record(o, plan, outcome, now)
//
// A plan that starts an attempt is recorded after the status of StartedStatus was written. The next observation then has the plan to create
// the pod.
//
// Only Record changes a State. Everything that a State refers to is replaced and never modified, so a copy by assignment is independent of
// the original, and an Observation stays as it is.
type State struct {
	// pods are the pods that this process created or deleted and that the cache may not show so yet.
	pods expectations.Pods
	// status is the last status that this process wrote, until the cache shows it.
	status *expectations.Status[cnatv1alpha1.AtStatus]
	// rejection is the last rejection of a create.
	rejection expectations.LastRejection
	// check is the last answer to a check of the pod.
	check Check
	// known is what is known about the pod of the attempt with this number, from 1.
	known   Known
	attempt int32
	// failingSince is when the current series of requests about the pod that failed without a rejection began, or zero if there is none.
	failingSince time.Time
	// observed is true if a reconcile was recorded.
	observed bool
}

// Seen is what the caches show about one At, and what the API server returned for lookups.
type Seen struct {
	// At is the At, Pods are the pods that it controls, and Older those that a deleted At of the same name controls, from the caches.
	At          *cnatv1alpha1.At
	Pods, Older []*corev1.Pod
	// LookedUp are the answers of the API server to the lookups of earlier plans: nil for a pod that does not exist.
	LookedUp map[string]*corev1.Pod
	// LastState is the last state of the At's most recently deleted pod, or nil if the watch delivered none.
	LastState *corev1.Pod
}

// Observe combines what was seen at now with what the State knows.
func (s *State) Observe(seen Seen, now time.Time, defaults Defaults) Observation {
	at, _ := expectations.Newest(seen.At, s.status, statusOf)
	o := Observation{
		At: at, LookedUp: seen.LookedUp, Now: now, Rejection: s.rejection.Of(at.Generation), Check: s.check,
		First: !s.observed, Defaults: defaults,
	}
	if s.check.generation != at.Generation {
		o.Check = storedCheck(at)
	}
	if s.attempt == at.Status.Attempts {
		o.Known = s.known
	}
	for _, pod := range seen.Older {
		if o.Older == nil || pod.Name < o.Older.Name {
			o.Older = pod
		}
	}
	view := s.pods.Observe(seen.Pods, seen.LookedUp, now)
	o.Pods, o.Unseen, o.Deleted, o.expected = view.Pods, view.Unseen, view.Deleted, view.Next
	o.unconfirmed = expectations.NotLookedUp(s.pods.Unconfirmed(seen.Pods, now), seen.LookedUp)
	for _, pod := range seen.LookedUp {
		if pod != nil && atrun.IsOwn(at, pod) && !pods.Contains(o.Pods, pod.UID) {
			o.Pods = append(o.Pods, pod)
			o.expected = o.expected.Created(now, pod) // Nothing else shows that the pod was deleted before the cache shows it.
		}
	}
	o.observePod(seen.LastState)
	return o
}

// observePod adds what the observation shows about the pod of the newest attempt.
func (o *Observation) observePod(last *corev1.Pod) {
	r := o.run()
	if last != nil && last.UID == r.uid {
		o.Known.LastState = last
	}
	switch {
	case r.pod != nil:
		o.Known.Pod, o.Known.MissingSince = r.pod, time.Time{}
	case r.uid != "" && o.Known.MissingSince.IsZero():
		o.Known.MissingSince = o.Now
	}
}

// createErrorGrace is how long requests about a pod may fail without a rejection before the status reports it: a single error needs no
// write.
const createErrorGrace = 5 * time.Second

// versionOf returns the version of the object after a write of its status, or "" if no write is expected.
func versionOf(status *expectations.Status[cnatv1alpha1.AtStatus]) string {
	if status == nil {
		return ""
	}
	return status.Version
}

func statusOf(at *cnatv1alpha1.At) *cnatv1alpha1.AtStatus { return &at.Status }

// ReportNow reports whether the status must be written in the same reconcile. After a create it can wait a moment, because other Ats that
// are due must not wait for their pods.
func (s *State) ReportNow(o Observation, plan Plan, outcome Outcome) bool {
	if outcome.CreateError != nil || plan.Check != nil && outcome.Answer == nil {
		return !s.failingSince.IsZero() && o.Now.Sub(s.failingSince) >= createErrorGrace
	}
	return outcome.Created == nil
}

// Record remembers an observation and the outcome of its plan. o must be the last one that Observe returned. now is when the last response
// of the API server arrived.
func (s *State) Record(o Observation, plan Plan, outcome Outcome, now time.Time) {
	next := *s
	next.observed = true
	next.known, next.attempt = o.Known, o.At.Status.Attempts
	if plan.Create != nil {
		next.known.Begun = false
	}
	next.pods = o.expected.Deleted(outcome.Deleted...)
	if pod := next.known.Pod; pod != nil && pods.Contains(outcome.Deleted, pod.UID) {
		next.known.Changed = ""
	}
	if o.At.ResourceVersion != versionOf(next.status) {
		next.status = nil // The cache shows it.
	}
	if plan.Check != nil && outcome.Answer != nil {
		next.check = o.Check.answered(outcome.Answer, plan, o.At, o.Now, now)
	}
	if outcome.Rejected != nil {
		next.rejection = next.rejection.Rejected(outcome.Rejected, o.At.Generation, o.Now, now)
	}
	if pod := outcome.Created; pod != nil {
		next.pods = next.pods.Created(now, pod)
		next.rejection = expectations.LastRejection{}
		next.known.Pod, next.known.Changed = pod, outcome.Changed
	}
	switch failing := outcome.CreateError != nil || plan.Check != nil && outcome.Answer == nil; {
	case !failing:
		next.failingSince = time.Time{}
	case next.failingSince.IsZero():
		next.failingSince = now
	}
	if written := outcome.Written; written != nil {
		next.status = &expectations.Status[cnatv1alpha1.AtStatus]{Version: written.ResourceVersion, Value: written.Status}
		if written.Status.Attempts > o.At.Status.Attempts {
			next.known, next.attempt = Known{Begun: true}, written.Status.Attempts
		}
	}
	*s = next
}

// RequeueAt returns when to reconcile the At again although nothing has changed, after a report and its outcome were recorded, or zero if
// that is not needed. It may be in the past. canWait is true if this reconcile only checks the pod again.
func (s *State) RequeueAt(o Observation, plan Plan, report Report, outcome Outcome) (at time.Time, canWait bool) {
	if atrun.IsDone(&report.Status) {
		return report.RequeueAt, false
	}
	var retryAt, checkAt time.Time
	if outcome.Rejected != nil {
		retryAt = s.rejection.Of(o.At.Generation).Until
	}
	switch {
	case plan.Check != nil && outcome.Answer == nil: // The caller requests the At when the check can be made.
		if grace := s.failingSince.Add(createErrorGrace); o.Now.Before(grace) {
			checkAt = grace
		}
	case plan.waits && outcome.Answer != nil:
		checkAt = s.check.next(&o)
	case plan.waits:
		checkAt = o.Check.next(&o)
	}
	urgent := pods.Earliest(o.Now, report.RequeueAt, retryAt, s.pods.CheckAt())
	at = pods.Earliest(o.Now, urgent, checkAt)
	return at, !at.Equal(urgent)
}
