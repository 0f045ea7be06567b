// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// volley is how the times of timers lie.
type volley int

const (
	sparse  volley = iota // one in each second
	burst                 // all in one second, which is yet to come
	overdue               // all before the timers are created
)

// caseName is what the tables call n timers of an arm.
func (v volley) caseName(n int) string {
	return [...]string{"sparse", fmt.Sprintf("%d at once", n), fmt.Sprintf("%d due when created", n)}[v]
}

// creationAllowance is how long it may take to create a timer, until its controller waits for its time: 125 timers per second. A machine
// with two slow cores needs about two thirds of it, but a slower one needed more for the 10000 Ats of M12 and failed.
const creationAllowance = 8 * time.Millisecond

// ahead is a time by which n timers exist and the garbage of their creation is collected.
func ahead(now time.Time, n int) time.Time {
	return now.Add(10*time.Second + time.Duration(n)*creationAllowance)
}

// dueTimes says when n timers of an arm fire. A CronJob fires at a full minute and at no other second, so its sparse timers
// are as few as fit into one without standing in each other's way.
func dueTimes(now time.Time, a *arm, n int, v volley) []time.Time {
	due := make([]time.Time, n)
	for i := range due {
		switch {
		case a.timer == cronJobs: // Never a minute that has begun.
			due[i] = ahead(now, n).Truncate(time.Minute).Add(time.Minute)
		case v == overdue:
			due[i] = now
		case v == sparse:
			due[i] = ahead(now, n).Truncate(time.Second).Add(time.Duration(i) * time.Second)
		default:
			due[i] = ahead(now, n).Truncate(time.Second)
		}
	}
	return due
}

// createTimers creates the timers.
func (f *firing) createTimers(ctx context.Context, a *arm) error {
	return inParallel(ctx, len(f.due), inFlight, func(ctx context.Context, i int) error {
		return f.cluster.admin.Create(ctx, makeTimer(a.timer, f.namespace, fmt.Sprintf("timer-%d", i), f.due[i]))
	})
}

// createAhead creates the timers, waits until the operator has set all Ats to PENDING, and collects the garbage of the API server. It fails
// if the first timer is due by then: the creation of the others would be a part of its delay.
func (f *firing) createAhead(ctx context.Context, a *arm) error {
	if err := f.createTimers(ctx, a); err != nil {
		return err
	}
	if a == operatorArm || a == beforeArm { // Nothing tells that the other arms have seen a timer.
		if err := f.awaitPending(ctx); err != nil {
			return err
		}
	}
	if _, err := f.cluster.collectGarbage(ctx); err != nil {
		return err
	}
	if late := time.Since(f.due[0]); late >= 0 {
		return fmt.Errorf("%d timers were created %s after the first of them was due: raise creationAllowance", len(f.due), late)
	}
	return nil
}

// awaitPending waits until all Ats are PENDING.
func (f *firing) awaitPending(ctx context.Context) error {
	pending, err := f.watchPhase(ctx, cnatv1alpha1.PhasePending)
	if err != nil {
		return err
	}
	defer pending.stop()
	if _, err := pending.await(ctx, len(f.due), time.Until(f.due[0])); err != nil {
		return fmt.Errorf("not all Ats were PENDING before the first of them was due, raise creationAllowance: %w", err)
	}
	return nil
}
