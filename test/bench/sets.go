// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// inFlight is how many requests of the harness are under way at the same time.
	inFlight = 32
	// patience bounds every wait. R-stock makes 20 pods per second.
	patience = 15 * time.Minute
	// settled is how long no write may come for an arm to be at rest.
	settled = 1500 * time.Millisecond
	// readyPerSecond is the rate at which the harness plays the kubelets.
	readyPerSecond = 200
)

var becomeReady = []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)

// lives are M1, M2, M3 and M11: sets are created, their pods become ready, they are scaled down and deleted. At the end it is
// kwok that runs the pods.
func (b *bench) lives(ctx context.Context) error {
	for i, grid := range b.sizes.grids {
		n := grid[0] * grid[1]
		for rep := range b.sizes.repsOf(n) {
			arms := []*arm{replicaSetTuned, operatorArm, barePods, bareAll}
			if n < many {
				arms = append(arms, beforeArm)
			}
			if b.sizes.slow && rep == 0 && i == 0 {
				arms = append(arms, naiveArm, replicaSetStock)
			}
			for _, a := range b.pick(arms...) {
				run := b.runSets
				if a == barePods || a == bareAll {
					run = b.wire
				}
				if err := run(ctx, a, grid, rep); err != nil {
					return fmt.Errorf("arm %s, %s: %w", a.name, gridName(grid), err)
				}
			}
		}
	}
	return b.kwokLives(ctx)
}

func gridName(grid [2]int) string { return fmt.Sprintf("%d x %d", grid[0], grid[1]) }

// createSets creates sets of an arm's kind.
func (b *bench) createSets(ctx context.Context, a *arm, namespace string, sets, podsPerSet int) error {
	return inParallel(ctx, sets, inFlight, func(ctx context.Context, i int) error {
		return b.cluster.admin.Create(ctx, makeSet(a.set, namespace, fmt.Sprintf("set-%d", i), int32(podsPerSet)))
	})
}

// fill creates sets and returns how long it took until the last of their pods was seen.
func (b *bench) fill(ctx context.Context, a *arm, namespace string, w *observer, sets, podsPerSet int) (time.Duration, error) {
	if _, err := b.cluster.collectGarbage(ctx); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := b.createSets(ctx, a, namespace, sets, podsPerSet); err != nil {
		return 0, err
	}
	last, err := w.await(ctx, sets*podsPerSet, patience)
	return last.Sub(start), err
}

// phase does something, waits until the arm has no more to write and returns what it cost.
func (b *bench) phase(ctx context.Context, p *process, do func() error) (cost, error) {
	before, err := b.cluster.requests(ctx)
	if err != nil {
		return cost{}, err
	}
	looked, err := p.reconcileCount(ctx)
	if err != nil {
		return cost{}, err
	}
	var start int64
	if b.cluster.audit != "" {
		if start, err = b.cluster.audit.size(); err != nil {
			return cost{}, err
		}
	}
	if err := do(); err != nil {
		return cost{}, err
	}
	asked, since := cost{writes: -1}, time.Now()
	err = eventually(ctx, patience, "the arm to come to rest", func() (bool, error) {
		now, err := b.cluster.since(ctx, before)
		if now.writes != asked.writes {
			since = time.Now()
		}
		asked = now
		return time.Since(since) > settled, err
	})
	if err != nil {
		return cost{}, err
	}
	if b.cluster.audit != "" {
		if asked.calls, err = b.cluster.audit.since(start); err != nil {
			return cost{}, err
		}
	}
	n, err := p.reconcileCount(ctx)
	asked.reconciles = n - looked
	return asked, err
}

