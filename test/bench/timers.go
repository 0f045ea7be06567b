// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// A pod that has ended, as its kubelet tells.
const succeeded = `{"status":{"phase":"Succeeded","containerStatuses":[{"name":"busybox","image":"busybox","imageID":"busybox",
"state":{"terminated":{"exitCode":0,"reason":"Completed","startedAt":%[1]q,"finishedAt":%[1]q}}}]}}`

// lateness are M4, M5 and M6: timers fire, their pods end, and their objects say so.
func (b *bench) lateness(ctx context.Context) error {
	for rep := range b.sizes.reps {
		arms := []*arm{operatorArm, cronJobTuned}
		if rep == 0 {
			arms = append(arms, naiveArm)
			if b.sizes.stock {
				arms = append(arms, cronJobStock)
			}
		}
		for _, a := range b.pick(arms...) {
			if err := b.fire(ctx, a, rep, b.sizes.sparse, true); err != nil {
				return fmt.Errorf("arm %s, sparse: %w", a.name, err)
			}
			for _, n := range b.sizes.bursts {
				if a == cronJobStock && n > 1000 {
					continue // 20 writes per second would take an hour.
				}
				if err := b.fire(ctx, a, rep, n, false); err != nil {
					return fmt.Errorf("arm %s, %d timers: %w", a.name, n, err)
				}
			}
		}
	}
	return nil
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

// dueTimes says when n timers of an arm fire. A CronJob fires at a full minute and at no other second, so its sparse timers
// are as few as fit into one without standing in each other's way.
func dueTimes(a *arm, n int, sparse bool) []time.Time {
	due := make([]time.Time, n)
	for i := range due {
		switch {
		case a.timer == cronJobs:
			// Time to create them all, and never a minute that has begun.
			due[i] = time.Now().Add(5*time.Second + time.Duration(n)*5*time.Millisecond).Truncate(time.Minute).Add(time.Minute)
		case sparse:
			due[i] = time.Now().Add(3 * time.Second).Truncate(time.Second).Add(time.Duration(i) * time.Second)
		default:
			due[i] = time.Now().Add(5*time.Second + time.Duration(n)*10*time.Millisecond).Truncate(time.Second)
		}
	}
	return due
}

// fire lets n timers fire once.
func (b *bench) fire(ctx context.Context, a *arm, rep, n int, sparse bool) error {
	what := fmt.Sprintf("%d at once", n)
	if sparse {
		what = "sparse"
		if a.timer == cronJobs {
			n = 5
		}
	}
	p, err := b.startWarm(ctx, a)
	if err != nil {
		return err
	}
	defer p.kill()
	f := &firing{bench: b, due: dueTimes(a, n, sparse), ended: map[string]time.Time{}}
	if f.namespace, err = b.cluster.namespace(ctx); err != nil {
		return err
	}
	note := func(pod string) { f.end(ctx, pod) }
	if !sparse {
		note = nil
	}
	made, err := b.cluster.watchPods(ctx, f.namespace, note)
	if err != nil {
		return err
	}
	defer made.stop()
	done, err := f.watchDone(ctx, a)
	if err != nil {
		return err
	}
	defer done.stop()

	writes, _, err := b.phase(ctx, p, func() error {
		err := inParallel(ctx, n, inFlight, func(ctx context.Context, i int) error {
			return b.cluster.admin.Create(ctx, makeTimer(a.timer, f.namespace, fmt.Sprintf("timer-%d", i), f.due[i]))
		})
		if err != nil {
			return err
		}
		if _, err := made.await(ctx, n, patience); err != nil {
			return err
		}
		if !sparse {
			names := made.times()
			pods := make([]string, 0, n)
			for name := range names {
				pods = append(pods, name)
			}
			err = inParallel(ctx, n, inFlight, func(ctx context.Context, i int) error { f.end(ctx, pods[i]); return nil })
		}
		if err == nil {
			_, err = done.await(ctx, n, patience)
		}
		return err
	})
	if err := errorsOf(err, f.err); err != nil {
		return err
	}
	if err := b.add("M4", what, a.name, "ms late", rep, f.late(made.times())...); err != nil {
		return err
	}
	if err := b.add("M6", what, a.name, "ms from the pod's end to the object's", rep, f.behind(done.times())...); err != nil {
		return err
	}
	if !sparse {
		if err := b.add("M5", what+", per timer", a.name, "writes", rep, writes/float64(n)); err != nil {
			return err
		}
	}
	return b.cluster.clear(ctx, f.namespace)
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
func (f *firing) watchDone(ctx context.Context, a *arm) (*witness, error) {
	if a.timer == ats {
		return f.cluster.watchObjects(ctx, f.namespace, &cnatv1alpha1.AtList{}, func(obj client.Object) bool {
			return obj.(*cnatv1alpha1.At).Status.Phase == cnatv1alpha1.PhaseDone
		}, nil)
	}
	return f.cluster.watchObjects(ctx, f.namespace, &batchv1.JobList{}, func(obj client.Object) bool {
		return slices.ContainsFunc(obj.(*batchv1.Job).Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		})
	}, nil)
}

// ownerOf is the name of a pod's At, timer-N of timer-N-pod, or of its Job, timer-N-MINUTE of timer-N-MINUTE-abcde.
func ownerOf(pod string) string { return pod[:strings.LastIndexByte(pod, '-')] }

// late is how long after its time each pod was seen, in ms.
func (f *firing) late(made map[string]time.Time) []float64 {
	late := make([]float64, 0, len(made))
	for pod, seen := range made {
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

// inNamespace lists a namespace from the API server's cache.
func inNamespace(namespace string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}}
}
