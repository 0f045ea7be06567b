// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// populate fills a fresh namespace with sets and their pods.
func (b *bench) populate(ctx context.Context, p *process, sets, podsPerSet int) (string, error) {
	namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
	if err != nil {
		return "", err
	}
	defer w.stop()
	_, err = b.phase(ctx, p, func() error {
		_, err := b.fill(ctx, p.arm, namespace, w, sets, podsPerSet)
		return err
	})
	return namespace, err
}

// populateAndStop does the same with a process that it starts and ends.
func (b *bench) populateAndStop(ctx context.Context, a *arm, sets, podsPerSet int) (string, error) {
	p, err := b.startWarm(ctx, a)
	if err != nil {
		return "", err
	}
	defer p.kill()
	return b.populate(ctx, p, sets, podsPerSet)
}

// atRest waits until the arm has looked at something and then at nothing for a second.
func (p *process) atRest(ctx context.Context) error {
	last, since := 0.0, time.Now()
	return eventually(ctx, patience, p.name+" to come to rest", func() (bool, error) {
		n, err := p.reconcileCount(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // It does not listen yet.
		}
		if n != last {
			last, since = n, time.Now()
		}
		return n > 0 && time.Since(since) > time.Second, nil
	})
}

// The ends of the names of the cases of M8.
const (
	untilReconciled = ", until all are reconciled"
	afterTerm       = ", from SIGTERM of the leader to the standby's next pod"
	afterKill       = ", from kill -9 of the leader to the standby's next pod"
)

