// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// observer records when it first sees each pod of a namespace without scheduling gates, by the clock of the harness: a creationTimestamp has
// only seconds. It adds the same delay for every arm.
type observer struct {
	namespace string

	mu   sync.Mutex
	seen map[string]time.Time // by the name of the pod
	last time.Time            // when the last of them was seen
}

func (c *cluster) observePods(b *testing.B, namespace string) *observer {
	b.Helper()
	o := &observer{namespace: namespace, seen: map[string]time.Time{}}
	informers, err := cache.New(c.config, cache.Options{
		Scheme: scheme, Mapper: c.admin.RESTMapper(), DefaultNamespaces: map[string]cache.Config{namespace: {}},
	})
	must(b, err)
	ctx := b.Context()
	go func() { _ = informers.Start(ctx) }() // WaitForCacheSync fails if it does not start.
	informer, err := informers.GetInformer(ctx, &corev1.Pod{})
	must(b, err)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { o.see(obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { o.see(obj.(*corev1.Pod)) },
	})
	must(b, err)
	if !informers.WaitForCacheSync(ctx) {
		b.Fatal("the observer of pods does not start")
	}
	return o
}

func (o *observer) see(pod *corev1.Pod) {
	if len(pod.Spec.SchedulingGates) > 0 { // It is created before its time, and cannot be bound to a node.
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.seen[pod.Name]; !known {
		o.last = time.Now()
		o.seen[pod.Name] = o.last
	}
}

// waitFor waits until there were n pods, and returns when the last of them was seen. It fails if there are more.
func (o *observer) waitFor(b *testing.B, n int) time.Time {
	b.Helper()
	err := wait.PollUntilContextTimeout(b.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.seen) >= n, nil
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || len(o.seen) > n {
		b.Fatalf("there were %d pods, want %d: %v", len(o.seen), n, err)
	}
	return o.last
}

func (o *observer) names() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.seen))
}

// delays returns how long after its time each pod was seen, in ascending order. format has the number of the pod's object, and since returns the time of that
// number.
func (o *observer) delays(b *testing.B, format string, since func(i int) time.Time) []time.Duration {
	b.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	var delays []time.Duration
	for pod, seen := range o.seen {
		var i int
		if _, err := fmt.Sscanf(pod, format, &i); err != nil {
			b.Fatalf("pod %s does not belong to this run: %v", pod, err)
		}
		delays = append(delays, seen.Sub(since(i)))
	}
	slices.Sort(delays)
	return delays
}

// quantile returns a quantile of sorted delays, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// reportDelays reports the median of sorted delays, and their 99th percentile, or the largest if there are fewer than 100.
func reportDelays(b *testing.B, sorted []time.Duration) {
	b.Helper()
	milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(milliseconds(quantile(sorted, .5)), "p50-ms")
	tail := "p99-ms"
	if len(sorted) < 100 {
		tail = "max-ms"
	}
	b.ReportMetric(milliseconds(quantile(sorted, .99)), tail)
}
