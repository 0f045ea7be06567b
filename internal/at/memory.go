// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// Memory is what one process knows about one At beyond what its caches show. The zero value is the Memory of a process that has just
// started: nothing in it must survive a restart. Each pass is:
//
//	v := memory.View(seen, answers, now, defaults)
//	step := Next(&v)                    // the caller answers step.Ask and repeats both, until there is nothing to ask
//	report := MakeReport(&v, step)      // the caller writes the status if it has changed: memory.Recorded
//	...                                 // the caller sends the request of the step: memory.Heard
//
// Everything that a Memory refers to is replaced and never modified, so a copy by assignment is independent of the original.
type Memory struct {
	// stale is true if the last write of the status was rejected as a conflict: the next pass reads the At from the API server.
	stale bool
	// known are the pods of the At. modified is a created pod whose identity admission changed.
	known    []knownPod
	modified modification
	// stopSince is when the process last asked the recorded pod to end, or else first saw that its own deadline ends it, or zero.
	stopSince time.Time
	// taken is true if the last create was answered with: this name exists.
	taken bool
	// protected is the UID of the pod for which the API server confirmed the budget of an uninterrupted At to this process, or "". protects is
	// true from the record of the end until the budget is deleted.
	protected types.UID
	protects  bool
	// rejection is the last rejection of a request about a pod or its budget. rejectedChange is true if it was not about a create of a pod.
	rejection      expectations.LastRejection
	rejectedChange bool
	// dryRun is the last answer to a dry run.
	dryRun dryRun
	// failure is the last error of a request about a pod that was not a rejection, or "". failingSince is when these errors began.
	failure      string
	failingSince time.Time
	// last is the At of the last pass, as it was read or written. It counts until the cache shows a later one: a decision about an older spec
	// must not be written with the version of a newer one.
	last *cnatv1alpha1.At
}

// failureGrace is how long requests about a pod may fail without a rejection before the status reports it: a single error needs no write.
const failureGrace = 5 * time.Second

// View combines what was seen and answered at now with what the Memory knows. The Memory keeps what was seen.
func (m *Memory) View(seen Seen, answers Answers, now time.Time, defaults Defaults) View {
	if answers.At != nil {
		seen.At = answers.At
	}
	if m.last != nil && expectations.IsLater(m.last, seen.At.ResourceVersion) {
		seen.At = m.last
	}
	at := seen.At
	m.seeModified(at, answers, now)
	m.known = observe(m.known, seen, answers, now)
	v := View{
		At: at, Now: now, answers: answers, defaults: defaults, known: m.known, recorded: find(m.known, at.Status.PodUID), modified: m.modified,
		taken: m.taken, stopSince: m.stopSince, protected: m.protected, protects: m.protects,
		rejection: m.rejection.Of(at.Generation), dryRun: m.dryRun.of(at), first: m.last == nil,
	}
	if v.recorded.exists {
		v.Pod = v.recorded.pod
	}
	if m.rejectedChange && !v.runsOn() { // It says nothing about the create of another pod.
		v.rejection = nil
	}
	if !m.failingSince.IsZero() && now.Sub(m.failingSince) >= failureGrace {
		v.failure = m.failure
	}
	if answers.DryRun != nil && !v.isIncomplete() {
		v.dryRun = v.dryRun.answered(&v)
	}
	m.dryRun = v.dryRun // Not only after the write of the status, which can fail.
	for _, pod := range seen.Older {
		if v.older == nil || pod.Name < v.older.Name {
			v.older = pod
		}
	}
	return v
}

// seeModified updates what is known about the pod that admission has modified. Once the status records it, it is one of the At's pods, even if
// the write of the status was not answered.
func (m *Memory) seeModified(at *cnatv1alpha1.At, answers Answers, now time.Time) {
	pod := m.modified.pod
	switch {
	case pod == nil:
	case at.Status.PodUID == pod.UID:
		m.known, m.modified = with(m.known, pod, func(k *knownPod) { k.confirmed = now }), modification{}
	case answers.Pods[pod.Name] != nil && answers.Pods[pod.Name].UID == pod.UID:
		m.modified.pod = answers.Pods[pod.Name]
	}
}

// IsStale reports whether the next pass must read the At from the API server, because the cache was behind when its status was written.
func (m *Memory) IsStale() bool { return m.stale }

// Conflicted remembers that a write of the status was rejected as a conflict.
func (m *Memory) Conflicted() { m.stale = true }

