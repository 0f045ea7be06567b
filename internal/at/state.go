// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// State is what one process knows about one At beyond what its caches show. The zero value is the State of a process that
// has just started: nothing in it has to survive a restart.
//
// Each reconcile observes, plans, acts, reports, and records:
//
//	o := state.Observe(at, cached, lookedUp, now, defaults)    // the caller repeats this after it has read the pods of o.Lookups
//	plan := MakePlan(o)
//	...                                                        // the caller carries out the plan, which gives an outcome
//	if state.ReportNow(o, outcome) { ... }                     // the caller writes the status of MakeReport(o, outcome)
//	state.Record(o, outcome, now)
//
// Only Record changes a State. Everything that a State refers to is replaced and never modified, so a copy by assignment
// is independent of the original, and an Observation stays as it is.
type State struct {
	// pods are the pods that this process created or deleted and that the cache may not show so yet.
	pods expectations.Pods
	// status is the last status that this process wrote, until the cache shows it.
	status *expectations.Status[cnatv1alpha1.AtStatus]
	// rejection is the last rejection of a create.
	rejection expectations.LastRejection
	// failingSince is when the first of the last creates failed, if all since then have failed without being rejected; zero
	// otherwise. Each of these creates may have succeeded.
	failingSince time.Time
	// observed is true if a reconcile was recorded.
	observed bool
	// checked is the generation of the spec whose template the API server has checked, or 0. invalid is its message if the template is
	// invalid, or "".
	checked int64
	invalid string
	// final is the last state of the pod that was deleted last, if the watch delivered it and the status does not say how it ended.
	final *corev1.Pod
	// unrecorded is a pod that the status may not name yet: it was created or found, and the write of the status got no
	// response or is not in the cache. Without this field the command could run a second time if the pod is deleted in the
	// meantime.
	unrecorded *corev1.Pod
	// created is the pod that was created last.
	created createdPod
	// endedAt is when this process reported that the At of resource version endedVersion is done, or zero if it has not. The write of the
	// status may have got no response, and may not be in the cache. Without this field a clock that moves back could start an At whose
	// status says that it missed its deadline. A later version without that status shows that the write was rejected.
	endedAt      time.Time
	endedVersion string
}

// createdPod is what a process knows of a pod that it created and that admission may have changed.
type createdPod struct {
	uid     types.UID
	attempt int
	// unowned is true if admission gave the pod no controller reference.
	unowned bool
}

// isUnowned reports whether a pod is this one, and admission gave it no controller reference.
func (c createdPod) isUnowned(pod *corev1.Pod) bool { return c.unowned && pod.UID == c.uid }

// Observe combines what the caches show at now with what the State knows. at and cached are the At and its pods from the
// caches. lookedUp are the pods that the API server has listed, and its answers for the Lookups of earlier Observations, nil for a pod that
// does not exist.
func (s *State) Observe(at *cnatv1alpha1.At, cached []*corev1.Pod, lookedUp map[string]*corev1.Pod, now time.Time, defaults Defaults) Observation {
	next := *s
	at, next.status = expectations.Newest(at, s.status, statusOf)
	view := s.pods.Observe(cached, lookedUp, now)
	next.pods = view.Next
	o := Observation{
		At: at, Pods: view.Pods, Unseen: view.Unseen, Deleted: view.Deleted, Now: now,
		Rejection: s.rejection.Of(at.Generation), First: !s.observed, Defaults: defaults, created: s.created, next: &next,
	}
	if at.ResourceVersion == s.endedVersion && now.Before(s.endedAt) {
		o.Now = s.endedAt
	}
	o.Checked, o.Invalid = s.check(at)
	if s.final != nil {
		o.Final = []*corev1.Pod{s.final}
	}
	o.LookedUp = sets.KeySet(lookedUp)
	for _, pod := range lookedUp {
		if pod != nil && (IsOwn(at, pod) || s.created.isUnowned(pod)) && !pods.Contains(o.Pods, pod.UID) {
			o.Pods = append(o.Pods, pod)
			if !s.created.isUnowned(pod) {
				next.pods = next.pods.Created(now, pod) // Nothing else tells that the pod was deleted before the cache shows it.
			}
		}
	}
	if pod := s.unrecorded; pod != nil {
		if at.Status.PodUID == pod.UID {
			next.unrecorded = nil
		} else if !pods.Contains(o.Pods, pod.UID) {
			o.Pods = append(o.Pods, pod)
		}
	}
	o.run = o.runOf()
	o.decision = decide(o)
	o.Lookups = expectations.NotLookedUp(s.pods.Unconfirmed(cached, now), lookedUp)
	if name := o.decision.lookUp; name != "" && !slices.Contains(o.Lookups, name) {
		o.Lookups = append(o.Lookups, name)
	}
	return o
}

