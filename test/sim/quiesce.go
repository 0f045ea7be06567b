// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"net/http"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

const (
	// jumpInterval is longer than the interval at which the operator looks for jumps of the clock. It does not notice jumps within
	// one interval that cancel each other out.
	jumpInterval = 1500 * time.Millisecond
	// settleTime is how long everything may take to settle after the last fault: P3, A3. Some things may take longer.
	settleTime = time.Minute
	// settleSteps is how many steps that may take.
	settleSteps = 1500
	// cleanupDelay is the longest delay before finished pods are deleted, rejectionDelay that before a create that was rejected is
	// retried, and retryDelay that before a command that has failed is retried.
	cleanupDelay, rejectionDelay, retryDelay = 5 * time.Minute, time.Minute, 6 * time.Minute
	// collectInterval is the time between two actions of the garbage collector. Otherwise it would delete the pods of a PodSet that is
	// gone as fast as the operator creates them while its watch of PodSets is interrupted.
	collectInterval = 100 * time.Millisecond
	// statusTime is how long the operator may still update a status after everything has settled.
	statusTime = 6 * time.Second
	// quietTime is how long the operator may write nothing then.
	quietTime = 30 * time.Second
)

// settleCalmly ends all faults for now and checks P3 and A3: everything settles.
func (e *env) settleCalmly() (settled bool, err error) {
	e.note("no more faults")
	e.prompt, e.calm = true, e.now()
	e.store.podLimit = -1
	e.order = 0
	if e.process == nil {
		if err := e.restart(); err != nil {
			return false, err
		}
	}
	e.idleFor(jumpInterval)
	e.clock.jump(-e.clock.offset)
	return e.awaitSettled(), nil
}

// quiesce ends all faults and checks P3 and A3: everything settles, and the operator writes nothing afterward.
func (e *env) quiesce() error {
	if settled, err := e.settleCalmly(); err != nil || !settled {
		return err
	}
	e.idleFor(statusTime)
	before := len(e.writes)
	e.idleFor(quietTime)
	for _, write := range e.writes[before:] {
		// An At may reach its TTL. None that waits is due within a minute. Pods that lose their owner are tried again with back-off. A
		// crash loop counts as over a while after its last restart.
		if expected := write.Resource == ats && write.Verb == "delete" || e.webhook.owners && write.Resource != ats ||
			e.scenario.has(CrashLoop) && write.Resource == podSets; !expected {
			e.violate("P3", "a write after everything had settled: %s", write)
		}
	}
	return nil
}

// awaitSettled waits until everything has settled. It returns false if something takes longer than it may.
func (e *env) awaitSettled() bool {
	start := e.now()
	for range settleSteps {
		problems := e.unsettled()
		e.stats.Settle = e.now().Sub(start)
		if len(problems) == 0 && !e.isBusy() && !e.awaitsFate() {
			return true
		}
		late := false
		for _, p := range problems {
			if e.stats.Settle > p.limit+e.delayOfNodes(p.invariant) {
				e.violate(p.invariant, "%s, %v after the last fault", p.what, e.stats.Settle.Round(time.Second))
				late = true
			}
		}
		if late {
			return false
		}
		e.idle(10 * time.Second)
	}
	e.violate("P3", "something is in flight after %d steps", settleSteps)
	return false
}

// isBusy reports whether a call or an event is in flight, or a cache is being filled.
func (e *env) isBusy() bool {
	synctest.Wait()
	return len(e.calls) > 0 || len(e.behind()) > 0 || len(e.watchers) < len(groupResources)
}

// idle does everything that can be done, or lets time pass until something can be done.
func (e *env) idle(d time.Duration) {
	e.settle()
	if e.progress() {
		return
	}
	if wait := collectInterval - e.now().Sub(e.collected); wait > 0 {
		e.advance(wait)
		return
	}
	if e.collectGarbage() {
		e.collected = e.now()
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

// problem is something that has not settled, and how long after the last fault it may last.
type problem struct {
	invariant, what string
	limit           time.Duration
}

// unsettled returns what has not settled.
func (e *env) unsettled() []problem {
	synctest.Wait()
	state := e.state
	for ; e.applied < len(e.store.log); e.applied++ {
		state.Apply(e.store.log[e.applied])
	}
	var problems []problem
	for _, set := range state.NotDeleting() {
		// A PodSet whose pods lose their owner at admission cannot settle: P2 bounds its pods.
		if what := state.Settled(set, e.operator.Full); what != "" && set.Annotations[pausedSet] != "true" && !e.webhook.owners {
			problems = append(problems, problem{"P3", "PodSet " + set.Name + ": " + what, settleTime + e.delayOfRejection(set.UID)})
		}
	}
	for uid, at := range state.Ats {
		if what := state.AtSettled(at, e.clock.Now().Add(e.serverAhead), e.operator.Full); what != "" && !state.Removed[uid] && at.DeletionTimestamp == nil {
			problems = append(problems, problem{"A3", "At " + at.Name + ": " + what, settleTime + e.delayOfRejection(uid) + atDelay(at)})
		}
	}
	for _, pod := range e.store.pods() {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owner.Kind != "PodSet" || pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
			continue
		}
		if set, ok := state.Sets[owner.UID]; ok && !state.Removed[owner.UID] && set.Annotations[pausedSet] != "true" {
			problems = append(problems, problem{"P3", "PodSet " + set.Name + ": the finished pod " + pod.Name + " is left", settleTime + cleanupDelay})
		}
	}
	return problems
}

// delayOfRejection returns how long the operator may wait because creates of pods for an owner were rejected.
func (e *env) delayOfRejection(owner types.UID) time.Duration {
	for _, write := range e.writes {
		if write.Owner == owner && write.Code == http.StatusForbidden {
			return rejectionDelay
		}
	}
	return 0
}

// delayOfNodes returns how long nodes may do what they do to some pods. Only pods of PodSets crash again and again, and other containers
// outlive only the commands of Ats.
func (e *env) delayOfNodes(invariant string) (delay time.Duration) {
	if e.scenario.has(Hang) || e.scenario.has(CrashLoop) && invariant == "P3" {
		delay += fateTime
	}
	if e.webhook.injects && invariant == "A3" {
		delay += time.Minute
	}
	return delay
}

// atDelay returns how long the operator may wait for the time of an At or, if it has failed, for its next attempt.
func atDelay(at *cnatv1alpha1.At) time.Duration {
	if ptr.Deref(at.Spec.BackoffLimit, 0) > 0 {
		return retryDelay
	}
	return time.Minute // AtSettled accepts that an At waits for longer.
}
