// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// Memory is what one process knows about one At beyond what its caches show. The zero value is the Memory of a process
// that has just started. A process may lose it at any time. Each pass is:
//
//	v := memory.View(seen, answers, now, defaults)
//	step := Next(&v)                    // the caller answers step.Ask and repeats both, until there is nothing to ask
//	report := MakeReport(&v, step)      // the caller writes the status if it has changed: memory.Recorded
//	...                                 // the caller sends the request of the step: memory.Heard
//
// Everything that a Memory refers to is replaced and never modified, so a copy by assignment is independent of the
// original.
type Memory struct {
	// stale is true if the last write of the status was rejected as a conflict: the next pass reads the At from the API
	// server.
	stale bool
	// run is the pod that the status records. prepared is the pod whose create was answered to this process.
	run, prepared podState
	// stopSince is when the process first decided to end the recorded pod, which a node had, or zero.
	stopSince time.Time
	// rejections are the last rejections of each kind of request about a pod.
	rejections [requests]expectations.LastRejection
	// dryRun is the last answer to a dry run.
	dryRun dryRun
	// failure is the last error of a request about a pod that was not a rejection, or "". failingSince is when these
	// errors began.
	failure      string
	failingSince time.Time
	// last is the At of the last pass, as it was read or written. It counts until the cache shows a later one: a
	// decision about an older spec must not be written with the version of a newer one.
	last *cnatv1alpha1.At
}

// failureGrace is how long requests about a pod may fail without a rejection before the status reports it: a single
// error needs no write.
const failureGrace = 5 * time.Second

// request is a kind of request about a pod. A rejection of one says nothing about the others.
type request int

const (
	toCreate request = iota
	toOpen
	toStop
	toDelete
	requests
)

func (r request) String() string { return [...]string{"create", "open", "stop", "delete"}[r] }

// kind returns the kind of the request of a step. An At gets its budget as a part of the start.
func (s Step) kind() request {
	switch {
	case s.Create != nil:
		return toCreate
	case s.Open != nil:
		return toOpen
	case s.Stop != nil:
		return toStop
	}
	return toDelete
}

// View combines what was seen and answered at now with what the Memory knows. The Memory keeps what was seen.
func (m *Memory) View(seen Seen, answers Answers, now time.Time, defaults Defaults) View {
	if answers.At != nil {
		seen.At = answers.At
	}
	if m.last != nil && expectations.IsLater(m.last, seen.At.ResourceVersion) {
		seen.At = m.last
	}
	at := seen.At
	m.observe(seen, answers, now)
	v := View{
		At: at, Now: now, answers: answers, defaults: defaults, run: m.run, stopSince: m.stopSince,
		rejections: m.rejections, dryRun: m.dryRun.of(at), first: m.last == nil,
	}
	if m.run.exists(now) {
		v.Pod = m.run.pod
	}
	v.prepared, v.own, v.lastStates = m.prepared, ownPods(seen, answers, m.run, m.prepared), seen.LastStates
	if !m.failingSince.IsZero() && now.Sub(m.failingSince) >= failureGrace {
		v.failure = m.failure
	}
	for _, pod := range seen.OfPredecessor {
		if v.predecessorPod == nil || pod.Name < v.predecessorPod.Name {
			v.predecessorPod = pod
		}
	}
	if answers.DryRun != nil {
		v.dryRun = v.dryRun.answered(&v)
	}
	m.dryRun = v.dryRun // Not only after the write of the status, which can fail.
	return v
}

// observe updates the two pods that are known after a look at the caches and at the answers.
func (m *Memory) observe(seen Seen, answers Answers, now time.Time) {
	uid := seen.At.Status.PodUID
	if m.run.uid() != uid {
		m.run, m.stopSince = podState{}, time.Time{}
		if m.prepared.uid() == uid {
			m.run, m.prepared = m.prepared, podState{}
		}
	}
	if uid != "" {
		m.run = m.run.observe(seen, answers, uid, recordedName(seen.At), now)
	}
	if pod := m.prepared.pod; pod != nil {
		m.prepared = m.prepared.observe(seen, answers, pod.UID, pod.Name, now)
	}
}

