// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// BenchmarkTimers measures how late the pods of timers, Ats or CronJobs, are created: if one is due at a time, and if many are due in the
// same second. For the latter it also measures the writes until each timer is done. The bare client creates as many pods, without a timer.
func BenchmarkTimers(b *testing.B) {
	alone, together := 20, 1000
	if testing.Short() {
		alone, together = 3, 50
	}
	c := startCluster(b)
	run(b, "alone", []*arm{operator, cronJobController}, func(b *testing.B, a *arm) {
		p := c.startWarm(b, a)
		pods, due := c.fire(b, a, aloneTimes(time.Now(), a, alone))
		reportDelays(b, pods.delays(b, "timer-%d-", func(i int) time.Time { return due[i] }))
		p.end(syscall.SIGKILL)
		c.clear(b, pods.namespace)
	})
	run(b, fmt.Sprintf("together=%d", together), []*arm{operator, cronJobController, bareClient}, func(b *testing.B, a *arm) {
		reportDelays(b, c.measureTogether(b, a, together))
	})
}

// ahead is a time by which n timers exist: at most 125 of them are created in a second.
func ahead(now time.Time, n int) time.Time {
	return now.Add(10*time.Second + time.Duration(n)*8*time.Millisecond)
}

// aloneTimes returns the times of timers that do not disturb each other: one At in each second. A CronJob is due only at a full minute, so
// there are a few that are due together.
func aloneTimes(now time.Time, a *arm, n int) []time.Time {
	if a == cronJobController {
		return togetherTimes(now, a, min(n, 5))
	}
	due := togetherTimes(now, a, n)
	for i := range due {
		due[i] = due[i].Add(time.Duration(i) * time.Second)
	}
	return due
}

// togetherTimes returns n times that are the same: a full second, or for CronJobs a full minute.
func togetherTimes(now time.Time, a *arm, n int) []time.Time {
	unit := time.Second
	if a == cronJobController {
		unit = time.Minute
	}
	return slices.Repeat([]time.Time{ahead(now, n).Truncate(unit).Add(unit)}, n)
}

// measureTogether measures n timers that are due together, and returns the delays of their pods.
func (c *cluster) measureTogether(b *testing.B, a *arm, n int) []time.Duration {
	b.Helper()
	if a == bareClient {
		start, pods := c.createPods(b, n)
		return pods.delays(b, "pod-%d", func(int) time.Time { return start })
	}
	p := c.startWarm(b, a)
	before := c.waitForIdle(b)
	pods, due := c.fire(b, a, togetherTimes(time.Now(), a, n))
	c.waitForIdle(b) // The pods run for a while: an At that is done before its start is recorded saves a write.
	c.endPods(b, pods)
	writes := c.waitForIdle(b) - before - 2*float64(n) // without the requests that create the timers and end the pods
	c.checkDone(b, a, pods.namespace, n)
	b.ReportMetric(writes/float64(n), "writes/timer")
	p.end(syscall.SIGKILL)
	c.clear(b, pods.namespace)
	return pods.delays(b, "timer-%d-", func(i int) time.Time { return due[i] })
}

// fire creates timers with these times, and waits until each has its pod. It fails if the first timer is due before all of them wait.
func (c *cluster) fire(b *testing.B, a *arm, due []time.Time) (*observer, []time.Time) {
	b.Helper()
	namespace := c.namespace(b)
	pods := c.observePods(b, namespace)
	must(b, inParallel(b.Context(), len(due), inFlight, func(ctx context.Context, i int) error {
		return c.admin.Create(ctx, a.newTimer(metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("timer-%d", i)}, due[i]))
	}))
	if a == operator { // A CronJob does not show whether its controller has seen it.
		must(b, wait.PollUntilContextTimeout(b.Context(), time.Second/2, patience, true, func(ctx context.Context) (bool, error) {
			pending, err := c.countAts(ctx, namespace, cnatv1alpha1.PhasePending)
			return pending == len(due), err
		}))
	}
	c.collectGarbage(b)
	if late := time.Since(due[0]); late >= 0 {
		b.Fatalf("the first of %d timers was due %s before all of them waited: this machine is too slow for ahead", len(due), late)
	}
	pods.waitFor(b, len(due))
	return pods, due
}

// countAts returns how many Ats of a namespace have a phase.
func (c *cluster) countAts(ctx context.Context, namespace string, phase cnatv1alpha1.Phase) (n int, err error) {
	var list cnatv1alpha1.AtList
	err = c.admin.List(ctx, &list, client.InNamespace(namespace))
	for _, item := range list.Items {
		if item.Status.Phase == phase {
			n++
		}
	}
	return n, err
}

// endPods sets all pods to Succeeded, as their kubelets would, in a random order.
func (c *cluster) endPods(b *testing.B, pods *observer) {
	b.Helper()
	c.collectGarbage(b)
	names := pods.names()
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	must(b, inParallel(b.Context(), len(names), inFlight, func(ctx context.Context, i int) error {
		patch := fmt.Appendf(nil, `{"status":{"phase":"Succeeded","containerStatuses":[{"name":"busybox","image":"busybox","imageID":"busybox",
			"state":{"terminated":{"exitCode":0,"reason":"Completed","containerID":"containerd://1","startedAt":%[1]q,"finishedAt":%[1]q}}}]}}`, time.Now().UTC().Format(time.RFC3339))
		ended := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pods.namespace, Name: names[i]}}
		return c.admin.SubResource("status").Patch(ctx, ended, client.RawPatch(types.MergePatchType, patch))
	}))
}

func (c *cluster) checkDone(b *testing.B, a *arm, namespace string, want int) {
	b.Helper()
	var done int
	var err error
	if a == operator {
		done, err = c.countAts(b.Context(), namespace, cnatv1alpha1.PhaseDone)
	} else {
		var jobs batchv1.JobList
		err = c.admin.List(b.Context(), &jobs, client.InNamespace(namespace))
		for _, j := range jobs.Items {
			done += int(j.Status.Succeeded)
		}
	}
	must(b, err)
	if done != want {
		b.Fatalf("%d of %d timers are done", done, want)
	}
}

// createPods makes the bare client create pods in a new namespace and waits until all were seen. It returns the start time.
func (c *cluster) createPods(b *testing.B, n int) (start time.Time, pods *observer) {
	b.Helper()
	bare, err := client.New(c.arm, client.Options{Scheme: scheme, Mapper: c.admin.RESTMapper()})
	must(b, err)
	namespace := c.namespace(b)
	must(b, bare.Get(b.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{})) // It connects.
	pods = c.observePods(b, namespace)
	c.collectGarbage(b)
	start = time.Now()
	must(b, inParallel(b.Context(), n, inFlight, func(ctx context.Context, i int) error {
		return bare.Create(ctx, newPod(namespace, fmt.Sprintf("pod-%d", i)))
	}))
	pods.waitFor(b, n)
	c.clear(b, namespace)
	return start, pods
}