// runSets creates, scales, and deletes the PodSets of a grid with one arm, once.
func (b *bench) runSets(ctx context.Context, a *arm, grid [2]int, rep int) (err error) {
	sets, podsPerSet := grid[0], grid[1]
	n, what := sets*podsPerSet, gridName(grid)
	p, err := b.startWarm(ctx, a)
	if err != nil {
		return err
	}
	defer p.kill()
	profiled := p.profile(ctx, "M1 "+what)
	defer func() { err = errors.Join(err, profiled()) }()
	namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
	if err != nil {
		return err
	}
	defer w.stop()
	cpu, err := p.cpu()
	if err != nil {
		return err
	}

	var took time.Duration
	created, err := b.phase(ctx, p, func() (err error) {
		took, err = b.fill(ctx, a, namespace, w, sets, podsPerSet)
		return err
	})
	if err != nil {
		return err
	}
	ready, err := b.phase(ctx, p, func() error { return b.playKubelets(ctx, namespace, w) })
	if err != nil {
		return err
	}
	err = errorsOf(
		b.add("M1", what, a.name, "pods/s", rep, float64(n)/took.Seconds()),
		b.add("M2", what+" create, per pod", a.name, "writes", rep, created.writes/float64(n)),
		b.add("M2", what+" ready, per set", a.name, "writes", rep, ready.writes/float64(sets)),
		b.add("M3", what+" create, per pod", a.name, "reconciles", rep, created.reconciles/float64(n)),
		b.addCalls(what+" create, per pod", a.name, created, n),
		b.add("M3", what+" ready, per pod", a.name, "reconciles", rep, ready.reconciles/float64(n)),
		b.addCalls(what+" ready, per set", a.name, ready, sets),
	)
	if err != nil {
		return err
	}
	if podsPerSet > 3 {
		if err := b.scaleDown(ctx, p, namespace, what, grid, rep); err != nil {
			return err
		}
	}
	deleted, err := b.phase(ctx, p, func() error { return b.cluster.clear(ctx, namespace) })
	if err != nil {
		return err
	}
	used, err := p.cpu()
	if err != nil {
		return err
	}
	return errorsOf(
		b.add("M2", what+" delete, per set", a.name, "writes", rep, deleted.writes/float64(sets)),
		b.addCalls(what+" delete, per set", a.name, deleted, sets),
		b.add("M11", what, a.name, "CPU s per 1000 pods", rep, (used-cpu).Seconds()/float64(n)*1000),
	)
}

// shuffled returns the names of the pods that were seen, in a random order that is the same in each run: the names of pods of all arms
// begin with those of their objects.
func shuffled(seen map[string]time.Time) []string {
	names := slices.Sorted(maps.Keys(seen))
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// playKubelets makes pods ready, at a rate that is the same for every arm.
func (b *bench) playKubelets(ctx context.Context, namespace string, w *observer) error {
	names := shuffled(w.times())
	tick := time.NewTicker(time.Second / readyPerSecond)
	defer tick.Stop()
	return inParallel(ctx, len(names), inFlight, func(ctx context.Context, i int) error {
		<-tick.C
		return b.cluster.admin.SubResource("status").Patch(ctx, pods.object(namespace, names[i]), client.RawPatch(types.MergePatchType, becomeReady))
	})
}

func (b *bench) scaleDown(ctx context.Context, p *process, namespace, what string, grid [2]int, rep int) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, grid[1]-3))
	down, err := b.phase(ctx, p, func() error {
		err := inParallel(ctx, grid[0], inFlight, func(ctx context.Context, i int) error {
			return b.cluster.admin.Patch(ctx, p.set.object(namespace, fmt.Sprintf("set-%d", i)), patch)
		})
		if err != nil {
			return err
		}
		return eventually(ctx, patience, "the surplus pods to go", func() (bool, error) {
			n, err := b.count(ctx, namespace)
			return n == grid[0]*(grid[1]-3), err
		})
	})
	if err != nil {
		return err
	}
	what = fmt.Sprintf("%s %d to %d, per set", what, grid[1], grid[1]-3)
	return errorsOf(
		b.add("M2", what, p.name, "writes", rep, down.writes/float64(grid[0])),
		b.addCalls(what, p.name, down, grid[0]),
	)
}

// count counts the pods of a namespace, in the API server's cache.
func (b *bench) count(ctx context.Context, namespace string) (int, error) {
	list := podList()
	cached := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
	err := b.cluster.admin.List(ctx, list, client.InNamespace(namespace), cached)
	return len(list.Items), err
}