// check returns whether the API server has checked the template, and what it said. A process that has just started trusts the status,
// unless that says that the template is invalid: a newer API server may accept it.
func (s *State) check(at *cnatv1alpha1.At) (checked bool, invalid string) {
	if s.checked == at.Generation {
		return true, s.invalid
	}
	stored := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	return stored != nil && stored.ObservedGeneration == at.Generation && stored.Reason == cnatv1alpha1.ReasonWaiting, ""
}

// CreateIsUnanswered reports whether the last create may have succeeded without a response. The pod then may have another name than the
// one that was requested, and the cache may not show it yet. The caller lists the pods of the At from the API server.
func (s *State) CreateIsUnanswered() bool { return !s.failingSince.IsZero() }

// PodDeleted remembers the last state of a pod that was deleted.
func (s *State) PodDeleted(pod *corev1.Pod) { s.final = pod }

// createErrorGrace is how long creates may fail, without being rejected, before the status says so: a single error needs no write.
const createErrorGrace = 5 * time.Second

func statusOf(at *cnatv1alpha1.At) *cnatv1alpha1.AtStatus { return &at.Status }

// ReportNow reports whether the status must be written in the same reconcile. After a create it can wait a moment, because
// other Ats that are due must not wait for their pods.
func (s *State) ReportNow(o Observation, outcome Outcome) bool {
	if outcome.CreateError != nil {
		return !s.failingSince.IsZero() && o.Now.Sub(s.failingSince) >= createErrorGrace
	}
	return outcome.Created == nil
}

// Record remembers an observation and the outcome of the plan. o must be the last one that Observe returned. now is when the last
// response of the API server arrived.
func (s *State) Record(o Observation, outcome Outcome, now time.Time) {
	next := *o.next
	next.observed = true
	next.pods = next.pods.Deleted(outcome.Deleted...)
	if outcome.Checked {
		next.checked, next.invalid = o.At.Generation, outcome.Invalid
	}
	if outcome.Rejected != nil {
		next.rejection = next.rejection.Rejected(outcome.Rejected, o.At.Generation, o.Now, now)
	}
	if outcome.Created != nil {
		next.pods = next.pods.Created(now, outcome.Created)
		next.rejection = expectations.LastRejection{}
		next.unrecorded = outcome.Created
		next.created = createdPod{outcome.Created.UID, o.decision.attempt, pods.OwnerUID(outcome.Created) == ""}
	}
	switch {
	case outcome.CreateError == nil:
		next.failingSince = time.Time{}
	case next.failingSince.IsZero():
		next.failingSince = now
	}
	if reported := outcome.Reported; reported != nil {
		for _, pod := range o.Pods {
			if pod.UID == reported.PodUID {
				next.unrecorded = pod
			}
		}
		if IsDone(reported) {
			next.endedAt, next.endedVersion = o.Now.Round(0), o.At.ResourceVersion // The wall clock may move back, the monotonic one never does.
		}
	}
	if written := outcome.Written; written != nil {
		next.status = &expectations.Status[cnatv1alpha1.AtStatus]{Version: written.ResourceVersion, Value: written.Status}
	}
	*s = next
}

// RequeueAt returns when to reconcile the At again although nothing has changed, after a report and its outcome were recorded, or zero if
// that is not needed. It may have passed.
func (s *State) RequeueAt(o Observation, report Report, outcome Outcome) time.Time {
	if IsDone(&report.Status) {
		return report.RequeueAt
	}
	var retryAt time.Time
	if outcome.Rejected != nil {
		retryAt = s.rejection.Of(o.At.Generation).Until
	}
	return pods.Earliest(report.RequeueAt, retryAt, s.pods.CheckAt())
}