// Recorded remembers that the status of an At was written or needed no write.
func (m *Memory) Recorded(v *View, step Step, written *cnatv1alpha1.At) {
	m.last, m.stale = v.At, false
	m.protects = m.protects || step.Unprotect != nil
	if written != nil {
		m.last = written
	}
	if step.record != nil {
		m.stopSince = time.Time{}
	}
	if step.stops && m.stopSince.IsZero() {
		m.stopSince = v.Now
	}
}

// Result is the answer to the request of a step.
type Result struct {
	// Pod is the pod of the answer, trimmed, or nil. Modified is what admission changed in a created pod: see atrun.Modified.
	Pod      *corev1.Pod
	Modified string
	// Taken is true if a create was answered with: this name exists.
	Taken bool
	// Missing is true if the deletion of a pod was answered with: there is no such pod. It is not known whether the pod ran.
	Missing bool
	// Rejected is the error if the API server understood a create or the removal of a gate, and rejected it, or if the name of the budget is
	// taken; otherwise nil.
	Rejected error
	// Failed is any other error. The API server or an admission webhook does not work or does not respond.
	Failed error
}

// Heard remembers the answer to the request of a step, which arrived at now.
func (m *Memory) Heard(v *View, step Step, r Result, now time.Time) {
	m.failure = ""
	if step.Stop != nil && r.Rejected == nil { // It may have had an effect even if it was not answered.
		m.stopSince = now
	}
	switch {
	case r.Rejected != nil:
		m.rejection, m.rejectedChange = m.rejection.Rejected(r.Rejected, v.At.Generation, v.Now, now), step.Create == nil
	case r.Failed != nil:
		m.failure = r.Failed.Error()
		if m.failingSince.IsZero() {
			m.failingSince = now
		}
		return
	case step.Create != nil:
		m.taken, m.rejection = r.Taken, expectations.LastRejection{}
		m.created(r, v.At, now)
	case step.Open != nil, step.Stop != nil:
		m.rejection = expectations.LastRejection{}
	case step.Protect != nil:
		m.protected, m.rejection = v.At.Status.PodUID, expectations.LastRejection{}
	case step.Unprotect != nil:
		m.protects = false
	case step.Delete != nil:
		m.deletedPod(step.Delete, r.Missing, step.Delete.UID == v.At.Status.PodUID)
	}
	if patched := r.Pod; patched != nil && step.Create == nil {
		m.known = with(m.known, patched, func(k *knownPod) { k.confirmed = now })
	}
	m.failingSince = time.Time{}
}

// created remembers the pod of a create. Another pod that had its name is gone. If the status records that pod, its last state is not known.
func (m *Memory) created(r Result, at *cnatv1alpha1.At, now time.Time) {
	m.modified = modification{}
	if r.Modified != "" || r.Pod == nil {
		m.modified = modification{what: r.Modified, pod: r.Pod}
		return
	}
	for _, k := range m.known {
		if k.pod.Name == r.Pod.Name && k.pod.UID != at.Status.PodUID {
			m.known = with(m.known, k.pod, func(k *knownPod) { k.gone = true })
		}
	}
	m.known = with(m.known, r.Pod, func(k *knownPod) { k.generation, k.confirmed = at.Generation, now })
}

// deletedPod remembers that the API server has deleted a pod in this state, or that it was missing. A pod that has no node is gone then. The
// last state of a recorded pod that was missing is not known.
func (m *Memory) deletedPod(pod *corev1.Pod, missing, recorded bool) {
	m.known = with(m.known, pod, func(k *knownPod) {
		k.deleted, k.gone = true, k.gone || !isBound(pod) && (!missing || !recorded)
	})
	if m.modified.pod != nil && m.modified.pod.UID == pod.UID {
		m.modified.deleted = !missing
	}
}

// LastRun returns the At and the pod of the last pass if an attempt had started and not ended, or nil.
func (m *Memory) LastRun() (*cnatv1alpha1.At, *corev1.Pod) {
	if m.last == nil || m.last.Status.PodUID == "" || atrun.IsDone(&m.last.Status) {
		return nil, nil
	}
	return m.last, find(m.known, m.last.Status.PodUID).pod
}

// RequeueAt returns when to decide again although nothing has changed, or zero if that is not needed. It may be in the past. urgent is false
// if other Ats can come first. A recorded pod that the cache has not shown is looked up after a while.
func (m *Memory) RequeueAt(v *View, step Step) (when time.Time, urgent bool) {
	lookUpAt := time.Time{}
	if k := find(m.known, m.last.Status.PodUID); k.exists && !k.shown {
		lookUpAt = k.confirmed.Add(expectations.ConfirmAfter)
	}
	return pods.Earliest(v.Now, step.requeueAt, lookUpAt), m.failure == "" && v.rejection == nil && !step.CanWait
}
