// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// leaseSeconds is how long a lease lasts that its holder does not renew.
const leaseSeconds = 15

// elected makes an arm work only while it holds a lease. The operator's flags are kube-controller-manager's, and its lease
// lasts as long, 15 s. The operator renews it every second, kube-controller-manager every 2 s.
var elected = []string{"--leader-elect=true", "--leader-elect-resource-namespace=bench"}

// betweenLooks is the longest time between two looks of a standby at the lease. It looks after the time between two renewals
// and up to 1.2 times as much again: every 1 to 2.2 s if it is the operator, every 2 to 4.4 s if kube-controller-manager.
const betweenLooks = 4400 * time.Millisecond

// failover measures how long it takes until a standby does the work of a leader that ends, or that is killed.
func (b *bench) failover(ctx context.Context, a *arm, metric, what string, rep int) error {
	leader, err := b.start(a, elected...)
	if err != nil {
		return err
	}
	defer func() { leader.terminate() }() // It releases the lease, if it is the operator.
	for _, way := range []struct {
		name string
		end  func(*process)
	}{{afterTerm, (*process).terminate}, {afterKill, (*process).kill}} {
		if err := leader.atRest(ctx); err != nil { // It leads, else it would not have begun.
			return err
		}
		standby, err := b.start(a, elected...)
		if err != nil {
			return err
		}
		took, err := b.replace(ctx, leader, standby, way.end)
		leader.kill() // It has ended long ago, unless there was an error.
		leader = standby
		if err != nil {
			return fmt.Errorf("failover%s: %w", way.name, err)
		}
		if err := b.add(metric, what+way.name, a.name, "s", rep, took.Seconds()); err != nil {
			return err
		}
	}
	return nil
}

// replace ends a leader and returns how long after that the standby has served a set that is created then.
func (b *bench) replace(ctx context.Context, leader, standby *process, end func(*process)) (time.Duration, error) {
	if err := standby.standsBy(ctx); err != nil {
		return 0, err
	}
	// Otherwise every leader would end right after its standby has looked, which is the worst time for it.
	if err := pause(ctx, rand.N(betweenLooks)); err != nil {
		return 0, err
	}
	namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer w.stop()
	start := time.Now()
	end(leader) // It returns when the leader is gone, so that the set is nobody's but the standby's.
	if err := b.cluster.admin.Create(ctx, makeSet(standby.set, namespace, "next", 1)); err != nil {
		return 0, err
	}
	served, err := w.await(ctx, 1, patience)
	if err != nil {
		return 0, err
	}
	return served.Sub(start), b.cluster.clear(ctx, namespace)
}

// standsBy waits until the process has found the lease taken.
func (p *process) standsBy(ctx context.Context) error {
	return eventually(ctx, time.Minute, p.name+" to stand by", func() (bool, error) {
		families, err := p.metrics(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // It does not listen yet.
		}
		leads := families["leader_election_master_status"].GetMetric()
		return len(leads) == 1 && leads[0].GetGauge().GetValue() == 0, nil
	})
}
