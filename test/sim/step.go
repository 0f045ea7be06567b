// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//revive:disable:file-length-limit // One subject.

package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// syncedCrash is the share of calls, one in this many, that meet a crash if the operator is synced.
const syncedCrash = 50

// The upper bounds, in percent, of the actions of a step if something can be in flight. The rest are disturbances.
const (
	stepAnswers  = 35
	stepDelivers = 58
	stepKubelet  = 70
	stepPasses   = 80
	stepUser     = 93
	stepCollects = 96
)

// The upper bounds, in percent, of the outcomes of a call.
const (
	lateResponseLost = 10 // of a call that has been carried out
	callSucceeds     = 70
	callWaits        = 80
	responseLost     = 88
	callFails        = 98
)

// frozenArrives is the share of steps, one in this many, in which a request of a process that was frozen arrives.
const frozenArrives = 5

// step does one thing, which depends only on its seed and the state of the environment.
func (e *env) step(seed uint64) error {
	e.stats.Steps++
	e.order = seed
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // reproducible
	if done, err := e.interferes(random); done {
		return err
	}
	if e.synced {
		if behind := e.behind(); len(behind) > 0 {
			e.deliver(behind[0])
			return nil
		}
		if len(e.calls) > 0 && !e.oldestCall().abandoned {
			if random.IntN(syncedCrash) == 0 {
				return e.crashAndRestart(random)
			}
			e.answer(e.oldestCall(), random)
			return nil
		}
	}
	switch n := random.IntN(100); {
	case n < stepAnswers:
		if !e.answerCall(random) && !e.deliverEvent(random) {
			e.pass(random)
		}
	case n < stepDelivers:
		if !e.deliverEvent(random) && !e.answerCall(random) {
			e.pass(random)
		}
	case n < stepKubelet:
		if !e.kubelet(random) {
			e.pass(random)
		}
	case n < stepPasses:
		e.pass(random)
	case n < stepUser && !e.scenario.NoUsers:
		e.user(random)
	case n < stepCollects:
		e.collectGarbage()
	default:
		return e.disturb(random)
	}
	return nil
}

// interferes does one of what happens only at certain moments. It returns false if nothing happens.
func (e *env) interferes(random *rand.Rand) (bool, error) {
	if frozen, err := e.freezes(random); frozen {
		return true, err
	}
	return e.races(random) || e.purges(random) || e.forbidsStop(random) || e.refuses(random) || e.meddles(random) || e.missesRun(random), nil
}

// freezes lets a process freeze after it has sent the request that starts a command, and another one take over. The user may cancel the At in
// between. It returns false if that does not happen.
func (e *env) freezes(random *rand.Rand) (bool, error) {
	opens := slices.ContainsFunc(e.calls, func(c *call) bool { return c.Opens && !c.abandoned })
	if !opens || !e.scenario.has(Frozen) || random.IntN(3) != 0 {
		return false, nil
	}
	e.crash(random)
	if random.IntN(2) == 0 {
		e.patch(ats, e.nameOf(random, ats), `{"spec":{"cancel":true}}`, false)
	}
	return true, e.restart()
}

// races lets a user edit an At while it is being started, or take the name of its pod. It returns false if that does not happen.
func (e *env) races(random *rand.Rand) bool {
	if !e.scenario.has(Race) || random.IntN(3) != 0 {
		return false
	}
	if expires := slices.ContainsFunc(e.calls, func(c *call) bool { return c.Resource == ats && c.Verb == "delete" && c.committed == nil }); expires {
		e.patch(ats, e.nameOf(random, ats), `{"spec":{"ttlSecondsAfterFinished":60}}`, false)
		return true
	}
	if name := e.justEnded(); name != "" {
		e.patch(ats, name, `{"spec":{"cancel":true}}`, false)
		return true
	}
	if !e.starts() {
		return false
	}
	if random.IntN(4) == 0 {
		e.plantPod(random, e.nameOf(random, ats))
	} else {
		e.editAt(random, e.nameOf(random, ats))
	}
	return true
}

// prepareTime is longer than the operator prepares a pod before its time.
const prepareTime = 12 * time.Second