// restart is M8: an arm is killed, and its successor looks at everything once; then leaders end that have a standby.
func (b *bench) restart(ctx context.Context) error {
	what := fmt.Sprintf("%d sets of 10", b.sizes.sets)
	for rep := range b.sizes.repsOf(b.sizes.sets * 10) {
		for _, a := range b.pick(operatorArm, replicaSetTuned) {
			namespace, err := b.populateAndStop(ctx, a, b.sizes.sets, 10)
			if err != nil {
				return err
			}
			if err := b.restartOnce(ctx, a, what, rep); err != nil {
				return err
			}
			if err := b.failover(ctx, a, "M8", what, rep); err != nil {
				return err
			}
			if err := b.cluster.clear(ctx, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// restartOnce measures one start next to the sets.
func (b *bench) restartOnce(ctx context.Context, a *arm, what string, rep int) error {
	before, err := b.cluster.requests(ctx)
	if err != nil {
		return err
	}
	p, took, err := b.startAndReconcile(ctx, a, b.sizes.sets)
	if err != nil {
		return err
	}
	p.kill()
	asked, err := b.cluster.since(ctx, before)
	if err != nil {
		return err
	}
	return errorsOf(
		b.add("M8", what+untilReconciled, a.name, "s", rep, took.Seconds()),
		b.add("M8", what+", writes", a.name, "writes", rep, asked.writes),
	)
}

// startAndReconcile starts an arm next to some objects, waits until it is at rest, and returns how long it took until it had
// reconciled them.
func (b *bench) startAndReconcile(ctx context.Context, a *arm, objects int, flags ...string) (*process, time.Duration, error) {
	p, err := b.start(a, flags...)
	if err != nil {
		return nil, 0, err
	}
	var took time.Duration
	err = eventually(ctx, patience, "the first reconciles of "+a.name, func() (bool, error) {
		n, err := p.reconcileCount(ctx)
		took = time.Since(p.started)
		return err == nil && int(n) >= objects, nil
	})
	if err == nil {
		err = p.atRest(ctx)
	}
	if err != nil {
		p.kill()
		return nil, 0, err
	}
	return p, took, nil
}

// rest is M9: sets that are as they should be and Ats that wait. The operator holds a lease, as in config/manager.
func (b *bench) rest(ctx context.Context) error {
	if !b.wanted(operatorArm.name) {
		return nil
	}
	p, err := b.startWarm(ctx, operatorArm, elected...)
	if err != nil {
		return err
	}
	defer p.terminate() // It releases the lease.
	namespace, err := b.populate(ctx, p, b.sizes.sets, 1)
	if err != nil {
		return err
	}
	_, err = b.phase(ctx, p, func() error {
		return inParallel(ctx, b.sizes.timers, inFlight, func(ctx context.Context, i int) error {
			return b.cluster.admin.Create(ctx, makeTimer(ats, namespace, fmt.Sprintf("timer-%d", i), time.Now().Add(24*time.Hour)))
		})
	})
	if err != nil {
		return err
	}
	return errorsOf(p.settle(ctx), b.measureRest(ctx, p), b.cluster.clear(ctx, namespace))
}

// measureRest measures what the operator does while nothing happens.
func (b *bench) measureRest(ctx context.Context, p *process) error {
	before, err := b.cluster.requests(ctx)
	if err != nil {
		return err
	}
	cpu, err := p.cpu()
	if err != nil {
		return err
	}
	if err := pause(ctx, b.sizes.rest); err != nil {
		return err
	}
	used, err := p.cpu()
	if err != nil {
		return err
	}
	asked, err := b.cluster.since(ctx, before)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d sets, %d Ats, %s", b.sizes.sets, b.sizes.timers, b.sizes.rest)
	return errorsOf(
		b.add("M9", what, p.name, "writes", 0, asked.writes),
		b.add("M9", what, p.name, "lists", 0, asked.lists),
		b.add("M9", what, p.name, "watches", 0, asked.watches),
		b.add("M9", what, p.name, "mcores", 0, (used-cpu).Seconds()/b.sizes.rest.Seconds()*1000),
	)
}

// fairness is M10: one-pod sets come while many others are served.
func (b *bench) fairness(ctx context.Context) error {
	const probes, interval = tailSamples, 100 * time.Millisecond
	for rep := range b.sizes.reps {
		for _, a := range b.pick(operatorArm, beforeArm, replicaSetTuned) {
			p, err := b.startWarm(ctx, a)
			if err != nil {
				return err
			}
			err = b.probe(ctx, p, rep, "idle", probes, interval)
			if err == nil {
				err = b.storm(ctx, p, rep, probes, interval)
			}
			p.kill()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// storm probes while the sets of the grid go from 0 to 10 pods.
func (b *bench) storm(ctx context.Context, p *process, rep, probes int, interval time.Duration) error {
	namespace, err := b.cluster.namespace(ctx)
	if err != nil {
		return err
	}
	err = together(ctx,
		func(ctx context.Context) error { return b.createSets(ctx, p.arm, namespace, b.sizes.sets, 10) },
		func(ctx context.Context) error {
			return b.probe(ctx, p, rep, fmt.Sprintf("%d sets go 0 to 10", b.sizes.sets), probes, interval)
		},
	)
	return errorsOf(err, b.cluster.clear(ctx, namespace))
}

// probe creates one-pod sets, one in each interval whether the one before has its pod or not, and measures how long each
// waits for its own.
func (b *bench) probe(ctx context.Context, p *process, rep int, what string, probes int, interval time.Duration) error {
	namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
	if err != nil {
		return err
	}
	defer w.stop()
	created := make([]time.Time, probes)
	err = inParallel(ctx, probes, probes, func(ctx context.Context, i int) error {
		if err := pause(ctx, time.Duration(i)*interval); err != nil {
			return err
		}
		created[i] = time.Now()
		return b.cluster.admin.Create(ctx, makeSet(p.set, namespace, fmt.Sprintf("probe-%d", i), 1))
	})
	if err != nil {
		return err
	}
	if _, err := w.await(ctx, probes, patience); err != nil {
		return err
	}
	var waits []float64
	for pod, seen := range w.times() {
		var i int
		if _, err := fmt.Sscanf(pod, "probe-%d-", &i); err != nil {
			return fmt.Errorf("pod %s is of no probe: %w", pod, err)
		}
		waits = append(waits, milliseconds(seen.Sub(created[i])))
	}
	if err := b.add("M10", what, p.name, "ms to the pod", rep, waits...); err != nil {
		return err
	}
	return b.cluster.clear(ctx, namespace)
}

// pause waits, unless ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
