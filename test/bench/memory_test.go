// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// BenchmarkMemory measures the resident memory of a controller that starts with many pods of its own, and with many foreign pods.
func BenchmarkMemory(b *testing.B) {
	own, others := grid{1000, 10}, 50000
	rest := 45 * time.Second // The operator returns the garbage of its start after 30 s.
	if testing.Short() {
		own, others, rest = grid{10, 10}, 100, time.Second
	}
	c := startCluster(b)
	foreign := c.namespace(b)
	for _, n := range []int{0, others} {
		must(b, inParallel(b.Context(), n, inFlight, func(ctx context.Context, i int) error {
			return c.admin.Create(ctx, newPod(foreign, fmt.Sprintf("foreign-%d", i)))
		}))
		run(b, fmt.Sprintf("own=%d/others=%d", own.sets*own.pods, n), []*arm{operator, replicaSetController}, func(b *testing.B, a *arm) {
			namespace := c.populate(b, a, own)
			p := c.start(b, a)
			must(b, pause(b.Context(), rest))
			b.ReportMetric(p.residentMiB(b), "MiB")
			p.end(syscall.SIGKILL)
			c.clear(b, namespace)
		})
	}
}