// purges lets a user delete the pods of Ats by force while a retry runs, or an At that is created again at once. The watch may not show the end
// of the pod that runs. It returns false if that does not happen.
func (e *env) purges(random *rand.Rand) bool {
	if !e.scenario.has(Purge) || e.scenario.Only == podSets || random.IntN(4) != 0 {
		return false
	}
	name := e.nameOf(random, ats)
	at, ok := e.store.objects[storeKey{ats, name}].(*cnatv1alpha1.At)
	second, prepared := e.store.objects[storeKey{pods, name + "-pod-1"}].(*corev1.Pod)
	runs := ok && at.Status.Phase != cnatv1alpha1.PhaseDone && (at.Status.Attempts > 1 || prepared && invariants.ControllerOf(second) == at.UID)
	if !runs {
		return false
	}
	all := slices.DeleteFunc(e.recordedPods(), func(pod *corev1.Pod) bool { return invariants.OwnerKind(pod) != "At" })
	switch random.IntN(3) {
	case 0:
		for end := e.now().Add(prepareTime); e.now().Before(end) && prepared && second.Spec.NodeName == ""; e.idle(time.Second) {
			second, prepared = e.store.objects[storeKey{pods, name + "-pod-1"}].(*corev1.Pod)
		}
		e.note("user deletes %s %s", ats, name)
		_, _, _ = e.store.Delete(ats, name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
		e.createAt(random, name)
		e.patch(ats, name, `{"spec":{"schedule":"1999-01-01T00:00:00Z"}}`, false)
		e.collectGarbage()
		return true
	case 1:
		all = slices.DeleteFunc(all, func(pod *corev1.Pod) bool { return pod.UID != at.Status.PodUID })
		for _, w := range e.watchers {
			if w.resource == pods && len(w.events) == 0 {
				e.seedDelays()
				e.expire(w)
			}
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, pod := range all {
		e.note("user deletes pod %s by force", pod.Name)
		_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	}
	return true
}

// forbidsStop lets a user cancel an At that runs while a policy rejects changes of its pod. It returns false if that does not happen.
func (e *env) forbidsStop(random *rand.Rand) bool {
	if !e.scenario.has(Policy) || random.IntN(4) != 0 {
		return false
	}
	for _, object := range e.store.List(ats) {
		at := object.(*cnatv1alpha1.At)
		if run := e.runs[at.Status.PodUID]; run != nil && run.Started && run.Code == nil && at.Spec.Cancel == nil {
			e.webhook.stops = pick(random, policies[1:]...)
			e.patch(ats, at.Name, `{"spec":{"cancel":true}}`, false)
			return true
		}
	}
	return false
}

// justEnded returns the name of an At that is not canceled and whose command ended in the last second, or "".
func (e *env) justEnded() string {
	for _, object := range e.store.List(ats) {
		at := object.(*cnatv1alpha1.At)
		run := e.runs[at.Status.PodUID]
		if run != nil && run.Code != nil && at.Spec.Cancel == nil && e.now().Sub(run.Ended) < time.Second {
			return at.Name
		}
	}
	return ""
}

// starts reports whether a request is in flight that starts an At, or that begins, checks, or creates its pod.
func (e *env) starts() bool {
	return slices.ContainsFunc(e.calls, func(c *call) bool {
		return c.Resource == ats && c.Subresource == "status" || c.Resource == pods && (c.Verb == "create" || c.Verb == "check" || c.Opens) && c.Slot == ""
	})
}

// oldestCall returns the oldest call of the process that runs, or else of one that was frozen. There is a call.
func (e *env) oldestCall() *call {
	if i := slices.IndexFunc(e.calls, func(c *call) bool { return !c.abandoned }); i >= 0 {
		return e.calls[i]
	}
	return e.calls[0]
}

// progress answers the oldest call or delivers the oldest event. It returns false if there is none.
func (e *env) progress() bool {
	if len(e.calls) > 0 {
		e.finish(e.oldestCall())
		return true
	}
	if behind := e.behind(); len(behind) > 0 {
		e.deliver(behind[0])
		return true
	}
	return false
}

// finish carries out a call, if that has not happened, and responds.
func (e *env) finish(c *call) {
	if c.committed == nil {
		e.carryOut(c)
	}
	e.respond(c, *c.committed)
}

// answerCall does something with one of the waiting calls. It returns false if there is none.
func (e *env) answerCall(random *rand.Rand) bool {
	if len(e.calls) == 0 {
		return false
	}
	c := e.calls[random.IntN(len(e.calls))]
	switch {
	case !c.abandoned:
		e.answer(c, random)
	case random.IntN(frozenArrives) == 0:
		e.finish(c)
	}
	return true
}

// maxFailedLists is how many lists of a process fail. More would make the back-off of an informer the longest delay, and a process ends if
// its caches are not filled in two minutes.
const maxFailedLists = 3

// answer carries out a call, loses its response, or lets it fail.
func (e *env) answer(c *call, random *rand.Rand) {
	reads := c.isRead() || e.webhook.hides(c)
	switch n := random.IntN(100); {
	case c.committed != nil && n < lateResponseLost && !reads:
		e.stats.LostResponses++
		e.note("the response to %s is lost", c.String())
		e.respond(c, answer{err: connectionReset.err(c)})
	case c.committed != nil || n < callSucceeds:
		e.finish(c)
	case n < callWaits && !reads:
		e.carryOut(c)
	case n < responseLost && !reads:
		e.carryOut(c)
		e.stats.LostResponses++
		e.note("the response to %s is lost", c.String())
		e.respond(c, answer{err: connectionReset.err(c)})
	case n < callFails && (c.Verb != "list" || c.process.failedLists < maxFailedLists):
		f := faults[random.IntN(len(faults))]
		if f.name == "409" && c.Subresource != "status" && c.Verb != "create" {
			f = connectionReset // Only a write of a status can conflict at any time, and a create, if others change the same quota.
		}
		if c.Verb == "list" {
			c.process.failedLists++
			e.seedDelays()
		}
		e.stats.Faults++
		e.note("%s fails: %s", c.String(), f.name)
		e.fail(c, f.name)
		e.respond(c, answer{err: f.err(c)})
	default:
		e.finish(c)
	}
}

func (e *env) deliverEvent(random *rand.Rand) bool {
	behind := e.behind()
	if len(behind) == 0 {
		return false
	}
	e.deliver(behind[random.IntN(len(behind))])
	return true
}

// maxLag is how long a call or an event can be in flight.
const maxLag = 20 * time.Second

// pass lets time pass. While something is in flight, it passes little time, so that nothing is in flight for longer than maxLag.
func (e *env) pass(random *rand.Rand) {
	for _, c := range e.calls {
		if e.now().Sub(c.sent) > maxLag {
			e.finish(c)
			return
		}
	}
	behind := e.behind()
	for _, late := range behind {
		if change, _ := late.next(); e.now().Sub(change.Seen) > maxLag {
			e.deliver(late)
			return
		}
	}
	durations := []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, time.Minute}
	if len(e.calls)+len(behind) > 0 {
		durations = durations[:5]
	} else if e.isFar() {
		durations = append(durations, time.Hour)
	}
	e.advance(durations[random.IntN(len(durations))])
}

// isFar reports whether an At waits for more than half an hour.
func (e *env) isFar() bool {
	return slices.ContainsFunc(e.store.List(ats), func(object client.Object) bool {
		due, ok := invariants.Due(object.(*cnatv1alpha1.At))
		return ok && due.Sub(e.now()) > time.Hour/2
	})
}

// disturb is a rare event: a crash, a watch that ends or expires, a clock that jumps, a quota.
func (e *env) disturb(random *rand.Rand) error {
	if e.process == nil {
		return e.restart()
	}
	what := random.IntN(8)
	if e.scenario.has(Policy) {
		what = random.IntN(11)
	}
	if what == 5 && (e.scenario.NoUsers || e.scenario.has(Clocks) && !e.scenario.has(Jumps)) {
		what = 0 // A jump of the clock can end an At.
	}
	switch what {
	case 0, 1, 2:
		return e.crashAndRestart(random)
	case 3, 4:
		if len(e.watchers) == 0 {
			return nil
		}
		w := e.watchers[random.IntN(len(e.watchers))]
		e.seedDelays()
		if random.IntN(2) == 0 && len(w.events) == 0 {
			e.expire(w)
			return nil
		}
		e.note("the watch of %s ends", w.resource)
		e.removeWatcher(w)
	case 5:
		if n := len(e.jumps); n > 0 && e.now().Sub(e.jumps[n-1].Seen) < jumpInterval || len(e.watchers) < len(groupResources) {
			return nil // While caches are being filled, several goroutines wait for them with timers that end at the same time.
		}
		e.jump(time.Duration(random.IntN(7200)-3600) * time.Second)
	case 6, 7:
		e.store.podLimit = random.IntN(5) - 1
		e.note("the quota is %d pods", e.store.podLimit)
	case 8, 9, 10:
		e.changePolicy(random)
	}
	return nil
}

// expire ends a watch so that its informer lists again, and does not receive what happens meanwhile.
func (e *env) expire(w *watcher) {
	e.note("the watch of %s expires", w.resource)
	expired := apierrors.NewResourceExpired("injected").Status()
	w.events <- watch.Event{Type: watch.Error, Object: &expired}
}

// crashAndRestart kills the process. The next one starts at once, or later.
func (e *env) crashAndRestart(random *rand.Rand) error {
	e.crash(random)
	if random.IntN(2) == 0 {
		return e.restart()
	}
	return nil
}
