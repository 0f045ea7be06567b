// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// A pod that has ended, as its kubelet tells.
const succeeded = `{"status":{"phase":"Succeeded","containerStatuses":[{"name":"busybox","image":"busybox","imageID":"busybox",
"state":{"terminated":{"exitCode":0,"reason":"Completed","startedAt":%[1]q,"finishedAt":%[1]q}}}]}}`

// msLate is the unit of the delay of a pod.
const msLate = "ms late"

// afterEnds ends the name of the case about all writes, also of events, after the pods have ended.
const afterEnds = ", with events, after the end of the pods, per timer"

// lateness are M4, M5 and M6: timers fire, their pods end, and their objects say so. CronJobs fire at full minutes only, so a
// repetition of them takes minutes, and there is one. With default limits, their controllers
// make 20 requests per second and are not measured.
func (b *bench) lateness(ctx context.Context) error {
	for rep := range b.sizes.reps {
		arms := []*arm{operatorArm, barePods}
		if rep < enough {
			arms = append(arms, beforeArm)
		}
		if rep == 0 {
			arms = append(arms, cronJobTuned)
		}
		if b.sizes.slow && rep == 0 {
			arms = append(arms, naiveArm)
		}
		for _, a := range b.pick(arms...) {
			run := b.fireAll
			if a == barePods {
				run = b.wireBursts
			}
			if err := run(ctx, a, rep); err != nil {
				return fmt.Errorf("arm %s: %w", a.name, err)
			}
		}
	}
	return nil
}

// fireAll is one repetition of one arm.
func (b *bench) fireAll(ctx context.Context, a *arm, rep int) error {
	if a == naiveArm { // It is slow.
		return b.fire(ctx, a, rep, b.sizes.bursts[0], burst)
	}
	if err := b.fire(ctx, a, rep, b.sizes.sparse, sparse); err != nil {
		return err
	}
	for _, n := range b.sizes.bursts {
		if rep >= b.sizes.repsOf(n) || n >= many && a == beforeArm {
			continue
		}
		if err := b.fire(ctx, a, rep, n, burst); err != nil {
			return err
		}
	}
	return b.fire(ctx, a, rep, b.sizes.bursts[0], overdue)
}

// firing is one run of timers.
type firing struct {
	*bench
	namespace string
	due       []time.Time

	mu    sync.Mutex
	ended map[string]time.Time // when the pod of a timer has ended, by the timer's or its job's name
	err   error
}

// fire lets n timers fire once.
func (b *bench) fire(ctx context.Context, a *arm, rep, n int, v volley) (err error) {
	if v == overdue && a.timer == cronJobs {
		return nil // A CronJob is never due when it is created.
	}
	if v == sparse && a.timer == cronJobs {
		n = 5
	}
	p, err := b.startWarm(ctx, a)
	if err != nil {
		return err
	}
	defer p.kill()
	profiled := p.profile(ctx, "M4 "+v.caseName(n))
	defer func() { err = errors.Join(err, profiled()) }()
	// After 10000 CronJobs, a collection took over ten seconds. It must not delay the timers, and leaves less to collect once they exist.
	if _, err := b.cluster.collectGarbage(ctx); err != nil {
		return err
	}
	f := &firing{bench: b, due: dueTimes(time.Now(), a, n, v), ended: map[string]time.Time{}}
	if f.namespace, err = b.cluster.namespace(ctx); err != nil {
		return err
	}
	var note func(pod string)
	if v == sparse {
		note = func(pod string) { f.end(ctx, pod) }
	}
	created, err := b.cluster.watchPods(ctx, f.namespace, note)
	if err != nil {
		return err
	}
	defer created.stop()
	done, err := f.watchDone(ctx, a)
	if err != nil {
		return err
	}
	defer done.stop()
	started, ended, err := f.fireAndEnd(ctx, p, v, created, done)
	if err := errorsOf(err, f.err); err != nil {
		return err
	}
	if err := f.report(a, rep, v, created, done, started, ended); err != nil {
		return err
	}
	return b.cluster.clear(ctx, f.namespace)
}

