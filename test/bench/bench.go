// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// bench is a run of the benchmark.
type bench struct {
	cluster       *cluster
	arms          []string // empty: all
	root, assets  string
	manager, self string
	// before is an earlier manager, "" for none.
	before string
	sizes  sizes
	path   string
	// profiles is the directory of the operator's profiles, "" for none.
	profiles string
	raw      raw
	number   int // of this run in raw
	steal    stealMeter
	// recordings are what W+ sends, by the number of pods per set.
	recordings map[int]*recording
}

// add notes a measurement and writes all so far, so that a run that is cut short keeps what it has.
func (b *bench) add(metric, what, arm, unit string, rep int, values ...float64) error {
	if b.cluster.audit != "" && metric != callsMetric {
		return nil
	}
	b.raw.put(sample{
		Metric: metric, Case: what, Arm: arm, Unit: unit, Run: b.number,
		Rep: rep, Load: load(), Steal: b.steal.share(), Values: values,
	})
	d := describeValues(values)
	fmt.Printf("%s  %-3s %-28s %-8s %s %s\n", time.Now().Format(time.TimeOnly), metric, what, arm, d, unit)
	return b.raw.write(b.path)
}

// pick gives those of some arms that are asked for, in a random order. Without an earlier manager, there is no such arm.
func (b *bench) pick(arms ...*arm) []*arm {
	if b.before == "" {
		arms = slices.DeleteFunc(arms, func(a *arm) bool { return a == beforeArm })
	}
	if len(b.arms) > 0 {
		arms = slices.DeleteFunc(arms, func(a *arm) bool { return !slices.Contains(b.arms, a.name) })
	}
	rand.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
	return arms
}

// resume goes on with a file of raw figures, if there is one.
func (b *bench) resume() error {
	earlier, err := readRaw(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b.raw = *earlier
	return nil
}

// together does several things at the same time and returns the first error.
func together(ctx context.Context, do ...func(context.Context) error) error {
	return inParallel(ctx, len(do), len(do), func(ctx context.Context, i int) error { return do[i](ctx) })
}

// inParallel calls do for 0 to n-1, at most width at a time, and returns the first error.
func inParallel(ctx context.Context, n, width int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wait sync.WaitGroup
	for range width {
		wait.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}
