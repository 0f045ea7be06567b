// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/backoff"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// reportWithin is the longest time that the status of a PodSet may lag behind pods that were created or deleted without
// a problem. During a series of changes, the status is written once for all of them.
const reportWithin = time.Second

// State is what one process knows about one PodSet beyond what its caches show. The zero value is the State of a
// process that has just started: nothing in it has to survive a restart.
//
// Each reconcile observes, plans, acts, reports, and records:
//
//	o := state.Observe(seen, now, defaults)       // the caller repeats this after it has read the pods of o.Lookups
//	if !o.WaitUntil.IsZero() { state.Wait(o) }    // the caller does nothing else until then, or until the cache changes
//	plan := MakePlan(o)
//	...                                           // the caller carries out the plan, which gives an outcome
//	if state.ReportNow(o, outcome) { ... }        // the caller writes the status of MakeReport(o, plan, outcome)
//	state.Record(o, plan, outcome, now)
//
// Only Record changes a State. Everything that a State refers to is replaced and never modified, so a copy by
// assignment is independent of the original, and an Observation stays as it is.
type State struct {
	// recorded is true if a reconcile was recorded.
	recorded bool
	// pods are the pods that this process created or deleted and that the cache may not show so yet.
	pods expectations.Pods
	// status is the last status that this process wrote, until the cache shows it.
	status *expectations.Status[appv1alpha1.PodSetStatus]
	// rejection is the last rejection or failure of a create.
	rejection expectations.LastRejection
	// failure is the back-off after deletions, or writes of the status, that failed again and again.
	failure backoff.Backoff
	// warnings are the last Outcome.Warnings that were not empty.
	warnings string
	// attempts are the first possible attempts of slots: see Observation.Attempts.
	attempts map[int]MinAttempt
	// maybeDeleted are the pods of Observation.MaybeDeleted.
	maybeDeleted sets.Set[types.UID]
	// modified are the pods of Observation.Modified.
	modified []*corev1.Pod
	// cleanupAt is when the finished pods may be deleted, or zero if there are none. cleanupBackoff gives the delay.
	cleanupAt      time.Time
	cleanupBackoff backoff.Backoff
	// reportBy is when the status must be written at the latest, or zero if it is up to date.
	reportBy time.Time
	// templateHash is the hash of the template of hashedGeneration, or "" if it has not been computed. Computing it
	// costs more than the rest of a reconcile that changes nothing.
	templateHash     string
	hashedGeneration int64
}

// Seen is what the caches show about one PodSet, and what the API server returned for lookups.
type Seen struct {
	// Set is the PodSet, and Pods are the pods that it controls, from the caches.
	Set  *appv1alpha1.PodSet
	Pods []*corev1.Pod
	// LookedUp are the answers of the API server to the Lookups of earlier observations: nil for a pod that does not
	// exist.
	LookedUp map[string]*corev1.Pod
}

// Observe combines what was seen at now with what the State knows.
func (s *State) Observe(seen Seen, now time.Time, defaults Defaults) Observation {
	next := *s
	var set *appv1alpha1.PodSet
	set, next.status = expectations.Newest(seen.Set, s.status, statusOf)
	view := s.pods.Observe(seen.Pods, seen.LookedUp, now)
	next.pods = view.Next
	if next.templateHash == "" || next.hashedGeneration != set.Generation {
		next.templateHash, next.hashedGeneration = HashTemplate(set.Spec.Template), set.Generation
	}
	next.modified = slices.DeleteFunc(slices.Clone(s.modified), func(pod *corev1.Pod) bool { // Another client has taken it from its owner.
		return view.WaitUntil.IsZero() && metav1.IsControlledBy(pod, set) && !pods.Contains(seen.Pods, pod.UID)
	})
	o := Observation{
		Set:          set,
		TemplateHash: next.templateHash,
		Pods:         slices.Clip(seen.Pods),
		Deleted:      view.Deleted,
		WaitUntil:    view.WaitUntil,
		Lookups:      view.Lookups,
		MaybeDeleted: s.maybeDeleted,
		Attempts:     s.attempts,
		Modified:     next.modified,
		Now:          now,
		Rejection:    s.rejection.Of(set.Generation),
		Warnings:     s.warnings,
		Defaults:     defaults,
		next:         &next,
	}
	if !s.recorded {
		o.confirmNamed(seen.LookedUp)
	}
	switch {
	case !o.hasFinished():
		next.cleanupAt = time.Time{}
	case next.cleanupAt.IsZero():
		next.cleanupBackoff = next.cleanupBackoff.Next(now, now, backoff.FinishedPods)
		next.cleanupAt = next.cleanupBackoff.Until
	}
	o.CleanupAt = next.cleanupAt
	return o
}

