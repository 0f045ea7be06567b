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
func (w *world) quiesce() error {
	w.note("no more faults")
	w.prompt = true
	w.store.podLimit = -1
	w.order = 0
	if w.process == nil {
		if err := w.restart(); err != nil {
			return err
		}
	}
	w.idleFor(jumpInterval)
	w.clock.jump(-w.clock.offset)
	end := w.now().Add(settleTime)
	missing := w.unsettled()
	for n := 0; missing != "" && n < settleSteps && w.now().Before(end); n++ {
		w.idle(10 * time.Second)
		missing = w.unsettled()
	}
	if missing != "" {
		for _, problem := range strings.Split(missing, "; ") {
			w.violate(problem[:2], "%s, %v after the last fault", problem[3:], w.now().Sub(end.Add(-settleTime)).Round(time.Second))
		}
		return nil
	}
	w.idleFor(statusTime)
	before := len(w.writes)
	w.idleFor(quietTime)
	for _, write := range w.writes[before:] {
		if write.Resource != ats { // Ats may still become due.
			if owner := w.ownerOf(write); owner != "At" {
				w.violate("P3", "a write after everything had settled: %s", write)
			}
		}
	}
	return nil
}

// ownerOf returns the kind of the owner of the pod of a write.
func (w *world) ownerOf(write invariants.Write) string {
	for _, e := range w.store.log {
		if pod, ok := e.Object.(*corev1.Pod); ok && pod.UID == write.UID {
			if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
				return owner.Kind
			}
		}
	}
	return ""
}

// idle does everything that can be done, or lets time pass until something can be done.
func (w *world) idle(d time.Duration) {
	w.settle()
	if w.progress() || w.collectGarbage() {
		return
	}
	for _, pod := range w.store.pods() {
		if w.sync(pod) {
			return
		}
	}
	w.advance(d)
}

func (w *world) idleFor(d time.Duration) {
	for end := w.now().Add(d); w.now().Before(end); {
		w.idle(end.Sub(w.now()))
	}
}

// unsettled says what has not settled; "": everything has.
func (w *world) unsettled() string {
	synctest.Wait()
	if len(w.calls) > 0 || len(w.behind()) > 0 {
		return "P3 something is in flight"
	}
	state := w.state
	for ; w.applied < len(w.store.log); w.applied++ {
		state.Apply(w.store.log[w.applied])
	}
	var problems []string
	for _, set := range state.NotDeleting() {
		if problem := state.Settled(set, w.operator.Full); problem != "" && set.Annotations[pausedSet] != "true" {
			problems = append(problems, fmt.Sprintf("P3 PodSet %s: %s", set.Name, problem))
		}
	}
	for uid, at := range state.Ats {
		if problem := state.AtSettled(at, w.clock.Now(), w.operator.Full); problem != "" && !state.Removed[uid] && at.DeletionTimestamp == nil && at.Annotations[pausedAt] != "true" {
			problems = append(problems, fmt.Sprintf("A3 At %s: %s", at.Name, problem))
		}
	}
	for _, pod := range w.store.pods() {
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
