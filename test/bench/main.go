// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench compares the operator with the controllers of Kubernetes, with naive reconcilers, and with a bare
// client, on an API server of its own. docs/benchmarks.md describes the measurements and shows the results.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 4 && os.Args[1] == "-naive" {
		exit(runNaive(ctx, os.Args[2], os.Args[3]))
	}
	ctrl.SetLogger(logr.Discard())
	exit(run(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context) error {
	short := flag.Bool("short", false, "Measure a part, in fifteen minutes.")
	only := flag.String("metrics", "", "The metrics to measure, M1 to M13 and calls, separated by commas. If empty, all. Metrics of the same run are measured together.")
	arms := flag.String("arms", "", "The arms to measure, separated by commas. If empty, all.")
	var size sizes
	// Sizes that are not given are those of a full run, or of a short one.
	flag.IntVar(&size.reps, "reps", 0, "The number of repetitions of each timed run. Runs with 10000 objects have at most 3, those with more have 1.")
	flag.Func("grids", "M1 to M3 and M11: sets by pods in each, such as 100x10,1000x1.", size.setGrids)
	flag.Func("bursts", "M4 to M6: numbers of timers that are due at once, such as 300,1000.", numbers(&size.bursts))
	flag.Func("owned", "M7: numbers of own pods of the arm, such as 1000,10000.", numbers(&size.owned))
	flag.IntVar(&size.foreign, "foreign", 0, "M7: number of foreign pods.")
	flag.IntVar(&size.large, "large", 0, "M7: number of large foreign pods at a start.")
	flag.Func("bytes", "M7: sizes of the large foreign pods in bytes, such as 6900,13800.", numbers(&size.bytes))
	flag.IntVar(&size.sets, "sets", 0, "M8 to M10: number of sets.")
	flag.IntVar(&size.timers, "timers", 0, "M9: number of waiting Ats.")
	flag.DurationVar(&size.rest, "rest", 0, "M9: duration of the measurement.")
	flag.Func("waiting", "M12: numbers of waiting Ats, in ascending order, such as 1000,3000,10000.", numbers(&size.waiting))
	flag.Func("kwoksets", "M12: numbers of PodSets of 10 that kwok runs, in ascending order, such as 50,150,500.", numbers(&size.kwokSets))
	flag.IntVar(&size.due, "due", 0, "M12: number of Ats that are due within a minute.")
	root := flag.String("root", "../..", "The root of the repository.")
	before := flag.String("before", "", "An earlier manager, to compare with. The name of the file is that of its commit. If empty, there is no comparison.")
	manager := flag.String("manager", "", "The manager to measure. If empty, bin/manager of the repository.")
	profiles := flag.String("profile", "", "A directory for CPU and heap profiles of the operator under M1, M4, and M7. Profiling slows the operator down, so the figures are written only to this directory.")
	path := flag.String("raw", "", "The file of raw figures. -report reads it, -metrics adds to it, and other runs overwrite it.")
	report := flag.String("report", "", "Do not measure. Write the tables of the raw figures into this page, and the plots into a directory next to it.")
	flag.Parse()
	if *report != "" {
		return writeReport(*path, *report)
	}
	b := &bench{
		arms: list(*arms), root: *root, assets: *root + "/bin", manager: *root + "/bin/manager",
		before: *before, sizes: size.or(fullSizes), path: *path,
		recordings: map[int]*recording{},
	}
	if *short {
		b.sizes = size.or(shortSizes)
	}
	if *manager != "" {
		b.manager = *manager
	}
	if *profiles != "" {
		if err := os.MkdirAll(*profiles, 0o755); err != nil {
			return err
		}
		b.profiles, b.path, b.arms = *profiles, filepath.Join(*profiles, "bench.json"), []string{operatorArm.name}
		b.sizes.reps = 1
		*only = cmp.Or(*only, "M1,M4,M7")
	}
	return b.run(ctx, list(*only))
}

// list splits a comma list.
func list(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }

// part is a part of the benchmark.
type part struct {
	metrics []string // that come from the same run
	measure func(context.Context) error
}

// run measures what is asked for.
func (b *bench) run(ctx context.Context, only []string) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	b.steal.share() // The first sample has the share since now.
	b.raw = raw{Agents: map[string][]string{}}
	if len(only) > 0 {
		if err := b.resume(); err != nil {
			return err
		}
	}
	on := thisMachine(b.assets)
	if b.before != "" {
		on.Versions[beforeVersion] = filepath.Base(b.before)
	}
	b.number = b.raw.begin(time.Now().UTC(), on)
	err = b.onCluster(ctx, clusterOptions{}, only, []part{
		{[]string{"M1", "M2", "M3", "M11"}, b.lives},
		{[]string{"M4", "M5", "M6"}, b.lateness},
		{[]string{"M10"}, b.fairness},
		{[]string{"M8"}, b.restart},
	})
	if err != nil {
		return err
	}
	if err := b.onCluster(ctx, clusterOptions{}, only, []part{{[]string{"M13"}, b.startup}, {[]string{capacityMetric}, b.capacity}}); err != nil {
		return err
	}
	err = b.onCluster(ctx, clusterOptions{}, only, []part{{[]string{"M7"}, b.memory}, {[]string{"M7"}, b.peaks("streamed lists")}, {[]string{"M9"}, b.rest}})
	if err != nil {
		return err
	}
	if err := b.onCluster(ctx, clusterOptions{listsOnly: true}, only, []part{{[]string{"M7"}, b.peaks("no streamed lists")}}); err != nil {
		return err
	}
	return b.onCluster(ctx, clusterOptions{audited: true}, only, []part{{[]string{callsMetric}, b.audit}})
}

// onCluster starts a cluster, measures those of some parts that are asked for, and stops it.
func (b *bench) onCluster(ctx context.Context, options clusterOptions, only []string, parts []part) (err error) {
	if len(only) > 0 {
		parts = slices.DeleteFunc(parts, func(p part) bool {
			return !slices.ContainsFunc(p.metrics, func(m string) bool { return slices.Contains(only, m) })
		})
	}
	if len(parts) == 0 {
		return nil
	}
	directory, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	if b.cluster, err = startCluster(ctx, b.assets, b.root+"/config/crd/bases", directory, options); err != nil {
		return err
	}
	defer func() {
		// The figures are written. A program that ends late does not keep the others from being measured.
		if stopped := errors.Join(b.cluster.stop(), os.RemoveAll(directory)); stopped != nil {
			fmt.Fprintln(os.Stderr, "bench: stopping the cluster:", stopped)
		}
	}()
	for _, p := range parts {
		name, start := strings.Join(p.metrics, ", "), time.Now()
		if err := p.measure(ctx); err != nil {
			return fmt.Errorf("measuring %s: %w", name, err)
		}
		fmt.Printf("%s took %s\n", name, time.Since(start).Round(time.Second))
	}
	return nil
}