// fireAndEnd creates the timers and ends their pods: in a burst, once the arm is at rest, as if the pods ran for some seconds. Otherwise
// an At could be done before its start is recorded, which saves a write. It returns what the arm asked for before and after the end of
// the pods.
func (f *firing) fireAndEnd(ctx context.Context, p *process, v volley, created, done *observer) (started, ended cost, err error) {
	create := f.createAhead
	if v == overdue {
		create = f.createTimers
	}
	started, err = f.phase(ctx, p, func() error {
		if err := create(ctx, p.arm); err != nil {
			return err
		}
		_, err := created.await(ctx, len(f.due), patience)
		if err == nil && v == sparse {
			_, err = done.await(ctx, len(f.due), patience)
		}
		return err
	})
	if err != nil || v == sparse {
		return started, ended, err
	}
	if _, err := f.cluster.collectGarbage(ctx); err != nil {
		return started, ended, err
	}
	ended, err = f.phase(ctx, p, func() error {
		names := shuffled(created.times())
		err := inParallel(ctx, len(names), inFlight, func(ctx context.Context, i int) error { f.end(ctx, names[i]); return nil })
		if err == nil {
			_, err = done.await(ctx, len(names), patience)
		}
		return err
	})
	return started, ended, err
}

// report adds the figures of a run.
func (f *firing) report(a *arm, rep int, v volley, created, done *observer, started, ended cost) error {
	n := len(f.due)
	what := v.caseName(n)
	if v != overdue {
		err := errorsOf(
			f.add("M4", what, a.name, msLate, rep, f.late(created.times())...),
			f.add("M6", what, a.name, "ms from the pod's end to the object's", rep, f.behind(done.times())...),
		)
		if err != nil {
			return err
		}
	}
	if v == sparse {
		return nil
	}
	asked := started.plus(ended)
	err := errorsOf(
		f.add("M5", what+", without events, per timer", a.name, "writes", rep, (asked.writes-asked.events)/float64(n)),
		f.add("M5", what+", events, per timer", a.name, "writes", rep, asked.events/float64(n)),
		f.addCalls(what+", per timer", a.name, asked, n),
	)
	if err != nil || v == overdue {
		return err
	}
	return f.add("M5", what+afterEnds, a.name, "writes", rep, ended.writes/float64(n))
}

// end ends a pod.
func (f *firing) end(ctx context.Context, pod string) {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, succeeded, time.Now().UTC().Format(time.RFC3339)))
	start := time.Now()
	err := f.cluster.admin.SubResource("status").Patch(ctx, pods.object(f.namespace, pod), patch)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended[ownerOf(pod)] = start
	if err != nil {
		f.err = err
	}
}

// watchDone watches for the end of Ats, or of Jobs.
func (f *firing) watchDone(ctx context.Context, a *arm) (*observer, error) {
	if a.timer == ats {
		return f.watchPhase(ctx, cnatv1alpha1.PhaseDone)
	}
	return f.cluster.watchObjects(ctx, f.namespace, &batchv1.JobList{}, func(obj client.Object) bool {
		return slices.ContainsFunc(obj.(*batchv1.Job).Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		})
	}, nil)
}

// watchPhase watches for Ats that reach a phase.
func (f *firing) watchPhase(ctx context.Context, phase cnatv1alpha1.Phase) (*observer, error) {
	return f.cluster.watchObjects(ctx, f.namespace, &cnatv1alpha1.AtList{}, func(obj client.Object) bool {
		return obj.(*cnatv1alpha1.At).Status.Phase == phase
	}, nil)
}

// ownerOf is the name of a pod's At, timer-N of timer-N-pod, or of its Job, timer-N-MINUTE of timer-N-MINUTE-abcde.
func ownerOf(pod string) string { return pod[:strings.LastIndexByte(pod, '-')] }

// late is how long after its time each pod was seen, in ms.
func (f *firing) late(created map[string]time.Time) []float64 {
	late := make([]float64, 0, len(created))
	for pod, seen := range created {
		var i int
		if _, err := fmt.Sscanf(pod, "timer-%d", &i); err == nil {
			late = append(late, milliseconds(seen.Sub(f.due[i])))
		}
	}
	return late
}

// behind is how long after its pod's end each object said so, in ms.
func (f *firing) behind(done map[string]time.Time) []float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	behind := make([]float64, 0, len(done))
	for name, seen := range done {
		if ended, ok := f.ended[name]; ok {
			behind = append(behind, milliseconds(seen.Sub(ended)))
		}
	}
	return behind
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
