// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"
)

// sample is one measurement: a value, or a distribution.
type sample struct {
	Metric string    // M1 to M11, or calls
	Case   string    // what was done
	Arm    string    // by whom
	Unit   string    // of the values
	Commit string    // of the operator that was measured, or with which the others were compared
	Rep    int       // the repetition
	Load   float64   // the machine's load average when it was measured
	Values []float64 // one for a value, many for a distribution
}

// key is what a sample is a repetition of.
func (s sample) key() [4]string { return [4]string{s.Metric, s.Case, s.Arm, s.Unit} }

// raw is the file of raw figures.
type raw struct {
	Started time.Time
	Machine machine
	// Agents are the user agents of each arm.
	Agents  map[string][]string
	Samples []sample
}

// bench is a run of the benchmark.
type bench struct {
	cluster       *cluster
	arms          []string // empty: all
	root, assets  string
	manager, self string
	sizes         sizes
	path          string
	// profiles is the directory of the operator's profiles, "" for none.
	profiles string
	raw      raw
	// measured are the cases that this run has figures of. Those of an earlier run are replaced.
	measured map[[4]string]bool
}

// add notes a measurement and writes all so far, so that a run that is cut short keeps what it has.
func (b *bench) add(metric, what, arm, unit string, rep int, values ...float64) error {
	if b.cluster.audit != "" && metric != callsMetric {
		return nil
	}
	s := sample{
		Metric: metric, Case: what, Arm: arm, Unit: unit, Commit: b.raw.Machine.Versions["podset-operator"],
		Rep: rep, Load: load(), Values: values,
	}
	if key := s.key(); !b.measured[key] {
		b.measured[key] = true
		b.raw.Samples = slices.DeleteFunc(b.raw.Samples, func(earlier sample) bool { return earlier.key() == key })
	}
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

// resume goes on with a file of raw figures, if there is one.
func (b *bench) resume() error {
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
	b.raw.Started, b.raw.Samples = earlier.Started, earlier.Samples
	maps.Copy(b.raw.Agents, earlier.Agents)
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