// ownPods returns the newest known state of each pod that the At controls, or that was created for it.
func ownPods(seen Seen, answers Answers, known ...podState) (own []*corev1.Pod) {
	add := func(pod *corev1.Pod) {
		if !pods.Contains(own, pod.UID) && !pods.Contains(seen.LastStates, pod.UID) {
			own = append(own, pod)
		}
	}
	for _, k := range known {
		if k.pod != nil && !k.isGone() {
			add(k.pod)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(answers.Pods)) {
		if pod := answers.Pods[name]; pod != nil && (proof.IsOwn(seen.At, pod) || proof.LostOwner(seen.At, pod)) {
			add(pod)
		}
	}
	for _, pod := range seen.Pods {
		add(pod)
	}
	return own
}

// IsStale reports whether the next pass must read the At from the API server, because the cache was behind when its
// status was written.
func (m *Memory) IsStale() bool { return m.stale }

// Conflicted remembers that a write of the status was rejected as a conflict.
func (m *Memory) Conflicted() { m.stale = true }

// Contradicted remembers that the API server has another state of a pod than was known. The pods that the cache does not
// show are read.
func (m *Memory) Contradicted() { m.run.answered, m.prepared.answered = time.Time{}, time.Time{} }

// Recorded remembers that the status of an At was written or needed no write.
func (m *Memory) Recorded(v *View, step Step, written *cnatv1alpha1.At) {
	m.last, m.stale = v.At, false
	if written != nil {
		m.last = written
	}
	if m.prepared.isGone() && m.prepared.modified == "" { // Before this write, an earlier one could have recorded it.
		m.prepared = podState{}
	}
	if step.record != nil {
		run := m.prepared
		if run.uid() != step.record.UID {
			run = podState{pod: step.record}
		}
		run.modified = step.modified
		m.run, m.prepared, m.stopSince, m.rejections[toStop] = run, podState{}, time.Time{}, expectations.LastRejection{}
	}
	switch {
	case !step.stops && step.end == nil && v.isUnderWay(): // An edit, or a command that has started in time, has withdrawn the stop.
		m.stopSince = time.Time{}
	case step.stops && m.stopSince.IsZero() && isBound(v.Pod):
		m.stopSince = v.Now
	}
}

// Result is the answer to the request of a step.
type Result struct {
	// Pod is the pod of the answer, trimmed, or nil.
	Pod *corev1.Pod
	// Modified is what admission changed in a created pod: see proof.Modified.
	Modified string
	// Rejected is the error if the API server understood a request and rejected it, or if admission undid it; otherwise
	// nil.
	Rejected error
	// Failed is any other error. The API server or an admission webhook does not work or does not respond.
	Failed error
}

// Heard remembers the answer to the request of a step, which arrived at now.
func (m *Memory) Heard(v *View, step Step, r Result, now time.Time) {
	m.failure = ""
	switch {
	case r.Rejected != nil:
		last := &m.rejections[step.kind()]
		*last = last.Rejected(r.Rejected, v.At.Generation, v.Now, now)
	case expectations.Webhook(r.Failed) != "":
		last := &m.rejections[step.kind()]
		*last = last.Failed(r.Failed, v.At.Generation, v.Now, now)
	case r.Failed != nil:
		m.failure = r.Failed.Error()
		if m.failingSince.IsZero() {
			m.failingSince = now
		}
		return
	default:
		m.rejections[step.kind()] = expectations.LastRejection{}
	}
	m.failingSince = time.Time{}
	if r.Failed == nil {
		m.heardOf(v, step, r, now)
	}
}

// heardOf remembers what an answer shows about the pods.
func (m *Memory) heardOf(v *View, step Step, r Result, now time.Time) {
	switch {
	case step.Create != nil && (r.Pod != nil || r.Modified != ""):
		m.prepared = podState{pod: r.Pod, answered: now, modified: r.Modified, generation: v.At.Generation}
	case r.Pod != nil && r.Pod.UID == m.run.uid():
		m.run = m.run.see(v.At, r.Pod)
		m.run.answered = now
	case step.Delete != nil && r.Rejected == nil:
		m.deleted(step.Delete, now)
	}
}

// deleted remembers that the API server has begun to delete a pod in exactly this state. No node can get it anymore.
func (m *Memory) deleted(pod *corev1.Pod, now time.Time) {
	going := *pod
	going.DeletionTimestamp = &metav1.Time{Time: now}
	switch pod.UID {
	case m.run.uid():
		m.run.pod = &going
	case m.prepared.uid():
		m.prepared.pod = &going
	}
}

// LastRun returns the At and the pod of the last pass if an attempt had started and not ended, or nil.
func (m *Memory) LastRun() (*cnatv1alpha1.At, *corev1.Pod) {
	if m.last == nil || m.last.Status.PodUID == "" || proof.IsDone(&m.last.Status) {
		return nil, nil
	}
	return m.last, m.run.pod
}

// RequeueAt returns when to decide again although nothing has changed, or zero if that is not needed. It may be in the
// past. urgent is false if other Ats can come first. A recorded pod that the cache has not shown is looked up after a
// while.
func (m *Memory) RequeueAt(v *View, step Step) (when time.Time, urgent bool) {
	lookUpAt := time.Time{}
	if k := m.run; !k.shown && k.exists(v.Now) && (k.modified != "" || !proof.IsDone(&m.last.Status)) {
		lookUpAt = k.answered.Add(expectations.ConfirmAfter)
	}
	return pods.Earliest(v.Now, step.requeueAt, lookUpAt), m.failure == "" && !v.isRejected() && !step.CanWait
}
