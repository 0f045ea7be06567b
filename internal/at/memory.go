// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"slices"
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
	// recorded is the pod whose UID the status records.
	recorded podMemory
	// prepared is a pod that this process created, and whose create it was answered itself. Its UID is not recorded yet. modified is what
	// admission changed in it, or "".
	prepared podMemory
	modified string
	// taken is true if the last create was answered with: this name exists.
	taken bool
	// protected is the UID of the pod for which the API server confirmed the budget of an uninterrupted At to this process, or "". protects is
	// true from the record of the end until the budget is deleted.
	protected types.UID
	protects  bool
	// rejection is the last rejection of a request about a pod or its budget.
	rejection expectations.LastRejection
	// dryRun is the last answer to a dry run.
	dryRun dryRun
	// failure is the last error of a request about a pod that was not a rejection, or "". failingSince is when these errors began.
	failure      string
	failingSince time.Time
	// last is the At of the last pass, as it was read or written. It counts until the cache shows a later one: a decision about an older spec
	// must not be written with the version of a newer one.
	last *cnatv1alpha1.At
	// deleted are the pods that the API server has deleted for this process, or did not have. Each is gone, or has its deletion timestamp,
	// whatever the cache shows.
	deleted []types.UID
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
	uid := at.Status.PodUID
	if p := m.prepared.pod; p != nil && p.UID == uid {
		m.recorded, m.prepared = m.prepared, podMemory{}
	}
	m.recorded = m.recorded.observe(uid, seen, answers, now)
	m.observePrepared(seen, answers, now)
	v := View{
		At: at, Now: now, pods: seen.Pods, answers: answers, defaults: defaults, recorded: m.recorded, prepared: m.prepared,
		modified: m.modified, deleted: m.deleted, taken: m.taken, protected: m.protected, protects: m.protects,
		rejection: m.rejection.Of(at.Generation), dryRun: m.dryRun.of(at), first: m.last == nil,
	}
	if !m.failingSince.IsZero() && now.Sub(m.failingSince) >= failureGrace {
		v.failure = m.failure
	}
	if m.recorded.exists(uid, seen, now) && !answers.deny(m.recorded.pod) {
		v.Pod = m.recorded.pod
	}
	v.unsure = m.prepared.pod != nil && !m.prepared.exists(m.prepared.pod.UID, seen, now)
	if answers.DryRun != nil {
		v.dryRun = v.dryRun.answered(&v)
	}
	for _, pod := range seen.Older {
		if v.older == nil || pod.Name < v.older.Name {
			v.older = pod
		}
	}
	return v
}

// observePrepared updates what is known about the prepared pod, or forgets a pod that is gone or that the At no longer controls.
func (m *Memory) observePrepared(seen Seen, answers Answers, now time.Time) {
	p := m.prepared.pod
	if p == nil || m.isModified() {
		return
	}
	m.prepared = m.prepared.observe(p.UID, seen, answers, now)
	if m.prepared.gone || answers.deny(p) || answers.Pods[p.Name] != nil && pods.OwnerUID(answers.Pods[p.Name]) != seen.At.UID {
		m.prepared = podMemory{}
	}
}

func (m *Memory) isModified() bool { return m.modified != "" }

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
	if step.record != nil { // The pod is recorded now.
		m.recorded, m.prepared, m.modified = m.prepared, podMemory{}, ""
		m.recorded.pod = newer(m.recorded.pod, step.record)
	}
	if step.stops && m.recorded.stopSince.IsZero() {
		m.recorded.stopSince = v.Now
	}
	m.dryRun = v.dryRun
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
	switch {
	case r.Rejected != nil:
		m.rejection = m.rejection.Rejected(r.Rejected, v.At.Generation, v.Now, now)
	case r.Failed != nil:
		m.failure = r.Failed.Error()
		if m.failingSince.IsZero() {
			m.failingSince = now
		}
		return
	case step.Create != nil:
		m.taken, m.rejection = r.Taken, expectations.LastRejection{}
		m.modified = r.Modified
		if r.Pod != nil {
			m.prepared = podMemory{pod: r.Pod, generation: v.At.Generation, confirmed: now}
		}
	case step.Open != nil:
		m.rejection = expectations.LastRejection{}
	case step.Protect != nil:
		m.protected, m.rejection = v.At.Status.PodUID, expectations.LastRejection{}
	case step.Unprotect != nil:
		m.protects = false
	case step.Delete != nil:
		m.deletedPod(v, step.Delete, r.Missing)
	}
	if pod := r.Pod; pod != nil && m.recorded.pod != nil && pod.UID == m.recorded.pod.UID {
		m.recorded.pod, m.recorded.confirmed = newer(m.recorded.pod, pod), now
	}
	m.failingSince = time.Time{}
}

// deletedPod remembers that the API server has deleted a pod in this state, or that it was missing.
func (m *Memory) deletedPod(v *View, pod *corev1.Pod, missing bool) {
	shown := slices.DeleteFunc(slices.Clone(m.deleted), func(uid types.UID) bool { return !pods.Contains(v.pods, uid) })
	m.deleted = append(shown, pod.UID)
	for _, memory := range []*podMemory{&m.recorded, &m.prepared} {
		if !missing && !isBound(pod) && memory.pod != nil && memory.pod.UID == pod.UID {
			memory.pod, memory.gone = pod, true
		}
	}
}

// uncachedAt returns when to look up a pod that the cache has not shown, or zero if there is none.
func (m *Memory) uncachedAt() time.Time {
	if m.recorded.pod != nil && !m.recorded.shown && !m.recorded.gone {
		return m.recorded.confirmed.Add(expectations.ConfirmAfter)
	}
	return time.Time{}
}

// LastRun returns the At and the pod of the last pass if an attempt had started and not ended, or nil.
func (m *Memory) LastRun() (*cnatv1alpha1.At, *corev1.Pod) {
	if m.last == nil || m.last.Status.PodUID == "" || atrun.IsDone(&m.last.Status) {
		return nil, nil
	}
	return m.last, m.recorded.pod
}

// RequeueAt returns when to decide again although nothing has changed, or zero if that is not needed. It may be in the past. urgent is false
// if other Ats can come first. A pass that did not look up a pod which was missing for long enough does not need it.
func (m *Memory) RequeueAt(v *View, step Step) (when time.Time, urgent bool) {
	return pods.Earliest(v.Now, step.requeueAt, future(m.uncachedAt(), v.Now)), m.failure == "" && v.rejection == nil && !step.CanWait
}
