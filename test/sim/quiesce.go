// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/redhat/podset-operator/test/invariants"
)

const (
	// jumpInterval is longer than the interval at which the operator looks for jumps of the clock. It does not notice jumps within
	// one interval that cancel each other out.
	jumpInterval = 1500 * time.Millisecond
	// settleTime is how long everything may take to settle without faults: the longest back-offs are minutes.
	settleTime = 40 * time.Minute
	// settleSteps is how many steps that may take.
	settleSteps = 1500
	// statusTime is how long the operator may still update a status after everything has settled.
	statusTime = 6 * time.Second
	// quietTime is how long the operator may write nothing then.
	quietTime = 30 * time.Second
)

// quiesce ends all faults and checks P3 and A3: everything settles, and the operator writes nothing afterward.
func (e *env) quiesce() error {
	e.note("no more faults")
	e.prompt = true
	e.store.podLimit = -1
	e.order = 0
	if e.process == nil {
		if err := e.restart(); err != nil {
			return err
		}
	}
	e.idleFor(jumpInterval)
	e.clock.jump(-e.clock.offset)
	end := e.now().Add(settleTime)
	missing := e.unsettled()
	for n := 0; missing != "" && n < settleSteps && e.now().Before(end); n++ {
		e.idle(10 * time.Second)
		missing = e.unsettled()
	}
	if missing != "" {
		for _, problem := range strings.Split(missing, "; ") {
			e.violate(problem[:2], "%s, %v after the last fault", problem[3:], e.now().Sub(end.Add(-settleTime)).Round(time.Second))
		}
		return nil
	}
	e.idleFor(statusTime)
	before := len(e.writes)
	e.idleFor(quietTime)
	for _, write := range e.writes[before:] {
		if write.Resource != ats { // Ats may still become due.
			if owner := e.ownerOf(write); owner != "At" {
				e.violate("P3", "a write after everything had settled: %s", write)
			}
		}
	}
	return nil
}

// ownerOf returns the kind of the owner of the pod of a write.
func (e *env) ownerOf(write invariants.Write) string {
	for _, change := range e.store.log {
		if pod, ok := change.Object.(*corev1.Pod); ok && pod.UID == write.UID {
			if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
				return owner.Kind
			}
		}
	}
	return ""
}

// idle does everything that can be done, or lets time pass until something can be done.
func (e *env) idle(d time.Duration) {
	e.settle()
	if e.progress() || e.collectGarbage() {
		return
	}
	synced := false
	for _, pod := range e.store.pods() {
		synced = e.sync(pod) || synced
	}
	if !synced {
		e.advance(d)
	}
}

func (e *env) idleFor(d time.Duration) {
	for end := e.now().Add(d); e.now().Before(end); {
		e.idle(end.Sub(e.now()))
	}
}

// unsettled says what has not settled; "": everything has.
func (e *env) unsettled() string {
	synctest.Wait()
	if len(e.calls) > 0 || len(e.behind()) > 0 {
		return "P3 something is in flight"
	}
	state := e.state
	for ; e.applied < len(e.store.log); e.applied++ {
		state.Apply(e.store.log[e.applied])
	}
	var problems []string
	for _, set := range state.NotDeleting() {
		if problem := state.Settled(set, e.operator.Full); problem != "" && set.Annotations[pausedSet] != "true" {
			problems = append(problems, fmt.Sprintf("P3 PodSet %s: %s", set.Name, problem))
		}
	}
	for uid, at := range state.Ats {
		if problem := state.AtSettled(at, e.clock.Now(), e.operator.Full); problem != "" && !state.Removed[uid] && at.DeletionTimestamp == nil && at.Annotations[pausedAt] != "true" {
			problems = append(problems, fmt.Sprintf("A3 At %s: %s", at.Name, problem))
		}
	}
	for _, pod := range e.store.pods() {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owner.Kind != "PodSet" || pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
			continue
		}
		if set, ok := state.Sets[owner.UID]; ok && !state.Removed[owner.UID] && set.Annotations[pausedSet] != "true" {
			problems = append(problems, fmt.Sprintf("P3 PodSet %s: the finished pod %s is left", set.Name, pod.Name))
		}
	}
	return strings.Join(problems, "; ")
}
