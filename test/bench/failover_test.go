// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// leaseNamespace has the lease of the leader. Every lease lasts 15 s if it is not renewed.
const leaseNamespace = "bench"

// longestRetry is the longest time between two attempts of a standby to get the lease. The operator and kube-controller-manager try every 2
// to 4.4 s.
const longestRetry = 4400 * time.Millisecond

// BenchmarkFailover measures how long no process works after the leader of two processes is asked to end, and after it is killed.
func BenchmarkFailover(b *testing.B) {
	size := grid{1000, 10}
	if testing.Short() {
		size = grid{10, 10}
	}
	c := startCluster(b)
	run(b, "size="+size.String(), []*arm{operator, replicaSetController}, func(b *testing.B, a *arm) {
		namespace := c.populate(b, a, size)
		c.measureFailover(b, a)
		c.clear(b, namespace)
	})
}

// BenchmarkLargeFailover measures the same next to 50,000 pods of PodSets and 100,000 Ats that wait. It takes several times as long as all
// other benchmarks.
func BenchmarkLargeFailover(b *testing.B) {
	size, ats := grid{5000, 10}, 100000
	if testing.Short() {
		size, ats = grid{50, 10}, 1000
	}
	c := startCluster(b)
	run(b, fmt.Sprintf("size=%s/ats=%d", size, ats), []*arm{operator}, func(b *testing.B, a *arm) {
		c.populate(b, a, size)
		p := c.startWarm(b, a)
		namespace, tomorrow := c.namespace(b), time.Now().Add(24*time.Hour)
		must(b, inParallel(b.Context(), ats, inFlight, func(ctx context.Context, i int) error {
			waiting := newAt(metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("timer-%d", i)}, tomorrow).(*cnatv1alpha1.At)
			waiting.Spec.Template = nil
			return c.admin.Create(ctx, waiting)
		}))
		c.waitForIdle(b)
		p.end(syscall.SIGKILL)
		c.measureFailover(b, a)
	})
}

// measureFailover measures how long it takes from the end of a leader until its standby has created a pod.
func (c *cluster) measureFailover(b *testing.B, a *arm) {
	b.Helper()
	flags := []string{"--leader-elect=true", "--leader-elect-resource-namespace=" + leaseNamespace}
	leader := c.startWarm(b, a, flags...)
	for _, end := range []struct {
		signal syscall.Signal
		unit   string
	}{{syscall.SIGTERM, "term-s"}, {syscall.SIGKILL, "kill-s"}} {
		standby := c.start(b, a, flags...)
		namespace := c.namespace(b)
		pods := c.observePods(b, namespace)
		// The standby starts meanwhile. A leader always ends at another moment between two attempts of its standby.
		must(b, pause(b.Context(), 5*time.Second+rand.N(longestRetry)))
		start := time.Now()
		leader.end(end.signal) // It returns when the leader is gone, so that only the standby can serve the set.
		must(b, c.admin.Create(b.Context(), a.newSet(metav1.ObjectMeta{Namespace: namespace, Name: "next"}, 1)))
		b.ReportMetric(pods.waitFor(b, 1).Sub(start).Seconds(), end.unit)
		c.clear(b, namespace)
		leader = standby
	}
	leader.end(syscall.SIGTERM) // It releases the lease, for the next arm.
}
