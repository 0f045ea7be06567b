// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"net/http"
	"slices"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

const (
	// jumpInterval is longer than the interval at which the operator checks for jumps of the clock. It does not notice jumps within one
	// interval that cancel each other out.
	jumpInterval = 1500 * time.Millisecond
	// settleTime is how long everything may take to settle after the last fault: P3, A3. Some things may take longer.
	settleTime = time.Minute
	// settleSteps is how many steps that may take.
	settleSteps = 4000
	// cleanupDelay is the longest delay before finished pods are deleted, rejectionDelay that before a rejected create is retried, and
	// retryDelay that before a failed command is retried.
	cleanupDelay, rejectionDelay, retryDelay = 5 * time.Minute, time.Minute, 6 * time.Minute
	// collectInterval is the time between two actions of the garbage collector. Otherwise it would delete the pods of a PodSet that is
	// gone as fast as the operator creates them while its watch of PodSets is interrupted.
	collectInterval = 100 * time.Millisecond
	// statusTime is how long the operator may still update a status after everything has settled.
	statusTime = 6 * time.Second
	// quietTime is how long the operator may then write nothing.
	quietTime = 30 * time.Second
)

// settleWithoutFaults ends all faults for now and checks P3 and A3: everything settles.
func (e *env) settleWithoutFaults() (settled bool, err error) {
	e.note("no more faults")
	e.synced = true
	e.store.podLimit, e.webhook.policy, e.webhook.failure = -1, nil, nil
	e.webhook.opens, e.webhook.deletes, e.webhook.budgets = nil, nil, nil
	if !e.scenario.has(Refusal) || e.scenario.Seed/4%2 == 0 { // Otherwise the operator must delete pods that it cannot stop.
		e.webhook.stops, e.webhook.undoes = nil, false
	}
	e.order = 0
	e.freeNames()
	if e.process == nil {
		if err := e.restart(); err != nil {
			return false, err
		}
	}
	e.idleFor(jumpInterval)
	e.jump(-e.clock.offset) // The last fault.
	e.faultsEnded = e.now()
	return e.waitUntilSettled(), nil
}

// freeNames lets users delete their pods that have the names of other pods, in half of the scenarios.
func (e *env) freeNames() {
	if e.scenario.Seed/4%2 == 0 {
		return
	}
	for _, pod := range e.store.pods() {
		if len(pod.OwnerReferences) == 0 && invariants.CommandContainer(pod).Image == "foreign" {
			e.note("user deletes pod %s", pod.Name)
			_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		}
	}
}

// expectIdle ends all faults and checks P3 and A3: everything settles, and then the operator writes nothing.
func (e *env) expectIdle() error { //nolint:cyclop // A list of conditions.
	if settled, err := e.settleWithoutFaults(); err != nil || !settled {
		return err
	}
	e.idleFor(statusTime)
	before, varies, late := len(e.writes), e.answersVary(), map[string]int{}
	e.idleFor(quietTime)
	for _, write := range e.writes[before:] {
		// An At may reach its TTL. None that waits is due within a minute. Pods that lose their owner or their name are tried again with
		// back-off. The crash loop of each pod is over some time after its last restart, and a pod is available after minReadySeconds. Dry runs
		// may continue, with other answers.
		if write.Verb == "create" && write.Code == http.StatusConflict && e.state.Ats[write.Owner] != nil {
			continue // An At that has no starting deadline waits until its name is free.
		}
		if write.Verb == "delete" && write.Resource == pods && e.scenario.has(Refusal) && e.state.Sets[write.Owner] == nil {
			continue // The deletion of a gated pod was rejected before, and has a back-off.
		}
		if write.Resource == ats && e.stopFailed(write.UID) {
			continue // Its pod is deleted later, or its node ends it at any time.
		}
		set, isSet := e.store.objects[storeKey{write.Resource, write.Name}].(*appv1alpha1.PodSet)
		if expected := write.Resource == ats && write.Verb == "delete" || e.webhook.modifiesSets() && write.Resource != ats ||
			isSet && (e.isCrashOver(set, late) || write.Sent.Before(e.availableAt(set).Add(statusTime))) || write.Resource == ats && (varies || e.answersVary()); !expected {
			e.violate("P3", "a write after everything had settled: %s", write)
		}
	}
	return nil
}

// stopFailed reports whether admission rejected or undid a stop of a pod of an At.
func (e *env) stopFailed(at types.UID) bool {
	return slices.ContainsFunc(e.writes, func(w invariants.Write) bool { return w.Owner == at && w.Stops && (w.Undone || !w.Committed()) })
}

// isCrashOver counts a late write of the status of a PodSet. It returns true if that may be because the crash loop of one of its pods is over.
func (e *env) isCrashOver(set *appv1alpha1.PodSet, late map[string]int) bool {
	late[set.Name]++
	return e.scenario.has(CrashLoop) && late[set.Name] <= len(e.store.pods())
}

// availableAt returns when the last pod of a PodSet becomes available by the clock that decides, or zero without minReadySeconds.
func (e *env) availableAt(set *appv1alpha1.PodSet) (last time.Time) {
	for _, pod := range e.store.pods() {
		for _, c := range pod.Status.Conditions {
			at := c.LastTransitionTime.Add(time.Duration(set.Spec.MinReadySeconds)*time.Second - min(e.serverAhead, 0))
			if set.Spec.MinReadySeconds > 0 && c.Type == corev1.PodReady && invariants.ControllerOf(pod) == set.UID && at.After(last) {
				last = at
			}
		}
	}
	return last
}

