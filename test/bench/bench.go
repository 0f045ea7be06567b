// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"
)

// sample is one measurement: a value, or a distribution.
type sample struct {
	Metric string    // M1 to M11
	Case   string    // what was done
	Arm    string    // by whom
	Unit   string    // of the values
	Rep    int       // the repetition
	Load   float64   // the machine's load average when it was measured
	Values []float64 // one for a value, many for a distribution
}

// raw is the file of raw figures.
type raw struct {
	Started time.Time
	Machine machine
	Samples []sample
}

// bench is a run of the benchmark.
type bench struct {
	cluster       *cluster
	arms          []string // empty: all
	assets        string
	manager, self string
	sizes         sizes
	path          string
	raw           raw
}

// sizes are how much is measured.
type sizes struct {
	// reps is how often a timed run of each arm is repeated, and stock whether the stock limits are measured too: once, 20
	// requests per second take their time.
	reps  int
	stock bool
	// grids are the numbers of sets and pods per set of M1.
	grids [][2]int
	// sparse and burst are the numbers of timers of M4.
	sparse int
	bursts []int
	// owned and foreign are the numbers of pods of M7.
	owned   []int
	foreign int
	// sets is the number of sets of M8 to M10, timers that of the waiting Ats of M9, and rest how long M9 looks.
	sets, timers int
	rest         time.Duration
}

var (
	fullSizes = sizes{
		reps: 5, stock: true, grids: [][2]int{{100, 10}, {1000, 10}, {1000, 1}}, sparse: 60, bursts: []int{1000, 10000},
		owned: []int{1000, 10000, 50000}, foreign: 50000, sets: 1000, timers: 10000, rest: 10 * time.Minute,
	}
	shortSizes = sizes{
		reps: 2, grids: [][2]int{{100, 10}}, sparse: 15, bursts: []int{300},
		owned: []int{1000}, foreign: 3000, sets: 200, timers: 500, rest: 20 * time.Second,
	}
)

// add notes a measurement and writes all so far, so that a run that is cut short keeps what it has.
func (b *bench) add(metric, what, arm, unit string, rep int, values ...float64) error {
	s := sample{Metric: metric, Case: what, Arm: arm, Unit: unit, Rep: rep, Load: load(), Values: values}
	b.raw.Samples = append(b.raw.Samples, s)
	d := describeValues(values)
	fmt.Printf("%s  %-3s %-28s %-8s %s %s\n", time.Now().Format(time.TimeOnly), metric, what, arm, d, unit)
	data, err := json.MarshalIndent(b.raw, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.path, data, 0o644)
}

// pick gives those of some arms that are asked for, in a random order.
func (b *bench) pick(arms ...*arm) []*arm {
	if len(b.arms) > 0 {
		arms = slices.DeleteFunc(arms, func(a *arm) bool { return !slices.Contains(b.arms, a.name) })
	}
	rand.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
	return arms
}

// resume goes on with a file of raw figures, if there is one: what is measured again replaces what is in it.
func (b *bench) resume(metrics []string) error {
	data, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var earlier raw
	if err := json.Unmarshal(data, &earlier); err != nil {
		return fmt.Errorf("reading %s: %w", b.path, err)
	}
	b.raw.Started = earlier.Started
	b.raw.Samples = slices.DeleteFunc(earlier.Samples, func(s sample) bool {
		return slices.Contains(metrics, s.Metric) && (len(b.arms) == 0 || slices.Contains(b.arms, s.Arm))
	})
	return nil
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
