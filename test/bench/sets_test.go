// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// grid is a number of sets, and of pods in each of them.
type grid struct{ sets, pods int }

func (g grid) String() string { return fmt.Sprintf("%dx%d", g.sets, g.pods) }

// BenchmarkSets measures how fast the pods of sets appear, how many writes that takes, and the processor time of the controller for each
// 1000 pods until all of them are deleted.
func BenchmarkSets(b *testing.B) {
	grids := []grid{{100, 10}, {1000, 10}, {1000, 1}}
	if testing.Short() {
		grids = []grid{{20, 5}}
	}
	c := startCluster(b)
	for _, g := range grids {
		run(b, "size="+g.String(), []*arm{operator, replicaSetController, bareClient}, func(b *testing.B, a *arm) {
			if a == bareClient {
				start, pods := c.createPods(b, g.sets*g.pods)
				b.ReportMetric(float64(g.sets*g.pods)/pods.waitFor(b, g.sets*g.pods).Sub(start).Seconds(), "pods/s")
				return
			}
			c.measureSets(b, a, g)
		})
	}
}

func (c *cluster) measureSets(b *testing.B, a *arm, g grid) {
	b.Helper()
	p := c.startWarm(b, a)
	before, cpu := c.waitForIdle(b), p.cpuSeconds(b)
	namespace, took := c.fill(b, a, g)
	writes := c.waitForIdle(b) - before - float64(g.sets) // without the requests that create the sets
	c.clear(b, namespace)
	c.waitForIdle(b)
	n := float64(g.sets * g.pods)
	b.ReportMetric(n/took.Seconds(), "pods/s")
	b.ReportMetric(writes/n, "writes/pod")
	b.ReportMetric((p.cpuSeconds(b)-cpu)/n*1000, "cpu-s/1000-pods")
}

// fill creates sets in a new namespace and returns it, and how long it took from the first request until the last pod was seen.
func (c *cluster) fill(b *testing.B, a *arm, g grid) (namespace string, took time.Duration) {
	b.Helper()
	namespace = c.namespace(b)
	pods := c.observePods(b, namespace)
	c.collectGarbage(b)
	start := time.Now()
	must(b, c.createSets(b.Context(), a, namespace, g))
	return namespace, pods.waitFor(b, g.sets*g.pods).Sub(start)
}

func (c *cluster) createSets(ctx context.Context, a *arm, namespace string, g grid) error {
	return inParallel(ctx, g.sets, inFlight, func(ctx context.Context, i int) error {
		return c.admin.Create(ctx, a.newSet(metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("set-%d", i)}, int32(g.pods)))
	})
}

// populate creates sets and their pods with an arm that runs only for that.
func (c *cluster) populate(b *testing.B, a *arm, g grid) (namespace string) {
	b.Helper()
	p := c.startWarm(b, a)
	namespace, _ = c.fill(b, a, g)
	c.waitForIdle(b)
	p.end(syscall.SIGKILL)
	return namespace
}

// BenchmarkSmallSet measures how long sets of one pod wait for it while many large sets are created.
func BenchmarkSmallSet(b *testing.B) {
	large, probes := grid{1000, 10}, 100
	if testing.Short() {
		large, probes = grid{50, 10}, 20
	}
	c := startCluster(b)
	run(b, "next-to="+large.String(), []*arm{operator, replicaSetController}, func(b *testing.B, a *arm) {
		p := c.startWarm(b, a)
		many, few := c.namespace(b), c.namespace(b)
		pods := c.observePods(b, few)
		c.collectGarbage(b)
		created := make([]time.Time, probes)
		group, ctx := errgroup.WithContext(b.Context())
		group.Go(func() error { return c.createSets(ctx, a, many, large) })
		group.Go(func() error { return c.createProbes(ctx, a, few, created) })
		must(b, group.Wait())
		pods.waitFor(b, probes)
		reportDelays(b, pods.delays(b, "probe-%d-", func(i int) time.Time { return created[i] }))
		p.end(syscall.SIGKILL)
		c.clear(b, many)
		c.clear(b, few)
	})
}

// createProbes creates a set of one pod every 100 ms, even if the previous one has no pod yet, and records when.
func (c *cluster) createProbes(ctx context.Context, a *arm, namespace string, created []time.Time) error {
	return inParallel(ctx, len(created), len(created), func(ctx context.Context, i int) error {
		if err := pause(ctx, time.Duration(i)*100*time.Millisecond); err != nil {
			return err
		}
		created[i] = time.Now()
		return c.admin.Create(ctx, a.newSet(metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("probe-%d", i)}, 1))
	})
}