// confirmNamed requests lookups of the pods that the status lists and the cache does not show, and adds those that
// exist. A new process can see a PodSet before its pods: if it had no permission to list pods at first, its cache has
// none. It would create them again.
func (o *Observation) confirmNamed(lookedUp map[string]*corev1.Pod) {
	for _, name := range o.Set.Status.PodNames {
		shown := slices.ContainsFunc(o.Pods, func(pod *corev1.Pod) bool { return pod.Name == name })
		if shown || len(validation.IsDNS1123Subdomain(name)) > 0 { // Any user with write access to the status can write any name.
			continue
		}
		switch pod, asked := lookedUp[name]; {
		case !asked:
			o.Lookups = append(o.Lookups, name)
		case pod != nil && metav1.IsControlledBy(pod, o.Set):
			o.Pods = append(o.Pods, pod)
			o.next.pods = o.next.pods.Created(o.Now, pod)
		}
	}
}

func statusOf(set *appv1alpha1.PodSet) *appv1alpha1.PodSetStatus { return &set.Status }

// ReportNow reports whether the status must be written now. After writes of pods that all succeeded it can wait for the
// changes that follow, but at most reportWithin.
func (s *State) ReportNow(o Observation, outcome Outcome) bool {
	return !outcome.Succeeded() || !s.reportBy.IsZero() && !o.Now.Before(s.reportBy)
}

// Wait remembers which pods an observation with WaitUntil still expects. It replaces Record.
func (s *State) Wait(o Observation) { s.pods = o.next.pods }

// Record remembers an observation and the outcome of its plan. o must be the last one that Observe returned. now is
// when the last response of the API server arrived: a response can take a while, and delays count from it.
func (s *State) Record(o Observation, plan Plan, outcome Outcome, now time.Time) {
	next := *o.next
	next.recorded = true
	next.attempts = attemptsAfter(o, next.attempts, plan, outcome)
	for _, pod := range outcome.Modified {
		if metav1.IsControlledBy(pod, o.Set) { // The cache will show it.
			next.pods = next.pods.Created(now, pod)
		}
	}
	next.pods = next.pods.Created(now, outcome.Created...).Deleted(outcome.Deleted...).Deleted(outcome.CleanedUp...)
	next.maybeDeleted = maybeDeletedAfter(o, plan, outcome)
	next.modified = slices.DeleteFunc(slices.Concat(next.modified, outcome.Modified), func(pod *corev1.Pod) bool {
		return pods.Contains(outcome.Deleted, pod.UID)
	})
	switch {
	case outcome.Rejected != nil:
		next.rejection = next.rejection.Rejected(outcome.Rejected, o.Set.Generation, o.Now, now)
	case outcome.CreateError != nil && len(outcome.Created) > 0: // Some succeed.
		next.rejection = expectations.LastRejection{}.Failed(outcome.CreateError, o.Set.Generation, o.Now, now)
	case outcome.CreateError != nil:
		next.rejection = next.rejection.Failed(outcome.CreateError, o.Set.Generation, o.Now, now)
	case len(outcome.Created) > 0 && outcome.Conflicting == nil:
		next.rejection = expectations.LastRejection{}
	}
	if outcome.DeleteError != nil || outcome.StatusError != nil {
		next.failure = next.failure.Next(o.Now, now, backoff.FailedWrite)
	}
	next.warnings = cmp.Or(outcome.Warnings, next.warnings)
	// A failed deletion of finished pods is retried as an error is, and the next delay begins after it has succeeded.
	if len(outcome.CleanedUp) > 0 && !o.after(outcome).hasFinished() {
		next.cleanupAt = time.Time{}
	}
	switch {
	case outcome.Reported:
		next.reportBy = time.Time{}
	case next.reportBy.IsZero():
		next.reportBy = o.Now.Add(reportWithin)
	}
	if written := outcome.Written; written != nil {
		next.status = &expectations.Status[appv1alpha1.PodSetStatus]{Version: written.ResourceVersion, Value: written.Status}
	}
	*s = next
}

// maybeDeletedAfter returns the pods with unanswered deletions after a plan was carried out, as long as the cache shows
// them.
func maybeDeletedAfter(o Observation, plan Plan, outcome Outcome) sets.Set[types.UID] {
	var unanswered sets.Set[types.UID]
	for _, pod := range o.Pods {
		requested := o.MaybeDeleted.Has(pod.UID) || pods.Contains(plan.Delete, pod.UID)
		if !requested || pods.Contains(outcome.Deleted, pod.UID) || o.isTerminating(pod) {
			continue
		}
		if unanswered == nil {
			unanswered = sets.New[types.UID]()
		}
		unanswered.Insert(pod.UID)
	}
	return unanswered
}

// RequeueAt returns when to reconcile the PodSet again although nothing has changed, or zero if that is not needed. It
// may be in the past. o, report, and outcome are those that were recorded last.
func (s *State) RequeueAt(o Observation, report Report, outcome Outcome) time.Time {
	requeueAt := pods.Earliest(o.Now, report.RequeueAt, s.pods.CheckAt())
	if outcome.createProblem() != nil {
		requeueAt = pods.Earliest(o.Now, requeueAt, s.rejection.Of(o.Set.Generation).Until)
	}
	if outcome.DeleteError != nil || outcome.StatusError != nil {
		requeueAt = pods.Earliest(o.Now, requeueAt, s.failure.Until)
	}
	if len(o.Modified) > 0 { // The plan did nothing else, and their deletion causes no event.
		requeueAt = o.Now
	}
	return requeueAt
}