// waitUntilSettled waits until everything has settled. It returns false if something takes longer than it may.
func (e *env) waitUntilSettled() bool {
	start := e.now()
	for range settleSteps {
		problems := e.unsettled()
		e.stats.Settle = e.now().Sub(start)
		if len(problems) == 0 && !e.isBusy() && !e.hasFate() {
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
	e.violate("P3", "something is in flight after %d steps: %+v", settleSteps, e.unsettled())
	return false
}

// isBusy reports whether a call or an event is in flight, or a cache is being filled.
func (e *env) isBusy() bool {
	synctest.Wait()
	return len(e.calls) > 0 || len(e.behind()) > 0 || len(e.watchers) < len(groupResources)
}

// idle does everything that can be done, or lets time pass until something can be done.
func (e *env) idle(d time.Duration) {
	e.runUntilBlocked()
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

func (e *env) unsettled() []problem {
	synctest.Wait()
	state := e.state
	for ; e.applied < len(e.store.log); e.applied++ {
		state.Apply(e.store.log[e.applied])
	}
	var problems []problem
	for _, set := range state.NotDeleting() {
		// A PodSet whose pods lose their owner or their name at admission cannot settle: P2 limits its pods.
		if what := state.Settled(set, e.operator.Full); what != "" && set.Annotations[pausedSet] != "true" && !e.webhook.modifiesSets() {
			problems = append(problems, problem{"P3", "PodSet " + set.Name + ": " + what, settleTime + e.delayOfRejection(set.UID) + e.delayOfUpdate(set) + e.delayOfCleanup()})
		}
	}
	for uid, at := range state.Ats {
		if what := state.AtSettled(at, e.clock.Now().Add(min(e.serverAhead, 0)), e.operator.Full); what != "" && !state.Removed[uid] && at.DeletionTimestamp == nil {
			problems = append(problems, problem{"A3", "At " + at.Name + ": " + what, settleTime + e.delayOfRejection(uid) + e.atDelay(at) + e.delayOfRetry(at)})
		}
	}
	problems = append(append(problems, e.wrongAnswers()...), e.modifiedPods()...)
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

// wrongAnswers returns the Ats that wait and whose status shows that their pods would be rejected, or could not be checked, although a dry
// run would pass now: A19. The delay of the next dry run doubles, so it is not longer than the At has waited.
func (e *env) wrongAnswers() []problem {
	var problems []problem
	for _, object := range e.store.List(ats) {
		at := object.(*cnatv1alpha1.At)
		ready := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionReady)
		if ready == nil || at.Status.Phase != cnatv1alpha1.PhasePending || at.Status.Attempts > 0 || at.DeletionTimestamp != nil {
			continue
		}
		if !e.nameIsTaken(at) && (ready.Reason == cnatv1alpha1.ReasonWouldBeRejected && !e.webhook.changesIdentity(true) || ready.Reason == cnatv1alpha1.ReasonNotChecked) {
			waited := e.faultsEnded.Add(e.serverAhead).Sub(at.CreationTimestamp.Time)
			limit := 2*settleTime + waited
			if e.scenario.has(Hang) { // A pod may have kept the name.
				limit += 2 * hangTime
			}
			if e.scenario.has(Jumps) { // A delay that began before a jump may end after it.
				limit += time.Hour
			}
			problems = append(problems, problem{"A19", "At " + at.Name + ": Ready says " + ready.Reason, limit})
		}
	}
	return problems
}

// answersVary reports whether the next dry run for an At that waits may have another answer than the last one: admission generates a name,
// another user's pod has the name, or the last answer was bad or missing.
func (e *env) answersVary() bool {
	generates := e.webhook.generatedName && e.webhook.changesIdentity(true)
	return generates || slices.ContainsFunc(e.store.List(ats), func(object client.Object) bool {
		at := object.(*cnatv1alpha1.At)
		ready := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionReady)
		good := ready != nil && ready.Status == metav1.ConditionTrue && ready.Reason != cnatv1alpha1.ReasonAdmissionWarning && ready.Reason != cnatv1alpha1.ReasonNotChecked
		return at.Status.Phase == cnatv1alpha1.PhasePending && at.Status.Attempts == 0 && (e.nameIsTaken(at) || !good)
	})
}

// modifiedPods returns the pods that are left although their Ats have ended because admission changed them. A process cannot know of a pod
// without a controller that an earlier process has created, and does not see whether a node ends one that it stopped. If the At ended because of
// another pod that a user created for it, a pod that a user opened may be left.
func (e *env) modifiedPods() []problem {
	var problems []problem
	for _, w := range e.writes {
		pod, at := e.state.Pods[w.UID], e.state.Ats[w.Owner]
		if pod == nil || at == nil || at.Status.Reason != cnatv1alpha1.ReasonPodModified || !e.state.IsActive(pod) ||
			at.Status.PodUID != "" && at.Status.PodUID != pod.UID || e.state.Removed[at.UID] || at.DeletionTimestamp != nil {
			continue
		}
		stopped := slices.ContainsFunc(e.writes, func(stop invariants.Write) bool { return stop.Stops && stop.UID == w.UID })
		if invariants.ControllerOf(pod) == "" && (w.Fault != "" || w.Process != e.process.number || stopped) {
			continue
		}
		problems = append(problems, problem{"A3", "At " + at.Name + ": pod " + pod.Name + " is left, which admission has changed", settleTime + e.atDelay(at)})
	}
	return problems
}

// nameIsTaken reports whether a pod exists that has the name of the first pod of an At, so that a dry run checks nothing else.
func (e *env) nameIsTaken(at *cnatv1alpha1.At) bool {
	_, taken := e.store.objects[storeKey{pods, at.Name + "-pod"}]
	return taken
}
